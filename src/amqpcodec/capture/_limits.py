"""Limits of what a recording may make its reader do: names, defaults and ranges of the options."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import Field, asdict, dataclass, field, fields
from typing import Any, TypedDict

from .._facade.scalars import as_int

#: What a compressed file may become beside a multiple of what was read of it.
UNPACKED_START = 1 << 26
#: A limit and its value, as reports of a compressed file that passes it have them.
_PASSED = re.compile(r"(?<=becomes larger than )(\w+)=(\d+)(?= allows)")


class LimitOptions(TypedDict, total=False):
    """Limits of what a recording may make a reader do, as keyword arguments; each has a default.

    Spark spells them as options (``reorderBytes``), the command line so (``--reorder-bytes``).
    What a reader does at each is in docs/limits.md.

    Attributes:
        reorder_bytes: what may wait in each direction for a segment that is missing, 64 bytes for
            each segment included; eight times that in all directions. 4 MiB.
        reorder_segments: how many may. Where more would wait, what is missing is given up: it is a
            row with the flag "gap" that says how much it is, and stats() counts it, under gaps,
            lost_bytes and reorder_overflows. 65,536.
        open_connections: how many may be open, from 1 to 262,144. Where there are more, those that
            were silent for longest end, with rows of what is left of them; what they send later is
            another connection, which begins in the middle. 65,536.
        record_bytes: of a packet or block of a file, from 1 to 64 MiB, the default. Where one says
            that it is larger, the file is damaged, and stats() says so.
        frame_bytes: of a frame, from 1 to 64 MiB, the default; of body frames less where tune-ok
            says so. Methods and content headers may be larger than that: brokers send such. A
            larger one is a row with an error, and the next frame is looked for.
        message_bytes: of the frames of a message, at message level, from 1 to 64 MiB, the default.
        open_deliveries: of AMQP 1.0, of each direction, that have begun and not ended, at message
            level, from 1 to 1,024, the default. Where there are more, the oldest ends, a row with
            an error and the flag "truncated".
        max_tracked: at event level, how many channels are followed at once, in all connections, and
            how many consumers and exclusive queues, publishes, deliveries, and requests that wait
            for an answer, exchanges, queues and bindings, from 1 to 131,072, the default. Beyond it
            the channel's oldest publish or delivery is forgotten, and of the others the new one is
            not followed; stats() of the reader counts them by kind, under forgotten.
        fragment_bytes: what IP packets may take of which fragments are missing. Where they take
            more, the oldest are given up: what is there before the first hole is read, and stats()
            counts the fragments of which nothing was, as skipped ("IP fragment"). 8 MiB.
        websocket_bytes: of a compressed message of WebSocket, as it was sent, from 1 to 32 MiB. A
            direction with a larger one is not read from there on; stats() counts it under
            tls_reasons. 16 MiB.
        websocket_ratio: how many times their bytes the compressed messages of a direction may
            become together, and 1 MiB more, from 1 to 1,032, which is all that they can; the same.
            128.
        max_decompressed_bytes: bytes that a compressed file may become; 0, the default, for any
            number.
        max_compression_ratio: how many times its bytes a compressed file may become, and 64 MiB
            more; 0 for any number. The reader decompresses no more, whatever a file claims to hold:
            it reads what comes before the limit, ``damaged`` says where that ends, and a
            CaptureWarning reports it. 16,384. (Packets of 64 KiB that are all zeros reach 3,800,
            those of 256 KiB 9,100; the formats could reach: zstd 32,768, gzip 1,032, lz4 255.)
    """

    reorder_bytes: int
    reorder_segments: int
    open_connections: int
    record_bytes: int
    frame_bytes: int
    message_bytes: int
    open_deliveries: int
    max_tracked: int
    fragment_bytes: int
    websocket_bytes: int
    websocket_ratio: int
    max_decompressed_bytes: int
    max_compression_ratio: int


def _limit(default: int, least: int = 0, most: int | None = None) -> Any:
    return field(default=default, metadata={"least": least, "most": most})


@dataclass(frozen=True)
class Unpacking:
    """Limits of what a compressed file becomes, which captures and traces have; 0: none."""

    max_decompressed_bytes: int = _limit(0)
    max_compression_ratio: int = _limit(1 << 14)

    def __post_init__(self) -> None:
        """Raises ValueError: a limit is out of its range."""
        for limit_field in fields(self):
            limit = as_int(getattr(self, limit_field.name))
            object.__setattr__(self, limit_field.name, limit)
            if problem := _range_error(limit_field, limit):
                raise ValueError(f"{limit_field.name} {problem}")

    @property
    def options(self) -> dict[str, Any]:
        """The limits as readers take them."""
        return asdict(self)

    def of(self, read: int) -> tuple[int, str] | None:
        """What so many bytes may become, and the option that says so; None: there is no limit."""
        limits = []
        if self.max_decompressed_bytes:
            limits.append((self.max_decompressed_bytes, "max_decompressed_bytes"))
        if self.max_compression_ratio:
            limits.append(
                (UNPACKED_START + self.max_compression_ratio * read, "max_compression_ratio")
            )
        return min(limits, default=None)


@dataclass(frozen=True)
class Limits(Unpacking):
    """All of them; LimitOptions says what they are."""

    reorder_bytes: int = _limit(1 << 22, 0, (1 << 31) - 1)
    reorder_segments: int = _limit(1 << 16, 0, (1 << 31) - 1)
    open_connections: int = _limit(1 << 16, 1, 1 << 18)
    record_bytes: int = _limit(1 << 26, 1, 1 << 26)
    frame_bytes: int = _limit(1 << 26, 1, 1 << 26)
    message_bytes: int = _limit(1 << 26, 1, 1 << 26)
    open_deliveries: int = _limit(1 << 10, 1, 1 << 10)
    max_tracked: int = _limit(1 << 17, 1, 1 << 17)
    fragment_bytes: int = _limit(1 << 23, 0, (1 << 31) - 1)
    websocket_bytes: int = _limit(1 << 24, 1, 1 << 25)
    websocket_ratio: int = _limit(128, 1, 1032)


def passed_limit(option: str, limit: int) -> str:
    """Why no more of a compressed file is read, with the limit as keyword arguments have it."""
    return f"the compressed file becomes larger than {option}={limit} allows"


def respell_limits(text: str, spell: Callable[[str, str], str]) -> str:
    """A text with what passed_limit() says in it, its limits as `spell` writes name and value."""
    return _PASSED.sub(lambda passed: spell(*passed.groups()), text)


def range_error(name: str, limit: int) -> str | None:
    """Which values a limit may have, where this one is none of them: "is from 1 to 9, not 0"."""
    [limit_field] = (limit_field for limit_field in fields(Limits) if limit_field.name == name)
    return _range_error(limit_field, limit)


def _range_error(limit_field: Field[int], limit: int) -> str | None:
    least, most = limit_field.metadata.values()
    if limit >= least and (most is None or limit <= most):
        return None
    to = "on" if most is None else f"to {most}"
    return f"is from {least} {to}, not {limit}"


def limits_of(options: LimitOptions) -> Limits:
    """Limits as keyword arguments.

    Raises:
        TypeError: one is none; it says which, and what was probably meant.
        ValueError: one is out of its range.
    """
    names = [field.name for field in fields(Limits)]
    for name in options:
        if name not in names:
            close = difflib.get_close_matches(name, names, 1)
            hint = f"did you mean {close[0]}?" if close else f"limits are {', '.join(names)}"
            raise TypeError(f"no argument {name!r}: {hint}")
    return Limits(**options)


#: What is used where nothing is said.
LIMITS = Limits()
