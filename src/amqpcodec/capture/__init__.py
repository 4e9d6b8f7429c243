"""Captures to Arrow columns of AMQP frames: pcap and pcapng, compiled, block by block.

::

    from amqpcodec import capture

    for batch in capture.read("rabbit.pcap.gz"):
        print(pyarrow.record_batch(batch))

It reads pcap (µs and ns, both byte orders) and pcapng (sections, interfaces with their own link
type and clock, enhanced, simple and obsolete packet blocks), plain, gzip, zstd or lz4, from this
machine or by URI (``s3://bucket/name``); link types NULL, LOOP,
Ethernet, raw IP, SLL and SLL2, VLAN tags, MPLS, IPv4 and IPv6 with extension headers; packets
in VXLAN, Geneve, GRE, ERSPAN (types I to III) and IP, of which the innermost addresses count; puts
IP fragments together, and TCP in order, with a bounded number of bytes held back. Memory is bounded
by the open connections.

Connections over TLS are read with the secrets of a key log (``keylog=``), connections over
WebSocket as they are.

Nothing is dropped silently: what is not a frame is a row or a count. Bytes that were not captured
are a row with the flag "gap" and an error; after them the reader looks for the next frame, and
every frame that was captured whole comes out.
"""

from __future__ import annotations

from .._public import listing
from ._layers import KeyLog
from ._read import (
    BATCH_ROWS,
    Batch,
    CaptureError,
    CaptureWarning,
    Reader,
    StateError,
    read,
    schema,
    stats,
)

__all__ = [
    "BATCH_ROWS",
    "Batch",
    "CaptureError",
    "CaptureWarning",
    "KeyLog",
    "Reader",
    "StateError",
    "read",
    "schema",
    "stats",
]

__dir__ = listing(__name__)
