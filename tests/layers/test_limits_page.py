"""docs/limits.md: every test that it names is there, and its figures are those of the code."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from amqpcodec import limits
from amqpcodec.capture import _limits
from amqpcodec.capture._layers import _derived, _handshake, _keylog, _sessions, _tls, _websocket
from amqpcodec.capture._limits import LIMITS

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
    assert f"| {limits.get_max_empty_elements():,} |" in PAGE
    for limit in fields(_limits.Limits):
        assert f"`{limit.name}=`" in PAGE
        if limit.metadata["least"] == 1:
            assert f"`{limit.name}=`, 1 to {limit.metadata['most']:,} |" in PAGE
    assert f"| {LIMITS.reorder_segments:,} |" in PAGE
    assert f"| {LIMITS.open_connections:,} |" in PAGE
    assert f"| {LIMITS.websocket_ratio}, and 1 MiB for all | `websocket_ratio=`" in PAGE
    assert (
        f"| {LIMITS.max_compression_ratio:,}, and 64 MiB for all | `max_compression_ratio=`" in PAGE
    )
    assert (_websocket.UNPACKED_START, _limits.UNPACKED_START) == (1 << 20, 64 << 20)
    assert (LIMITS.reorder_bytes, LIMITS.fragment_bytes) == (4 << 20, 8 << 20)
    assert (LIMITS.frame_bytes, LIMITS.open_deliveries) == (64 << 20, 1024)
    assert (LIMITS.websocket_bytes, LIMITS.record_bytes, LIMITS.message_bytes) == (
        16 << 20,
        64 << 20,
        64 << 20,
    )
    for figure in (
        _tls.LARGEST_WAIT,
        _handshake.LARGEST,
        _sessions.KEPT,
        _keylog.KEPT,
        _derived.LAST_UPDATE,
    ):
        assert f"| {figure:,} |" in PAGE
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
