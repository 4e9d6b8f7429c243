"""A client of an unknown version that never returns from some input: the comparison goes on.

Each runs in a process of its own, which is killed after a minute.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from amqpcodec.compat._compare import HangError, call, compare, limit_lines, outcome
from tests.dropins.test_sources_unit import changed, report_of


def _never() -> None:
    while True:
        pass


def _swallows() -> None:
    while True:
        try:
            _never()
        except Exception:
            continue


@pytest.mark.parametrize("work", [_never, _swallows, lambda: sum(1 for _ in iter(int, 1))])
def test_a_call_ends(work: object) -> None:
    assert callable(work)
    before = sys.gettrace()
    with limit_lines():
        assert outcome(work) == (False, HangError)
        with pytest.raises(HangError, match="20,000 lines of Python"):
            call(work)
        assert sys.gettrace() is before
        (difference,) = compare("a loop", work, lambda: 5)
    assert "the client gives HangError: no result after 20,000 lines" in str(difference)


def test_known_clients_are_not_traced() -> None:
    before = sys.gettrace()
    assert call(sys.gettrace) is before
    with limit_lines(False):
        assert call(sys.gettrace) is before
    with limit_lines():
        assert call(sys.gettrace) is not before


#: Client, file, the line before which a loop stands, its condition, the tag that has such values.
LOOPS = [
    (
        "pamqp",
        "decode.py",
        "    try:\n        return 1, common.Struct.short_short_int",
        "value[:1] == b'\\x80'",
        "b",
    ),
    (
        "pamqp",
        "decode.py",
        "    try:\n        temp = common.Struct.timestamp",
        "value[:8] == bytes(7) + b'\\1'",
        "T",
    ),
    (
        "amqp",
        "serialization.py",
        "    ftype = chr(buf[offset])",
        "buf[offset:] == b'T' + bytes(7) + b'\\1'",
        "T",
    ),
]


@pytest.mark.parametrize(("client", "name", "old", "condition", "tag"), LOOPS)
def test_an_input_that_does_not_end_is_left_to_the_client(
    tmp_path: Path, client: str, name: str, old: str, condition: str, tag: str
) -> None:
    change = (name, old, f"    while {condition}:\n        pass\n{old}")
    report = report_of(client, changed(client, tmp_path, change), ())
    assert report["refused"] == []
    text = "\n".join(report["warnings"])
    assert f"reading tag {tag} is left to {client}: " in text
    assert "the client gives HangError: no result after 20,000 lines of Python" in text


def test_a_frame_that_does_not_end_is_a_refusal(tmp_path: Path) -> None:
    """As pamqp before 4.0.1, on a word of flags that the comparison has."""
    change = (
        "header.py",
        "        while True:\n            if len(data) < 2:",
        "        while True:\n            if data[0] & 0x80:\n                continue\n"
        "            if len(data) < 2:",
    )
    report = report_of("pamqp", changed("pamqp", tmp_path, change), ())
    (refused,) = report["refused"]
    assert "The first: read frame" in refused
    assert "HangError" in refused


def test_a_question_that_does_not_end_is_a_refusal(tmp_path: Path) -> None:
    change = (
        "data.py",
        "    elif kind == b'l':",
        "    elif kind == b'l':\n        while len(encoded):\n            pass",
    )
    report = report_of("pika", changed("pika", tmp_path, change), ())
    (refused,) = report["refused"]
    assert "does not end in a first comparison: no result after 20,000 lines" in refused
