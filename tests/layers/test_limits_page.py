"""docs/limits.md: every test that it names is there, and its figures are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from amqpcodec import limits
from amqpcodec.capture import _files, _read
from amqpcodec.capture._layers import _derived, _handshake, _keylog, _sessions, _tls

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "limits.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)))
ROWS = [
    line for line in PAGE.splitlines() if line.startswith("| ") and "what passes it" not in line
]


def test_tables_are_tables() -> None:
    """A row that follows a blank line is a paragraph in Markdown."""
    assert not re.search(r"\n\n\|[^\n]*\n(?!\|---)", PAGE)


def test_every_limit_has_all_columns_and_a_test() -> None:
    assert len(ROWS) > 15
    for row in ROWS:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert len(cells) == 5, row
        assert all(cells), row
        assert "tests/" in cells[4], row


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_the_test_is_there(path: str, name: str) -> None:
    text = (ROOT / path).read_text()
    assert not name or re.search(rf"^def {name}\(", text, re.MULTILINE)


def test_figures_are_those_of_the_code() -> None:
    core = ROOT / "src" / "amqpcodec" / "_core"
    assert f"| {limits.empty_elements():,} |" in PAGE
    assert f"| {_read.REORDER_SEGMENTS:,} |" in PAGE
    assert (
        f"| {_read.OPEN_CONNECTIONS:,} | `open_connections=`, 1 to {_read.MOST_CONNECTIONS:,} |"
        in PAGE
    )
    assert f"`record_bytes=`, 1 to {_read.RECORD_BYTES:,} |" in PAGE
    assert f"`message_bytes=`, 1 to {_read.MESSAGE_BYTES:,} |" in PAGE
    assert _read.FRAGMENT_BYTES == 8 << 20
    assert f"| {_files.UNPACKED_RATIO:,}, and 64 MiB for all | `unpacked_ratio=`" in PAGE
    assert _files.UNPACKED_START == 64 << 20
    for figure in (
        _tls.LARGEST_WAIT,
        _handshake.LARGEST,
        _sessions.KEPT,
        _keylog.KEPT,
        _derived.LAST_UPDATE,
    ):
        assert f"| {figure:,} |" in PAGE
    assert _read.REORDER_BYTES == 4 << 20
    for path, text in {
        "wire/value.pxi": "DEPTH_MOST = 128",
        "v1/read.pxi": "V1_INT_KEYS = 256",
        "objects/bases.pxi": "REPR_DEPTH = 32",
        "encode/input.pxi": "SOURCE_DEPTH = 400",
        "capture/messages.pxi": "MESSAGE_LIMIT = 1 << 26",
        "capture/file.pxi": "RECORD_LIMIT = 1 << 26",
        "capture/stream.pxi": "HIGHEST_FRAME_MAX = 1 << 26",
        "capture/v1.pxi": "DELIVERIES_OPEN = 1024",
        "capture/order.pxi": "ORDER_ROWS = 1 << 16",
        "capture/tunnel.pxi": "TUNNEL_LIMIT = 8",
        "capture/fragments.pxi": "PARTIAL_LIMIT = 1 << 10",
    }.items():
        assert text in (core / path).read_text(), path
