"""Captures to Arrow columns of AMQP frames: pcap and pcapng, compiled, block by block.

::

    from amqpcodec import capture

    for batch in capture.read("rabbit.pcap.gz"):
        print(pyarrow.record_batch(batch))

It reads pcap (µs and ns, both byte orders) and pcapng (sections, interfaces with their own link
type and clock, enhanced, simple and obsolete packet blocks), plain, gzip, zstd or lz4, from this
machine or by URI (``s3://bucket/name``); link types NULL, LOOP,
Ethernet, raw IP, SLL, SLL2, PPP (9, 50, 51, 166, 204), Cisco's HDLC, NFLOG and PKTAP; VLAN tags,
PPPoE, LLC with SNAP, MPLS, IPv4 and IPv6 with extension headers; packets
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

from typing import TYPE_CHECKING

# First of all: in a second interpreter nothing else of this package may load before it refuses.
import amqpcodec._facade.interpreter  # noqa: F401

from .._facade.public import listing
from ._layers import KeyLog
from ._read import (
    BATCH_ROWS,
    Batch,
    CaptureError,
    CaptureWarning,
    LimitOptions,
    Reader,
    ReaderExhausted,
    StateError,
    read,
    schema,
    stats,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from typing import IO, Any

    from ._dataset import CaptureDataset

__all__ = [
    "BATCH_ROWS",
    "Batch",
    "CaptureError",
    "CaptureWarning",
    "KeyLog",
    "LimitOptions",
    "Reader",
    "ReaderExhausted",
    "StateError",
    "dataset",
    "read",
    "schema",
    "stats",
]

__dir__ = listing(__name__)


def dataset(
    path_or_file: str | os.PathLike[str] | IO[bytes] | Iterable[str | os.PathLike[str] | IO[bytes]],
    level: str = "frame",
    fields: Iterable[str] | None = None,
    **options: Any,
) -> CaptureDataset:
    """The frames or messages of captures as a dataset of pyarrow: ``pyarrow.dataset.Dataset``.

    DuckDB reads it by its name (``from captures``) and gives it the columns that a query uses,
    which alone are decoded, and the comparisons that it can leave to pyarrow; so do
    ``polars.scan_pyarrow_dataset`` and pyarrow's own ``to_table`` and ``scanner``. Each scan reads
    the files anew, batch by batch; of an open file, from where it stood when the dataset was made.
    It needs pyarrow.

    Args:
        path_or_file, level, fields: as read() takes them.
        options: all others of read().

    Raises:
        ValueError, TypeError: as read() says of its arguments.
        FileNotFoundError: a path, a URI or a glob stands for nothing.
        CaptureError, OSError: when it is scanned, as read() says.
        ReaderExhausted: when an open file that does not seek is scanned again.
    """
    from ._dataset import CaptureDataset
    from ._repeat import RepeatableSources

    names = None if fields is None else list(fields)
    sources = RepeatableSources(path_or_file, options.get("filesystem"))
    return CaptureDataset(
        lambda columns: read(
            sources.open(), level, names if columns is None else columns, **options
        )
    )
