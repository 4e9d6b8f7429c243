"""What `amqpcodec.spark` uses of captures beyond the public functions, to plan the work of a job.

A job knows names and sizes of files first, then which of them are one rotation, and cuts large ones
into ranges; a task reads a range. These names are for that alone: they are no public interface and
change without notice. Nothing else of this package's private modules is used by Spark.

Files and stores: `Storage`, `locate`, `is_remote`, `local_path`, `open_source`, `alternatives`,
`files_below`, `places`, `seek_table`. Which files are one rotation: `CaptureFile`,
`capture_file_of`, `in_order`, `difference`, `Endpoints`, `endpoints_of`, `Arrangement`, `Link`,
`Direction`, `NOT`, `goes_on`, `link_ends`, `reason`, `told_alone`. Ranges of a large file: `Part`,
`parts`, `outline`, `follow`. States: `seal`, `unseal`. Limits and options: `LIMITS`, `Limits`,
`LimitOptions`, `Unpacking`, `KeyLogSource`, `TLS_PORT`. Texts of warnings: `no_frames`,
`unread_links`.
"""

from __future__ import annotations

from ._chain import difference
from ._files import open_source
from ._layers import KeyLogSource
from ._limits import LIMITS, LimitOptions, Limits, Unpacking
from ._link import (
    NOT,
    Arrangement,
    Direction,
    Endpoints,
    Link,
    goes_on,
    link_ends,
    reason,
    told_alone,
)
from ._link import look as endpoints_of
from ._notices import no_frames, unread_links
from ._order import CaptureFile, in_order
from ._order import look as capture_file_of
from ._outline import Part, follow, outline, parts
from ._paths import alternatives, files_below, places
from ._read import TLS_PORT
from ._seal import seal, unseal
from ._seekable import seek_table
from ._storage import Storage, is_remote, local_path, locate

__all__ = [
    "LIMITS",
    "NOT",
    "TLS_PORT",
    "Arrangement",
    "CaptureFile",
    "Direction",
    "Endpoints",
    "KeyLogSource",
    "LimitOptions",
    "Limits",
    "Link",
    "Part",
    "Storage",
    "Unpacking",
    "alternatives",
    "capture_file_of",
    "difference",
    "endpoints_of",
    "files_below",
    "follow",
    "goes_on",
    "in_order",
    "is_remote",
    "link_ends",
    "local_path",
    "locate",
    "no_frames",
    "open_source",
    "outline",
    "parts",
    "places",
    "reason",
    "seal",
    "seek_table",
    "told_alone",
    "unread_links",
    "unseal",
]
