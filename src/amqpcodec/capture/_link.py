"""Which files go on in one another, by what their packets say: no names, no guesses.

Of each file the beginning and the end are looked at: its times, and for each direction of a
connection the sequence number of its first byte there and after its last one. A file is linked to
another one where its packets are later and its connections go on there. What does not go on
anywhere is read alone.
"""

from __future__ import annotations

import filecmp
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from .._capture import CaptureEnds
from ._errors import no_capture
from ._files import Pieces, Source, open_source, source_name
from ._limits import Unpacking
from ._notices import counted_noun
from ._order import CaptureFile, in_order
from ._ports import ServerPorts

#: How several files belong together: the argument `files` of capture.read.
Arrangement: TypeAlias = Literal["auto", "rotation", "separate", "taps"]

#: Bytes of the beginning of a file that are looked at, and of its end.
PROBE_BYTES = 1 << 20

#: A file may begin so much before the end of the one before it, if its connections go on: ns.
OVERLAP = 5 * 10**9

#: Bytes that may be missing between two files, or come again.
MISSING = 1 << 24
AGAIN = 1 << 16

#: Whether a file continues another one: see continuation().
UNRELATED, POSSIBLE, CERTAIN = range(3)

#: How a pcap file begins that is not packed.
MAGICS = tuple(bytes.fromhex(text) for text in ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1"))

#: What is known of a file: its ends, or why they cannot be seen.
OneOf = TypeVar("OneOf")

#: (sequence number of the first byte, of the one after the last, whether it begins there).
Direction = tuple[int, int, bool]


class Endpoints(NamedTuple):
    """The beginning and the end of a file. Times: ns since 1970, None where there are none.

    ports: those that were looked at, the detected ones included.
    """

    file: CaptureFile
    last_time: int | None
    head: dict[bytes, Direction]
    tail: dict[bytes, Direction]
    ports: frozenset[int] = frozenset()


@dataclass
class Rotation:
    """Files that go on in one another, in order, with the times of their first and last packets."""

    files: list[tuple[int, int, CaptureFile]] = field(default_factory=list)
    tail: dict[bytes, Direction] = field(default_factory=dict)

    @property
    def last_time(self) -> int:
        """The newest packet's."""
        return max(last for _, last, _ in self.files)

    @property
    def name(self) -> str:
        """Of the newest file."""
        return self.files[-1][2].name

    def append(self, ends: Endpoints) -> None:
        """The file that goes on."""
        time = ends.file.time or 0
        self.files.append((time, ends.last_time or time, ends.file))
        self.tail.update(ends.tail)


class Groups(NamedTuple):
    """The result of find_rotations().

    reasons: of files that do not go on with those before them, why. shared: of these, the files
    with connections that others have, too.
    """

    groups: list[list[CaptureFile]]
    reasons: dict[str, str]
    shared: frozenset[str]


def endpoints_of(source: Source, ports: ServerPorts, unpacking: Unpacking) -> Endpoints:
    """Look at both ends of a file. A compressed one and a pcapng are read to their end.

    Raises:
        CaptureError: the file is no capture.
        OSError: as open() does.
    """
    name = source_name(source)
    is_path = isinstance(source, str | os.PathLike)
    place = 0 if is_path else source.tell()  # type: ignore[union-attr]
    start = CaptureEnds(ports.numbers, detect_ports=ports.detect)
    head: dict[bytes, Direction] | None = None
    tail = start
    for count in look_through(Pieces(source, unpacking=unpacking), start):
        if head is None and count >= PROBE_BYTES:
            head = start.ways()
            if is_path and start.cuttable:
                file_tail = _look_at_tail(source, start, ports)  # type: ignore[arg-type]
                if file_tail is not None:
                    tail = file_tail
                    break
    if not is_path:
        source.seek(place)  # type: ignore[union-attr]
    if start.damaged and not start.known:
        raise no_capture(name)
    first = CaptureFile(source, name, start.first_time, not start.known)
    last = tail.last_time if tail.last_time is not None else start.last_time
    return Endpoints(
        first,
        last,
        start.ways() if head is None else head,
        {**(head or {}), **tail.ways()},
        frozenset((*ports.numbers, *start.detected_ports, *tail.detected_ports)),
    )


def look_through(pieces: Pieces, ends: CaptureEnds) -> Iterator[int]:
    """Have `ends` look at one piece after the other, as far as the file is whole; bytes so far."""
    remainder, count = b"", 0
    for piece in pieces:
        count += len(piece)
        remainder += piece
        remainder = remainder[ends.feed(remainder) :]
        if ends.damaged:
            return
        yield count


def _look_at_tail(
    path: str | os.PathLike[str], start: CaptureEnds, ports: ServerPorts
) -> CaptureEnds | None:
    """The end of a pcap file, or None where it is packed, small, or no record is found there."""
    with open_source(path) as file:
        if file.read(4) not in MAGICS or file.seek(0, os.SEEK_END) < 3 * PROBE_BYTES:
            return None
        file.seek(-PROBE_BYTES, os.SEEK_END)
        data = file.read()
    at = start.first_record(data, True)
    if at < 0:
        return None
    # What the beginning shows of ports holds at the end.
    numbers = (*ports.numbers, *start.detected_ports)
    tail = CaptureEnds(numbers, start, detect_ports=ports.detect)
    tail.feed(data[at:])
    return tail


def find_rotations(
    sources: Iterable[Source], ports: ServerPorts, unpacking: Unpacking
) -> tuple[Groups, dict[str, str]]:
    """Files in groups, each in the order of its packets, groups in that of their first ones.

    And the files that are in no group because they are copies, with the name of the other one."""
    sources = list(sources)

    def look(ports: ServerPorts) -> list[Endpoints]:
        return [endpoints_of(source, ports, unpacking) for source in sources]

    originals, copies = _without_copies(look_at_same_ports(look, ports))
    return group_by_rotation(originals), copies


def _without_copies(
    all_endpoints: Sequence[Endpoints],
) -> tuple[list[Endpoints], dict[str, str]]:
    """The files without those of this machine that hold the same bytes as one before.

    Only files whose first and last packets are the same are compared."""
    originals: list[Endpoints] = []
    by_ends: dict[tuple[int | None, int | None, tuple[bytes, ...]], list[Endpoints]] = {}
    copies: dict[str, str] = {}
    for ends in all_endpoints:
        alike = by_ends.setdefault((ends.file.time, ends.last_time, tuple(sorted(ends.head))), [])
        original = next((one for one in alike if _is_copy(ends, one)), None)
        if original is not None:
            copies[ends.file.name] = original.file.name
            continue
        originals.append(ends)
        alike.append(ends)
    return originals, copies


def _is_copy(ends: Endpoints, other: Endpoints) -> bool:
    one, two = ends.file.source, other.file.source
    if not (isinstance(one, str | os.PathLike) and isinstance(two, str | os.PathLike)):
        return False
    if not ends.head or (ends.head, ends.tail) != (other.head, other.tail):
        return False
    return os.path.isfile(one) and os.path.isfile(two) and filecmp.cmp(one, two, shallow=False)


def look_at_same_ports(
    look: Callable[[ServerPorts], Sequence[OneOf]], ports: ServerPorts
) -> Sequence[OneOf]:
    """What look() gives of files, with the ports that any of them shows looked at in all.

    A connection whose protocol header is in one file goes on in others, which show none.
    """
    results = look(ports)
    shown = {port for one in results if isinstance(one, Endpoints) for port in one.ports}
    more = shown - set(ports.numbers)
    return look(ServerPorts((*ports.numbers, *sorted(more)), False)) if more else results


def group_by_rotation(all_endpoints: Iterable[Endpoints]) -> Groups:
    """The groups of files that were looked at."""
    by_file = {id(ends.file): ends for ends in all_endpoints}
    links: list[Rotation] = []
    reasons: dict[str, str] = {}
    shared: set[str] = set()
    last: list[CaptureFile] = []  # without a packet: nothing tells where they belong
    for file in in_order(ends.file for ends in by_file.values()):
        ends = by_file[id(file)]
        if file.time is None:
            last.append(file)
            continue
        certain = {id(one): continuation(one, ends) for one in links}
        before = [one for one in links if certain[id(one)] == max(certain.values()) > UNRELATED]
        if not before:
            if links:
                reasons[file.name] = separation_reason(links, ends)
                if sharing_connections(links, ends):
                    shared.add(file.name)
            before = [Rotation()]
            links.append(before[0])
        _joined(links, before, reasons).append(ends)
    groups = [[file for _, _, file in one.files] for one in links]
    if last:
        if groups:
            groups[-1].extend(last)
        else:
            groups.append(last)
    return Groups(groups, reasons, frozenset(shared & reasons.keys()))


def _joined(links: list[Rotation], before: Sequence[Rotation], reasons: dict[str, str]) -> Rotation:
    """One link of those that a file goes on with, where no two of their files are of one time."""
    newest = before[-1]
    for other in before[-2::-1]:
        files = sorted([*other.files, *newest.files], key=lambda entry: entry[:2])
        if any(after[0] < previous[1] for previous, after in pairwise(files)):
            continue  # another recording
        later = max(newest, other, key=lambda link: link.last_time)
        tail = {**other.tail, **newest.tail, **later.tail}
        first, second = sorted((other, newest), key=lambda link: link.files[0][0])
        reasons.pop(second.files[0][2].name, None)
        first.files, first.tail = files, tail
        links.remove(second)
        newest = first
    return newest


def continuation(before: Rotation, file: Endpoints) -> int:
    """Whether the packets of a file continue those of the files before.

    CERTAIN: bytes follow those before. POSSIBLE: all that it shares with them was sent again, later
    than all of them, or it has no packet of a connection. UNRELATED: anything else; bytes of the
    same time that are there already are another recording of them.
    """
    time = file.file.time or 0
    if time < before.last_time - OVERLAP:
        return UNRELATED
    later = time > before.last_time
    if not file.head:
        return POSSIBLE if later or time == before.last_time else UNRELATED
    forward, again, backward = _compare(before, file, later)
    if forward > backward + (0 if later else again):
        return CERTAIN
    return POSSIBLE if later and again and not (forward or backward) else UNRELATED


def _compare(before: Rotation, file: Endpoints, later: bool) -> tuple[int, int, int]:
    """Directions that go on, that have nothing but bytes sent again, and that were seen before.

    later: than all before; then bytes sent again, or out of order, may stand before new ones.
    """
    forward = again = backward = 0
    for key, (first, after, begins) in file.head.items():
        earlier = before.tail.get(key)
        if earlier is None:
            continue
        step = _distance(first, earlier[1])
        if begins:
            backward += earlier[2] and earlier[0] == first
        elif first == earlier[0] != earlier[1]:
            backward += 1  # it begins where the file before does
        elif 0 <= step <= MISSING or (
            later and -MISSING <= step < 0 < _distance(after, earlier[1])
        ):
            forward += 1
        elif -AGAIN <= step < 0 < _distance(first, earlier[0]):
            again += 1
        else:
            backward += 1
    return forward, again, backward


def _distance(sequence: int, other: int) -> int:
    """How far one sequence number is behind another, which may be less than nothing."""
    return ((sequence - other + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def separate_file_warning(name: str, midstream: int, why: str = "", more: int = 0) -> str:
    """What is said of a file that is read alone, and of so many more.

    midstream: how many directions of connections begin in the middle in them.
    """
    because = f" ({why})" if why else ""
    others = f", and {counted_noun(more, 'more file')}" if more else ""
    begun = f": {midstream_text(midstream)}" if midstream else ""
    return f"{name} is read alone{because}{others}{begun}"


def separation_warning(
    reasons: Mapping[str, str], shared: Collection[str], midstream: Mapping[str, int]
) -> str:
    """The warning about files that are read alone; "" where nothing is missing or comes twice.

    A recording of its own needs no words. reasons: why each file is read alone. shared: files with
    connections of others. midstream: directions of each file that begin in the middle.
    """
    names = [name for name in reasons if name in shared or midstream[name]]
    if not names:
        return ""
    begun = sum(midstream[name] for name in names)
    return separate_file_warning(names[0], begun, reasons[names[0]], len(names) - 1)


def copies_text(copies: dict[str, str]) -> str:
    """Which files are not read because others have the same bytes."""
    name, original = next(iter(copies.items()))
    more = f", and {len(copies) - 1} more" if len(copies) > 1 else ""
    return f"{name} is not read{more}: it has the same bytes as {original}"


def midstream_text(midstream: int) -> str:
    """How many directions begin so."""
    begin = "begins" if midstream == 1 else "begin"
    return f"{counted_noun(midstream, 'direction')} {begin} in the middle"


def sharing_connections(links: Iterable[Rotation], file: Endpoints) -> list[Rotation]:
    """Those that a file has connections of."""
    return [candidate for candidate in links if candidate.tail.keys() & file.head.keys()]


def separation_reason(links: Sequence[Rotation], file: Endpoints) -> str:
    """Why a file goes on with none of those before it: what the nearest one says."""
    shared = sharing_connections(links, file)
    before = (shared or links)[-1]
    name = before.name
    if (file.file.time or 0) < before.last_time - (0 if shared else OVERLAP):
        same = ", of the same connections" if shared else ""
        return f"its packets are of the same time as those of {name}{same}"
    if shared:
        return f"its connections do not go on where those of {name} end"
    return f"no connection of {name} goes on in it"
