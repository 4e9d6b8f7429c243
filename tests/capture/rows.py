"""Rows of captures for tests, and what they add up to."""

from __future__ import annotations

import io
from collections import defaultdict
from typing import Any

import pyarrow as pa

from amqpcodec import capture


def rows(octets: bytes, **options: Any) -> list[dict[str, Any]]:
    """All rows of a capture, nothing hidden."""
    options.setdefault("redact", False)
    result_rows: list[dict[str, Any]] = []
    for batch in capture.read(io.BytesIO(octets), **options):
        result_rows += pa.record_batch(batch).to_pylist()
    return result_rows


def streams(octets: bytes, **options: Any) -> dict[tuple[str, str], list[bytes]]:
    """(client's end, direction) -> its whole frames, in order."""
    frames_by_stream: dict[tuple[str, str], list[bytes]] = defaultdict(list)
    for row in rows(octets, **options):
        if row["frame_type"] is not None and row["error"] is None:
            client = row["src"] if row["direction"] == "client" else row["dst"]
            frames_by_stream[client, row["direction"]].append(row["frame"])
    return dict(frames_by_stream)
