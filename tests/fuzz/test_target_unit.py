"""What a target asks of an input, and where the input lies."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fuzz import __main__ as program
from tests.fuzz import instrumented, packets
from tests.fuzz.target import SHARE, Target
from tests.fuzz.targets import captures, encode

ROOT = Path(__file__).resolve().parents[2]
READ = """
import ctypes
from tests.support.guard_page import Guarded
guarded = Guarded(5000)
guarded(b"longer than the next")
view = guarded(b"input")
assert bytes(view) == b"input" and view.readonly
address = ctypes.addressof(ctypes.c_char.from_buffer(guarded._writable, guarded._room - 5))
assert ctypes.string_at(address, 5) == b"input"
print("read", flush=True)
ctypes.string_at(address, 6)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="takes mprotect")
def test_one_byte_after_an_input_ends_the_process() -> None:
    process = subprocess.run([sys.executable, "-c", READ], cwd=ROOT, capture_output=True, text=True)
    assert process.stdout == "read\n", process.stderr
    assert process.returncode < 0


def test_one_input_in_so_many_is_asked_everything() -> None:
    quick: list[bytes] = []
    thorough: list[bytes] = []
    target = Target("t", thorough.append, tuple, quick=quick.append)
    inputs = [b"%d" % number for number in range(3200)]
    for data in inputs:
        target.check(data)
    assert sorted(quick + thorough) == sorted(inputs)
    assert 0.7 < len(thorough) * SHARE / len(inputs) < 1.3
    again = thorough.copy()
    for data in inputs:
        target.check(data)
    assert thorough == again * 2
    target.check_all(quick[0])
    assert thorough[-1] == quick[-1] == quick[0]


def test_without_quick_checks_every_input_is_asked_everything() -> None:
    thorough: list[bytes] = []
    target = Target("t", thorough.append, tuple)
    target.check(b"1")
    target.check_all(b"2")
    assert thorough == [b"1", b"2"]


@pytest.fixture
def instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Lets a shell script run in the place of a target's process."""

    def use(script: str) -> None:
        child = tmp_path / "child"
        child.write_text(f"#!/bin/sh\n{script}")
        child.chmod(0o700)
        monkeypatch.setattr(sys, "executable", str(child))
        monkeypatch.setattr(program, "CACHE", tmp_path)
        monkeypatch.setattr(program, "FINDINGS", tmp_path / "findings")
        monkeypatch.setattr(program, "preloaded", lambda: "")
        monkeypatch.setattr(program, "environment", lambda *_: {**os.environ, "ASAN_OPTIONS": ""})

    return use


#: What libFuzzer says where it found a target's mutator.
MUTATOR = "INFO: found LLVMFuzzerCustomMutator (0x7f). Disabling -len_control by default."


@pytest.mark.skipif(sys.platform == "win32", reason="takes a shell")
@pytest.mark.parametrize(
    ("output", "status", "executions", "failed"),
    [
        (f"{MUTATOR}\n#50\tNEW cov: 7 ft: 8", 0, 50, False),
        ("#50\tNEW cov: 7 ft: 8", 0, 50, True),
        ("#50\tNEW cov: 7 ft: 8", 130, 50, False),
        ("#50\tNEW cov: 7 ft: 8", 72, 50, False),
        ("", 130, 0, False),
        ("#50\tNEW cov: 7 ft: 8", 1, 0, True),
        ("", 0, 0, True),
        ("Test unit written to here", 77, 0, True),
    ],
)
def test_which_runs_have_failed(
    output: str,
    status: int,
    executions: int,
    failed: bool,
    instead: Callable[[str], None],
) -> None:
    instead(f"echo '{output}'\nexit {status}\n")
    result = program.fuzz("tables", 1, 0, 0, False, 0)
    assert (result.executions, result.failed) == (executions, failed)
    assert result.line().split()[-1] == str(int(failed))


@pytest.mark.skipif(sys.platform == "win32", reason="takes a shell")
@pytest.mark.parametrize(("child", "program_ends"), [(0, 0), (72, 130), (130, 130), (77, 1)])
def test_a_run_that_was_ended_from_outside_is_no_success(
    child: int,
    program_ends: int,
    instead: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instead(f"echo '{MUTATOR}'; echo '#50\tNEW cov: 7 ft: 8'; exit {child}\n")
    for step in ("build", "preloaded", "runtime"):  # they need clang and atheris
        monkeypatch.setattr(program, step, lambda: "")
    monkeypatch.setattr(sys, "argv", ["fuzz", "tables"])
    assert program.main() == program_ends


@pytest.mark.skipif(sys.platform == "win32", reason="takes a shell")
@pytest.mark.parametrize(("modules", "failed"), [(1, False), (5, True)])
def test_a_target_of_one_module_counts_no_other(
    modules: int, failed: bool, instead: Callable[[str], None]
) -> None:
    output = f"{MUTATOR}\nINFO: Loaded {modules} modules   (9 counters)\n#5\tNEW cov: 7 ft: 8"
    instead(f"echo '{output}'\n")
    assert program.fuzz("states", 1, 0, 0, False, 0).failed == failed


@pytest.mark.skipif(sys.platform == "win32", reason="takes a shell")
@pytest.mark.parametrize(("uniform", "executions"), [(False, 5), (True, 7)])
def test_libfuzzer_does_not_prefer_inputs_of_rare_edges_where_uniform(
    uniform: bool, executions: int, instead: Callable[[str], None]
) -> None:
    instead(
        f"echo '{MUTATOR}'; echo '#5\tNEW cov: 7 ft: 8'\n"
        "for each; do [ \"$each\" != -entropic=0 ] || echo '#7\tNEW cov: 7 ft: 8'; done\n"
    )
    assert program.fuzz("tables", 1, 0, 0, False, 0, uniform=uniform).executions == executions


def test_columns_kept_for_other_inputs_are_those_of_a_new_generator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record_batches: list[object] = []
    monkeypatch.setattr(encode, "both", lambda columns, *_: record_batches.append(columns))
    for head in range(40):
        data = bytes((head, 3 * head, head, head, 0, 0, 0, 0)) + b"one\0other"
        encode.random_columns.cache_clear()
        for _ in range(3):
            encode.rows(data)
        assert record_batches[0] == record_batches[1] == record_batches[2]
        record_batches.clear()


@pytest.mark.skipif(sys.platform == "win32", reason="takes a shell")
def test_a_quiet_target_ends_and_one_that_still_reads_its_inputs_does_not(
    instead: Callable[[str], None],
) -> None:
    instead(
        'for each; do case "$each" in -stop_file=*) stop="${each#*=}";; esac; done\n'
        f"echo '{MUTATOR}'; echo '#40\tpulse cov: 6 ft: 7'; sleep 3\n"
        '[ -e "$stop" ] && exit 1\n'
        "echo '#50\tINITED cov: 6 ft: 7'; echo '#60\tNEW cov: 7 ft: 8'\n"
        'until [ -s "$stop" ]; do sleep 0.1; done\n'
        "echo '#90\tDONE cov: 7 ft: 8'\n"
    )
    result = program.fuzz("tables", 60, 0, 0, False, 1)
    assert not result.failed
    assert (result.executions, result.edges) == (90, 7)
    assert result.quiet >= 1


def test_of_a_target_that_never_ran_here_nothing_is_kept_anew(
    instead: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    instead("exit 1\n")
    program.keep(["tables"])
    assert capsys.readouterr().out == "tables: left as it is, there was no run of it here\n"


def test_ip_headers_shorter_than_ip_end_the_search() -> None:
    """A header of length 0 that says IP in IP led back to itself."""
    assert packets.find_tcp(bytearray(b"\x40" + bytes(8) + b"\4" + bytes(60)), 101) is None


def test_a_tunnel_that_is_cut_before_its_header_ends_the_search() -> None:
    """The packet ends with the options of IP; GRE would follow."""
    packet = bytearray(b"\x4b" + bytes(8) + b"\x2f" + bytes(34))
    assert packets.find_tcp(packet, 101) is None


def clang_in(folder: Path, script: str) -> None:
    """A program of that name, alone on the path."""
    child = folder / "clang"
    child.write_text(f"#!/bin/sh\n{script}\n")
    child.chmod(0o700)


@pytest.mark.skipif(sys.platform == "win32", reason="takes a shell")
def test_a_clang_without_the_sanitizers_code_is_said_to_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian's clang only recommends it."""
    clang_in(tmp_path, '[ "$1" = -dumpversion ] && echo 14.0.6 && exit 0; exit 1')
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(instrumented.MissingError, match="install libclang-rt-14-dev"):
        instrumented.checked_compiler()
    with pytest.raises(instrumented.MissingError, match="install libclang-rt-14-dev"):
        instrumented.install()  # without apt-get
    clang_in(tmp_path, "exit 0")
    assert instrumented.checked_compiler() == str(tmp_path / "clang")
    (tmp_path / "clang").unlink()
    with pytest.raises(instrumented.MissingError, match="clang is missing"):
        instrumented.checked_compiler()


@pytest.mark.skipif(sys.platform == "win32", reason="takes a shell")
def test_what_is_missing_of_clang_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apt_arguments: list[tuple[str, ...]] = []

    def apt(*arguments: str) -> None:
        apt_arguments.append(arguments)
        if "clang" in arguments:
            clang_in(tmp_path, '[ "$1" = -dumpversion ] && echo 18.1.3 && exit 0; exit 1')
        elif len(arguments) > 1:
            clang_in(tmp_path, "exit 0")

    (tmp_path / "apt-get").touch(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(instrumented, "apt", apt)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    instrumented.install()
    assert apt_arguments == [("update",), ("install", "clang"), ("install", "libclang-rt-18-dev")]
    instrumented.install()
    assert len(apt_arguments) == 3


@pytest.mark.parametrize(("magic", "unit"), [(0xA1B2C3D4, 10**6), (0xA1B23C4D, 10**9)])
def test_a_record_with_more_than_a_second_of_fractions_is_not_in_turn(
    magic: int, unit: int
) -> None:
    """A chain is ordered by the time that seconds and fractions make together."""
    head = struct.pack("<IHHIIII", magic, 2, 4, 0, 0, 1000, 1)

    def record(seconds: int, fraction: int) -> bytes:
        return struct.pack("<IIII", seconds, fraction, 4, 4) + b"abcd"

    for fraction, in_turn in ((unit - 1, True), (3 * unit, False), (3 * unit - 1, True)):
        first = head + record(0, fraction)
        assert captures.is_in_turn(first + record(3, 0), len(first)) is in_turn
