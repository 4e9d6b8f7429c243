"""Recordings in which address translation shows each packet more than once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tests.support import mangle
from tests.support import recording as make
from tests.support.recording import SERVER


class Translation(NamedTuple):
    """What is another one afterwards; None: what is not."""

    client: str | None = None
    server: str | None = None
    port: int | None = None  # the server's

    @property
    def name(self) -> str:
        """For the names of tests."""
        return " ".join(field for field, changed in self._asdict().items() if changed)


MASQUERADED = Translation(client="192.0.2.1")
PUBLISHED = Translation(server="172.17.0.2")
BOTH = Translation(client="192.0.2.1", server="172.17.0.2")
#: The server listens where no port is read that is not named or detected.
OTHER_PORT = Translation(server="172.17.0.2", port=5673)
#: The translation that follows another one.
SECOND = Translation(client="172.17.0.1", server="172.18.0.9")
ONE = (MASQUERADED, PUBLISHED, BOTH)


class Sighting(NamedTuple):
    """A packet at one of the points where it was captured."""

    point: int  # 0: before all translations; n: after n of them
    number: int  # of the packet, from 0
    client_port: int
    part: mangle.Part


def conversation_parts(says: Iterable[tuple[int, bytes]], **options: int) -> list[mangle.Part]:
    """The segments of what two sides say; options: of recording.packets."""
    return mangle.parts_of_talk(make.packets(says, **options))


def ended(items: Iterable[mangle.Part], *flags: int) -> list[mangle.Part]:
    """With a segment after the last one of each side, the server's first; flags: of these."""
    parts = list(items)
    last = {part.from_client: part for part in parts if part.data}
    for flag, from_client in zip(flags, (False, True), strict=False):
        part = last[from_client]
        sequence, time_ns = part.sequence + len(part.data), parts[-1].time_ns + 1_000_000
        parts.append(replace(part, sequence=sequence, flags=flag, data=b"", time_ns=time_ns))
    return parts


def of_other_client(items: Iterable[mangle.Part], port: int = make.CLIENT[1]) -> list[mangle.Part]:
    """The same of another client, whose port this is, 50 µs later."""
    parts = []
    for part in translated(items, MASQUERADED):
        source, target = part.source, part.target
        if part.from_client:
            source = source[0], port
        else:
            target = target[0], port
        parts.append(replace(part, source=source, target=target, time_ns=part.time_ns + 50_000))
    return parts


def translated(
    items: Iterable[mangle.Part], *translations: Translation, port: int = SERVER[1]
) -> list[mangle.Part]:
    """The segments after these translations; port: the server's before them."""
    parts = list(items)
    for client, server, new_port in translations:
        following = port if new_port is None else new_port
        for i, part in enumerate(parts):
            source, target = part.source, part.target
            if target[1] == port:
                source, target = (client or source[0], source[1]), (server or target[0], following)
            else:
                source, target = (server or source[0], following), (client or target[0], target[1])
            parts[i] = replace(part, source=source, target=target)
        port = following
    return parts


def sightings(
    items: Sequence[mangle.Part],
    *translations: Translation,
    delay_ns: int = 40_000,
    order: str = "path",
    port: int = SERVER[1],
) -> list[Sighting]:
    """Each segment at each point, in the order in which they are captured.

    delay_ns: from a point to the next one. order: "path", in which a packet of the client comes by
    the points in their order, and one of the server in the other; or at which point all packets are
    captured "first", before the translations, or after them: "last".
    """
    out = []
    steps = len(translations)
    for point in range(steps + 1):
        parts = translated(items, *translations[:point], port=port)
        for number, (part, before) in enumerate(zip(parts, items, strict=True)):
            from_client = before.target[1] == port
            forward = from_client if order == "path" else order == "first"
            delayed = part.time_ns + delay_ns * (point if forward else steps - point)
            client_port = (before.source if from_client else before.target)[1]
            part_then = replace(part, time_ns=delayed)
            out.append(Sighting(point, number, client_port, part_then))
    return sorted(out, key=lambda sighting: (sighting.part.time_ns, sighting.number))


def at_point(recorded: Iterable[Sighting], point: int) -> list[Sighting]:
    """What was captured at one point."""
    return [sighting for sighting in recorded if sighting.point == point]


def at_first_point(recorded: Iterable[Sighting]) -> list[Sighting]:
    """Of each client's port, what was captured at the point at which its first packet was."""
    points: dict[int, int] = {}
    return [
        sighting
        for sighting in recorded
        if points.setdefault(sighting.client_port, sighting.point) == sighting.point
    ]


def without(recorded: Iterable[Sighting], lost: Collection[tuple[int, int]]) -> list[Sighting]:
    """What is left where these packets were not captured; lost: (point, number)."""
    return [sighting for sighting in recorded if (sighting.point, sighting.number) not in lost]


def spaced(items: Iterable[mangle.Part], spacing_ns: int) -> list[mangle.Part]:
    """Segments that follow one another after this time."""
    return [replace(part, time_ns=make.START_NS + spacing_ns * i) for i, part in enumerate(items)]


def merged(*recordings: Iterable[mangle.Part]) -> list[mangle.Part]:
    """The packets of several recordings in the order of their times."""
    parts = [part for recording in recordings for part in recording]
    return sorted(parts, key=lambda part: part.time_ns)


def capture_of(recorded: Iterable[Sighting | mangle.Part]) -> bytes:
    """A pcap file."""
    parts = [one.part if isinstance(one, Sighting) else one for one in recorded]
    return make.pcap(mangle.records(parts))


#: Columns that number packets, or say where in the file they are.
PLACE = {"file", "connection", "packet_offset", "packet"}
#: Of events at the end of the recording also: it has the time of the last packet of all.
PLACE_AT_END = PLACE | {"position", "timestamp", "timestamp_last", "time_us", "elapsed_us"}


def unplaced(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without what depends on packets of others in the file."""
    ends = {"waiting", "recording-ended"}
    return [
        {
            name: cell
            for name, cell in row.items()
            if name not in (PLACE_AT_END if row.get("event") in ends else PLACE)
        }
        for row in rows
    ]
