"""What `amqpcodec.spark` uses of captures beyond the public functions, to plan the work of a job.

A job knows names and sizes of files first, then which of them are one rotation, and cuts large ones
into ranges; a task reads a range. These names are for that alone: they are no public interface and
change without notice. Nothing else of this package's private modules is used by Spark.

Files and stores: `Storage`, `locate`, `is_remote`, `local_path`, `open_source`, `expand_braces`,
`files_below`, `matching_paths`, `seek_table`. Which files are one rotation: `CaptureFile`,
`capture_file_of`, `in_order`, `increase`, `Endpoints`, `endpoints_of`, `Arrangement`, `Rotation`,
`Direction`, `UNRELATED`, `continuation`, `group_by_rotation`, `look_at_same_ports`,
`separation_reason`, `separate_file_warning`, `separation_warning`. Ranges of a large file: `Part`,
`parts_between`, `make_outline`, `apply_outlines`. States: `seal`, `unseal`. Limits and options:
`LIMITS`, `Limits`, `LimitOptions`, `Unpacking`, `range_error`, `respell_limits`, `KeyLogSource`,
`ServerPorts`, `server_ports`. Texts of warnings: `no_frames_warning`, `unread_links_warning`.
"""

from __future__ import annotations

from ._chain import increase
from ._files import open_source
from ._layers import KeyLogSource
from ._limits import LIMITS, LimitOptions, Limits, Unpacking, range_error, respell_limits
from ._link import (
    UNRELATED,
    Arrangement,
    Direction,
    Endpoints,
    Groups,
    Rotation,
    continuation,
    endpoints_of,
    group_by_rotation,
    look_at_same_ports,
    separate_file_warning,
    separation_reason,
    separation_warning,
)
from ._notices import no_frames_warning, unread_links_warning
from ._order import CaptureFile, capture_file_of, in_order
from ._outline import Part, apply_outlines, make_outline, parts_between
from ._paths import expand_braces, files_below, matching_paths
from ._ports import ServerPorts, server_ports
from ._seal import seal, unseal
from ._seekable import seek_table
from ._storage import Storage, is_remote, local_path, locate

__all__ = [
    "LIMITS",
    "UNRELATED",
    "Arrangement",
    "CaptureFile",
    "Direction",
    "Endpoints",
    "Groups",
    "KeyLogSource",
    "LimitOptions",
    "Limits",
    "Part",
    "Rotation",
    "ServerPorts",
    "Storage",
    "Unpacking",
    "apply_outlines",
    "capture_file_of",
    "continuation",
    "endpoints_of",
    "expand_braces",
    "files_below",
    "group_by_rotation",
    "in_order",
    "increase",
    "is_remote",
    "local_path",
    "locate",
    "look_at_same_ports",
    "make_outline",
    "matching_paths",
    "no_frames_warning",
    "open_source",
    "parts_between",
    "range_error",
    "respell_limits",
    "seal",
    "seek_table",
    "separate_file_warning",
    "separation_reason",
    "separation_warning",
    "server_ports",
    "unread_links_warning",
    "unseal",
]
