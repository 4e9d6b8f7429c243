"""python -m amqpcodec.spec: one line a file, and an exit status that says how it went."""

from __future__ import annotations

from pathlib import Path

import pytest

from amqpcodec.spec.__main__ import main
from tests.paths import REPO

XML = str(REPO / "spec" / "amqp0-9-1.xml")


def test_a_good_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([XML]) == 0
    out, err = capsys.readouterr()
    assert out == f"{XML}: AMQP 0-9-1, 7 classes, 64 methods, 25 constants, 24 domains\n"
    assert err == ""


def test_a_bad_file_does_not_hide_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.xml"
    broken.write_text('<amqp major="0"/>')
    assert main([str(broken), str(tmp_path / "none.xml"), XML]) == 1
    out, err = capsys.readouterr()
    assert out.startswith(f"{XML}: AMQP 0-9-1")
    first, second = err.splitlines()
    assert first == f"{broken}:1: <amqp> lacks the attribute 'minor'"
    assert "none.xml" in second


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith("usage:")
