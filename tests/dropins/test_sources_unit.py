"""Functions of clients are known by their sources: those of a table, changed ones, none."""

from __future__ import annotations

import compileall
import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from amqpcodec.compat import _sources
from amqpcodec.compat._known import KNOWN
from amqpcodec.compat.azure import CLIENTS
from tests.dropins import versions
from tests.dropins.test_install_unit import python

#: What a fresh process says of a client that lies in a folder of its own: warnings or the refusal,
#: whether the functions named are the client's own, whether frames went through the drop-in.
CODE = """
import sys, warnings
sys.path.insert(0, {folder!r})
from amqpcodec.compat import {client} as dropin
try:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        dropin.install()
    for each in told:
        print("warning:", each.message)
except Exception as error:
    print("refused:", error)
from importlib import import_module
for path in {seams!r}:
    module, _, names = path.partition(":")
    found = import_module(module)
    for name in names.split("."):
        found = getattr(found, name)
    print(path, "theirs" if getattr(found, "__code__", None) and not
          found.__code__.co_filename.startswith(dropin.__file__.rpartition("compat")[0])
          and type(found).__name__ == "function" else "ours")
{ask}
print("fallbacks", dropin.fallbacks())
print("calls", dropin.calls() > 0)
"""
PIKA_ASK = (
    "import pika.frame; "
    "pika.frame.decode_frame(bytes.fromhex('01 0001 00000008 00320029 00000005 ce'))"
)
RECEIVE = "pika.connection:Connection._on_data_available"
SEND = "pika.connection:Connection._send_message"
SEAMS = ("pika.frame:decode_frame", RECEIVE, SEND)

Change = tuple[str, str, str]


def changed(client: str, folder: Path, *changes: Change) -> Path:
    """A copy of the installed client, with texts of its files replaced."""
    shutil.copytree(
        Path(pytest.importorskip(client).__file__).parent,
        folder / client,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    for name, old, new in changes:
        path = folder / client / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return folder


def report_of(client: str, folder: Path, seams: Sequence[str], ask: str = "") -> dict[str, Any]:
    """What such a process says, line by line."""
    lines = python(
        CODE.format(folder=str(folder), client=client, seams=tuple(seams), ask=ask)
    ).splitlines()
    return {
        "warnings": [line[9:] for line in lines if line.startswith("warning: ")],
        "refused": [line[9:] for line in lines if line.startswith("refused: ")],
        "whose": [line.split()[1] for line in lines if line.split()[0] in seams],
        "fallbacks": next(line[10:] for line in lines if line.startswith("fallbacks ")),
        "calls": "calls True" in lines,
    }


@pytest.mark.parametrize("client", KNOWN)
def test_the_installed_version_is_known(client: str) -> None:
    package = CLIENTS.get(client, client)
    pytest.importorskip(package)
    sources = _sources.Sources(client)
    paths = list(KNOWN[client].functions)
    assert paths
    assert sources.why_not(paths) is None
    for path in paths:  # one by one, as in a file that somebody changed elsewhere
        assert _sources.digest(path) in KNOWN[client].functions[path]
    modules = {path.partition(":")[0] for path in paths}
    assert set(KNOWN[client].files) == modules
    for name in modules:
        assert _sources.file_digest(name) in KNOWN[client].files[name]


def test_a_function_of_a_known_file_that_was_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file is known, and it is another function of the same module."""
    data: Any = pytest.importorskip("pika.data")
    sources = _sources.Sources("pika")
    path = "pika.data:decode_table"
    assert sources.why_not([path]) is None
    monkeypatch.setattr(data, "decode_table", data.decode_value)
    assert "source" in str(sources.why_not([path]))
    monkeypatch.setattr(data, "decode_table", lambda *_arguments: None)
    assert "not the client's own" in str(sources.why_not([path]))
    assert sources.why_not([path], patched=True) is None
    monkeypatch.delattr(data, "decode_table")
    assert sources.why_not([path]) == f"there is no {path}"


def test_a_file_is_hashed_again_when_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "hashed_file.py"
    digests = []
    for text in (b"a = 1\n", b"a = 1\r\n", b"a = 22\n"):
        path.write_bytes(text)
        digests.append(_sources.file_digest("hashed_file"))
    assert digests[0] == digests[1] != digests[2]
    path.unlink()
    assert _sources.file_digest("hashed_file") is None
    assert _sources.file_digest("sys") is None


@pytest.mark.parametrize("client", sorted(CLIENTS))
def test_functions_that_the_interpreter_adds_are_no_sources(
    client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Since 3.14 a module with annotations has a function `__annotate__`."""
    pytest.importorskip(CLIENTS[client])
    for path in KNOWN[client].functions:
        name, _, inside = path.partition(":")
        if inside == "*":
            module = import_module(name)
            digest = _sources.digest(path)
            code = compile("def __annotate__(format): return {}", module.__file__, "exec")
            exec(code, added := {"__name__": name})
            monkeypatch.setattr(module, "__annotate__", added["__annotate__"], raising=False)
            assert _sources.digest(path) == digest


def test_an_unknown_version_with_known_sources(tmp_path: Path) -> None:
    folder = changed("pika", tmp_path, ("__init__.py", "1.4.4", "1.4.77"))
    report = report_of("pika", folder, SEAMS, PIKA_ASK)
    assert report["whose"] == ["ours"] * 3
    assert report["calls"]
    assert report["fallbacks"] == "{}"
    assert len(report["warnings"]) == 1
    assert "1.4.77" in report["warnings"][0]


@pytest.mark.parametrize("seam", [RECEIVE, SEND])
def test_a_changed_method_of_a_connection_stays(tmp_path: Path, seam: str) -> None:
    old = {
        RECEIVE: "        self._frame_buffer += data_in\n",
        SEND: "        length = len(content[1])\n",
    }[seam]
    folder = changed("pika", tmp_path, ("connection.py", old, old + "        self.own = True\n"))
    report = report_of("pika", folder, SEAMS, PIKA_ASK)
    assert report["whose"] == ["theirs" if one == seam else "ours" for one in SEAMS]
    assert report["calls"]
    assert report["fallbacks"] == "{}"
    (warning,) = report["warnings"]
    assert seam in warning
    assert "source" in warning


def test_a_changed_value_function_is_compared(tmp_path: Path) -> None:
    change = ("data.py", "def encode_short_string(", "# another author\ndef encode_short_string(")
    folder = changed("pika", tmp_path / "same", change)
    assert report_of("pika", folder, SEAMS, PIKA_ASK)["warnings"] == []
    text = Path(import_module("pika.data").__file__ or "").read_text(encoding="utf-8")
    assert "decode_short_string" in text
    body = next(
        line for line in text.partition("def decode_value")[2].splitlines() if "kind = " in line
    )
    folder = changed("pika", tmp_path / "worded", ("data.py", body, f"{body}  # the tag"))
    report = report_of("pika", folder, SEAMS, PIKA_ASK)
    assert report["whose"] == ["ours"] * 3
    assert report["calls"]
    (warning,) = report["warnings"]
    assert "pika.data:decode_value" in warning
    assert "comparison" in warning


def test_a_value_function_with_other_results_is_refused(tmp_path: Path) -> None:
    change = ("data.py", "value = value.decode('utf8')", "value = value.decode('latin-1')")
    folder = changed("pika", tmp_path, change)
    report = report_of("pika", folder, SEAMS)
    assert report["whose"] == ["theirs"] * 3
    (refused,) = report["refused"]
    assert "The first: read tag" in refused


@pytest.mark.parametrize(
    ("client", "seams", "stock_functions"),
    [
        ("pika", SEAMS, (RECEIVE, SEND)),
        (
            "amqp",
            ("amqp.serialization:loads", "amqp.method_framing:frame_handler"),
            ("amqp.method_framing:frame_handler",),
        ),
    ],
)
def test_a_client_without_sources(
    tmp_path: Path, client: str, seams: tuple[str, ...], stock_functions: tuple[str, ...]
) -> None:
    """What can be compared is used; of all else the reason is told."""
    folder = changed(client, tmp_path)
    compileall.compile_dir(folder, quiet=2, legacy=True)
    for path in folder.rglob("*.py"):
        path.unlink()
    report = report_of(client, folder, seams)
    assert report["refused"] == []
    assert report["whose"] == ["theirs" if one in stock_functions else "ours" for one in seams]
    assert any("cannot be read" in warning for warning in report["warnings"])


def test_py_amqp_with_another_frame_handler(tmp_path: Path) -> None:
    change = ("method_framing.py", "connection.bytes_recv += 1", "connection.bytes_recv += 2")
    folder = changed("amqp", tmp_path, change)
    seams = ("amqp.serialization:loads", "amqp.method_framing:frame_handler")
    report = report_of("amqp", folder, seams)
    assert report["whose"] == ["ours", "theirs"]
    (warning,) = report["warnings"]
    assert "amqp.method_framing:frame_handler" in warning


def test_what_has_no_meaning_is_not_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "one": "def f(x):\n    return x\n",
        "spaced": "\n\ndef f(x):   \r\n\r\n    return x\r\n",
        "other": "def f(x):\n    return -x\n",
    }
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, text in texts.items():
        (tmp_path / f"hashed_{name}.py").write_bytes(text.encode())
    digests = {name: _sources.digest(f"hashed_{name}:f") for name in texts}
    assert digests["one"] == digests["spaced"] != digests["other"]
    assert all(digests.values())


def _calls_above(self: Any) -> None:
    super().__init__()  # type: ignore[misc]


def _calls_by_name(self: Any) -> None:
    object.__init__(self)


def _alone(self: Any) -> None:
    self.a = self.b = None


@pytest.mark.parametrize(
    ("function", "expected"),
    [(_calls_above, True), (_calls_by_name, True), (_alone, False), (len, True)],
)
def test_what_may_call_classes_above(function: Callable[..., Any], expected: bool) -> None:
    assert _sources.calls_same_name(function, "__init__") is expected


def test_names_of_a_body() -> None:
    assert _sources.names_used(_alone) == {"self", "a", "b"}
    assert _sources.names_used(len) is None


def test_the_command_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pika")
    main = import_module("amqpcodec.compat.__main__").main
    assert main(["sources", "pika"]) == 0
    report = json.loads(capsys.readouterr().out)
    for part, digests in (("files", KNOWN["pika"].files), ("functions", KNOWN["pika"].functions)):
        assert report[part].keys() == digests.keys()
        assert all(its in digests[key] for key, its in report[part].items())


@pytest.mark.parametrize(
    ("functions", "message"),
    [({}, "no paths to hash"), ({"tinymq.frame": None}, "gives a hash of tinymq.frame")],
)
def test_a_table_without_hashes_is_not_written(
    functions: dict[str, str | None], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that is not installed, or whose entry names no path, would never be known."""
    output = json.dumps({"files": dict.fromkeys(functions, "1-0"), "functions": functions})
    process = subprocess.CompletedProcess([], 0, stdout=output)
    monkeypatch.setattr(versions, "python", lambda *_arguments: process)
    with pytest.raises(SystemExit, match=message):
        list(versions._known_lines("tinymq", ["1.0"]))
