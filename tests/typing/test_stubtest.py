"""mypy's stubtest on the protocol module, which judges the stub by rules that are not ours."""

from __future__ import annotations

from pathlib import Path

from tests.typing import checkers

MODULES = ("amqpcodec.v0_9_1", "amqpcodec.v0_9", "amqpcodec.v0_8")

#: What stubtest cannot see or does not know, and what looks at it instead (test_stubs_match.py).
ALLOWED = r"""
# Constructors have their signature from the metatype, which stubtest does not ask.
amqpcodec\.v0_\w+\..*\.__init__
# type[Basic.GetOk] is an instance of the metatype, which stubtest takes for another type.
amqpcodec\.v0_\w+\..*\.RESPONSES
# Names for annotations, and classes that are generic for type checkers.
amqpcodec\.v0_\w+\.(AnyEvent|AnyFrame|ContentMethod)
amqpcodec\.v0_\w+\..*\.__class_getitem__
"""

#: The loader's lxml has no types where its stubs are not installed.
SETTINGS = "[mypy]\n[mypy-lxml.*]\nignore_missing_imports = True\n"


def stubtest(folder: Path, *arguments: str) -> str:
    (folder / "settings.ini").write_text(SETTINGS)
    return checkers.run(
        *("mypy.stubtest", *MODULES, "--mypy-config-file=settings.ini", *arguments),
        cwd=folder,
        env=checkers.search_path(),
    )


def test_stubtest_finds_nothing_else(tmp_path: Path) -> None:
    checkers.needs("mypy")
    (tmp_path / "allowed.txt").write_text(ALLOWED)
    output = stubtest(tmp_path, "--allowlist=allowed.txt", "--ignore-unused-allowlist")
    assert f"Success: no issues found in {len(MODULES)} modules" in output, output


def test_stubtest_would_say_so(tmp_path: Path) -> None:
    checkers.needs("mypy")
    assert "amqpcodec.v0_9_1.Basic.Publish.__init__" in stubtest(tmp_path, "--concise")
