"""pika by version: 1.4.4 refuses floats and cuts those it reads; the main branch has doubles."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.dropins.conftest import need
from tests.dropins.test_install_unit import python

CODE = """
import struct, sys, warnings
if len(sys.path) and PATH:
    sys.path.insert(0, PATH)
warnings.simplefilter("ignore")
from amqpcodec.compat import pika as dropin
dropin.install()
from pika import data, __version__
print(__version__)
pieces = []
try:
    data.encode_table(pieces, {"f": -2.75, "n": 5})
    print(b"".join(pieces).hex())
except Exception as error:
    print(type(error).__name__)
table = struct.pack(">I3sd3sf", 18, b"\\x01fd", -2.75, b"\\x01gf", 2.5)
print(sorted(data.decode_table(table, 0)[0].items()))
print(dropin.calls() >= 2)
"""
LATER = "1.5.0"
UNPACK = "struct.unpack_from('>{}', encoded, offset)[0]"


def later_pika(folder: Path) -> None:
    """A copy of the installed pika that does with floats what its main branch does."""
    source = Path(pytest.importorskip("pika").__file__).parent
    shutil.copytree(source, folder / "pika")
    for name, changes in {
        "__init__.py": [("1.4.4", LATER)],
        "data.py": [
            (f"long({UNPACK.format('f')})", UNPACK.format("f")),
            (f"long({UNPACK.format('d')})", UNPACK.format("d")),
            (
                "    elif isinstance(value, decimal.Decimal):",
                "    elif isinstance(value, float):\n"
                "        pieces.append(struct.pack('>cd', b'd', value))\n"
                "        return 9\n"
                "    elif isinstance(value, decimal.Decimal):",
            ),
        ],
    }.items():
        path = folder / "pika" / name
        text = path.read_text(encoding="utf-8")
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        path.write_text(text, encoding="utf-8")


def test_1_4_4() -> None:
    need("pika")
    lines = python("PATH = ''\n" + CODE).splitlines()
    assert lines[1:] == ["UnsupportedAMQPFieldException", "[('f', -2L), ('g', 2L)]", "True"]


def test_later(tmp_path: Path) -> None:
    need("pika")
    later_pika(tmp_path)
    lines = python(f"PATH = {str(tmp_path)!r}\n" + CODE).splitlines()
    table = "00000012" + "016664" + "c006000000000000" + "016e49" + "00000005"
    assert lines == [LATER, table, "[('f', -2.75), ('g', 2.5)]", "True"]
