"""The demo recording, changed in every way that a capture may differ, as files in memory."""

from __future__ import annotations

import functools
import gzip
from collections.abc import Callable, Iterator

from tests.paths import REPO
from tests.support import mangle, wrap
from tests.support import recording as make

DEMO = REPO / "demo" / "kombu_celery.pcap.gz"


@functools.cache
def parts() -> list[mangle.Part]:
    """Its segments."""
    return mangle.parts(DEMO)


def _pcap(items: list[mangle.Part] | Iterator[mangle.Part]) -> bytes:
    return make.pcap(mangle.records(list(items)))


def _changed(seed: int) -> bytes:
    items = mangle.repeated(list(mangle.split(mangle.wrapped(parts()), 300)), seed)
    return _pcap(mangle.shuffled(items, seed))


def _short_packets() -> bytes:
    packets = [make.ethernet(part.raw()) for part in parts()]
    times = [part.time_ns for part in parts()]
    packets_with_times = zip(packets, times, strict=True)
    return make.pcap(
        [make.Record(packet[:200], time, len(packet)) for packet, time in packets_with_times]
    )


def _in_fragments() -> bytes:
    packets = [part.raw() for part in parts()]
    return make.pcap(wrap.fragmented(packets, 1, 600), link=101)


VARIANTS: dict[str, Callable[[], bytes]] = {
    "lossy": lambda: _pcap(mangle.lossy(parts(), 1, 90, 0.02)),
    "very lossy": lambda: _pcap(mangle.lossy(parts(), 2, 1400, 0.2)),
    "repeated": lambda: _pcap(mangle.repeated(parts(), 3)),
    "wrapped, repeated and shuffled": lambda: _changed(1),
    "seven bytes a packet": lambda: _pcap(mangle.split(parts(), 7)),
    "midstream": lambda: _pcap(p for p in parts()[60:] if not p.flags & make.SYN),
    "clients alone": lambda: _pcap(p for p in parts() if p.from_client),
    "servers alone": lambda: _pcap(p for p in parts() if not p.from_client),
    "short packets": _short_packets,
    "fragments": _in_fragments,
    "big-endian, ns": lambda: make.pcap(mangle.records(parts()), order=">", nano=True),
    "vlan": lambda: make.pcap(mangle.records(parts(), lambda raw: make.ethernet(raw, 0x8100))),
    "raw ip": lambda: make.pcap(mangle.records(parts(), lambda raw: raw), 101),
    "pcapng": lambda: mangle.mixed_pcapng(parts(), 1),
    "cut": lambda: _pcap(parts())[:-30],
    "damaged": lambda: _pcap(parts()[:200]) + b"\xff" * 99,
    "damaged inside": lambda: _pcap(parts()[:200]) + b"\xff" * 99 + _pcap(parts()[200:])[24:],
    "packed and cut": lambda: gzip.compress(_pcap(parts()))[:-3000],
    "no rows": lambda: make.pcap([]),
    "empty": lambda: b"",
}
