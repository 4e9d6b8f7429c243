"""What counts of C say of the sources that it was made from, and which lines of Python count."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from coverage import CoverageData

from tests.coverage import __main__ as coverage
from tests.coverage import python
from tests.coverage.__main__ import add_module, reasons
from tests.coverage.table import Table
from tests.paths import REPO
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


def test_table_by_part_and_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("room", "lines")
    table.add("wire", 8, 2, 1)
    table.add("wire", 2, 0, 0)
    table.add("columns", 10, 1, 0)
    assert (table.percent("wire"), table.percent()) == (80, 85)
    table.print()
    assert [line.split() for line in capsys.readouterr().out.splitlines()[1:]] == [
        ["room", "lines", "missed", "left", "out", "reached"],
        ["columns", "10", "1", "0", "90.0%"],
        ["wire", "10", "2", "1", "80.0%"],
        ["all", "20", "3", "1", "85.0%"],
    ]


def test_python_that_is_left_out_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missed line, a branch to a missed line, and a branch from a line that runs."""
    package = tmp_path / python.PACKAGE
    (package / "cli").mkdir(parents=True)
    source = "if a:\n    raise NotImplementedError\nif b:\n    c()\nd()\n"
    (package / "cli" / "x.py").write_text(source)
    monkeypatch.setattr(python, "REPO", tmp_path)
    file_report = {
        "missing_lines": [2],
        "missing_branches": [[1, 2], [3, 5]],
        "summary": {"num_statements": 5, "num_branches": 4},
    }
    monkeypatch.setattr(python, "read", lambda: {"cli/x.py": file_report})
    assert python.report(least=80) == 0
    assert python.report(least=90) == 1
    first, _, _, row, _ = capsys.readouterr().out.splitlines()[:5]
    assert first == "cli/x.py:3: if b:  (never goes on at line 5)"
    assert row.split() == ["cli", "7", "1", "2", "85.7%"]


def run_traced(folder: Path, patches: str, *options: str) -> None:
    """Run the folder's tests under coverage with those patches, and with the plugin."""
    (folder / "s.ini").write_text(f"[run]\nparallel = True\npatch = {patches}\ndata_file = data\n")
    command = [sys.executable, "-m", "coverage", "run", "--rcfile=s.ini", "-m", "pytest", "-q"]
    command += ["-p", "tests.coverage.untraced", "-p", "no:cacheprovider", *options]
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(REPO)])}
    paths.pop("COVERAGE_PROCESS_CONFIG", None)
    paths.pop("PYTEST_XDIST_WORKER", None)  # of this test's own process
    subprocess.run([*command, str(folder)], cwd=folder, env=paths, check=True)


def test_random_inputs_run_untraced(tmp_path: Path) -> None:
    """Tests of many inputs, before and after one of an example; subprocesses of theirs too."""
    (tmp_path / "called.py").write_text("def f(x):\n    return x\n")
    run = "import subprocess, sys\nfrom called import f\n"
    other = "    subprocess.run([sys.executable, '-c', 'import called'], check=True)\n"
    for name, line in (("a_fuzz", 7), ("b_unit", 8), ("c_memory", 9)):
        text = f"{run}def test_it():\n    f(1)\n{other}"
        (tmp_path / f"test_{name}.py").write_text("\n" * line + text)
    marked = "import pytest\n@pytest.mark.untraced\ndef test_it():\n    f(1)\n"
    (tmp_path / "test_d_unit.py").write_text("\n" * 20 + run + marked)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = untraced\n")
    run_traced(tmp_path, "subprocess")
    files = list(tmp_path.glob("data.*"))
    lines: dict[str, set[int]] = {}
    for path in files:
        data = CoverageData(str(path))
        data.read()
        for name in data.measured_files():
            lines.setdefault(Path(name).name, set()).update(data.lines(name) or [])
    assert lines["called.py"] == {1, 2}
    assert 12 in lines["test_b_unit.py"]
    assert 11 not in lines["test_a_fuzz.py"]
    assert 13 not in lines["test_c_memory.py"]
    assert 26 not in lines["test_d_unit.py"]
    assert len(files) == 2


def test_a_tracer_that_was_taken_away_comes_back(tmp_path: Path) -> None:
    (tmp_path / "called.py").write_text("def f(x):\n    return x\n")
    (tmp_path / "test_a_unit.py").write_text("import sys\ndef test_it():\n    sys.settrace(None)\n")
    (tmp_path / "test_b_unit.py").write_text("def test_it():\n    from called import f\n    f(1)\n")
    run_traced(tmp_path, "subprocess")
    [path] = tmp_path.glob("data.*")
    data = CoverageData(str(path))
    data.read()
    assert data.lines(str(tmp_path / "called.py")) == [1, 2]


def test_a_worker_that_is_killed_at_its_end_has_saved_its_data(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    (tmp_path / "called.py").write_text("def f(x):\n    return x\n")
    kill = "import atexit, os\nif 'PYTEST_XDIST_WORKER' in os.environ:\n"
    (tmp_path / "conftest.py").write_text(f"{kill}    atexit.register(os.kill, os.getpid(), 9)\n")
    (tmp_path / "test_a_unit.py").write_text("def test_it():\n    from called import f\n    f(1)\n")
    run_traced(tmp_path, "subprocess", "-n", "1")
    lines: set[int] = set()
    for path in tmp_path.glob("data.*"):
        data = CoverageData(str(path))
        data.read()
        lines.update(data.lines(str(tmp_path / "called.py")) or [])
    assert lines == {1, 2}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_ends_after_many_untraced_tests(tmp_path: Path) -> None:
    """coverage wraps os._exit at each start, and what it wrapped would be called in turn."""
    many = "import pytest\n@pytest.mark.parametrize('n', range(1200))\ndef test_it(n): pass\n"
    (tmp_path / "test_a_fuzz.py").write_text(many)
    fork = "    child = os.fork()\n    if not child: os._exit(0)\n"
    wait = "    assert os.waitpid(child, 0)[1] == 0\n"
    (tmp_path / "test_b_unit.py").write_text(f"import os\ndef test_it():\n{fork}{wait}")
    run_traced(tmp_path, "subprocess, _exit")
