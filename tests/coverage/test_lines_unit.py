"""What counts of C say of the sources that it was made from."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.coverage import __main__ as coverage
from tests.coverage.__main__ import add_module, reasons
from tests.support.core_build import statements

C = """\
  /* "src/amqpcodec/_core/wire/wire.pxd":11
 *     if n < 5:             # <<<<<<<<<<<<<<
 */
  __pyx_t_1 = (__pyx_v_n < 5);
  if (__pyx_t_1) {

    /* "src/amqpcodec/_core/wire/wire.pxd":12
 *         return -1             # <<<<<<<<<<<<<<
 */
    __pyx_r = -1;
    goto __pyx_L0;

    /* "src/amqpcodec/_core/wire/wire.pxd":11
 */
  }
  __pyx_L0:;
  return __pyx_r;
"""


def test_a_statement_ran_as_often_as_its_lines(tmp_path: Path) -> None:
    c_file = tmp_path / "module.c"
    c_file.write_text(C)
    name = "_core/wire/wire.pxd"
    assert list(statements(c_file)) == [
        (range(1, 7), name, 11),
        (range(7, 13), name, 12),
        (range(13, 16), name, 11),
    ]
    sources = {name: Counter({11: 1})}
    add_module(sources, c_file, {4: 3, 5: 3, 10: 0, 11: 0, 16: 3})
    assert sources[name] == {11: 4, 12: 0}


def test_reasons_by_file_line_and_the_line_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = tmp_path / "left_out.toml"
    listed.write_text(
        '[[lines]]\nafter = "block_room"\nline = "return -1"\nreason = "no memory"\n'
        '[[lines]]\nfile = "_gen/*"\nreason = "generated"\n'
        '[[lines]]\nunder = "if lost"\nreason = "never lost"\n'
    )
    monkeypatch.setattr(coverage, "LEFT_OUT", listed)
    text = ["", "if block_room(t) < 0:", "    return -1", "x = 1"]
    assert reasons("_core/wire/wire.pxi", text, [1, 2, 3]) == {2: "no memory"}
    assert reasons("_gen/fast.pxi", text, [2, 3]) == {2: "no memory", 3: "generated"}
    text = ["", "if lost:", "    a = (", "        1)", "", "    b = 1", "c = 1"]
    assert reasons("_core/wire/wire.pxi", text, [1, 2, 3, 5, 6]) == dict.fromkeys(
        (2, 3, 5), "never lost"
    )
