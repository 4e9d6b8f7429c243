"""Ports with AMQP that were not read: a recording is read again, with every port.

Readers in Python do not do so: nobody asked for a second reading, and pipes cannot be read again.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Collection
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .. import capture
from ..capture._link import Arrangement

__all__ = ["unread_ports"]

#: How long we look for them, in seconds.
SECONDS = 2.0
#: A connection with fewer methods may look like AMQP by chance.
MIN_METHODS = 2
COLUMNS = ["connection", "direction", "src", "dst", "frame_type", "method", "error"]


def unread_ports(
    sources: Any, ports: Collection[int], arrangement: Arrangement, **limits: Any
) -> list[int]:
    """Ports of connections that have frames of AMQP, and whose protocol header was not recorded.

    Args:
        sources: of capture.read.
        ports: that were read.
        arrangement: `files` of capture.read.
        limits: of capture.read.
    """
    began: set[str] = set()  # connections with a protocol header
    counts: Counter[tuple[str, str]] = Counter()  # methods by connection and server
    deadline = time.monotonic() + SECONDS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", capture.CaptureWarning)
        reader = capture.read(
            sources, fields=COLUMNS, ports=range(1, 1 << 16), files=arrangement, **limits
        )
        try:
            for core_batch in reader:
                batch = pa.record_batch(core_batch)
                connection = batch.column("connection")
                is_header = pc.equal(batch.column("frame_type"), "protocol-header")
                began.update(connection.filter(is_header).unique().to_pylist())
                is_client = pc.equal(batch.column("direction"), "client")
                server = pc.if_else(is_client, batch.column("dst"), batch.column("src"))
                is_good = pc.and_(
                    batch.column("method").is_valid(), batch.column("error").is_null()
                )
                counts.update(
                    zip(
                        connection.filter(is_good).to_pylist(),
                        server.filter(is_good).to_pylist(),
                        strict=True,
                    )
                )
                if time.monotonic() > deadline:
                    break
        except (capture.CaptureError, OSError):
            pass  # it was said when the recording was read first
    found = {
        int(server.rpartition(":")[2])
        for (connection, server), count in counts.items()
        if connection not in began and count >= MIN_METHODS
    }
    return sorted(found - set(ports))
