"""A program: resume from states that an attacker made, and use the readers. Prints what came of it.

Every number of a state is set to every value of a list, then many are changed at once; the states
reach the compiled reader itself, which no checksum guards. All that may come of one is a reader
that works, or a ValueError after which the reader is as new.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from amqpcodec import _capture, v0_8, v0_9, v0_9_1, v1_0
from amqpcodec.capture._layers import KeyLog, Layers
from tests.events.test_damage_properties import TALKS
from tests.paths import REPO
from tests.support import mangle, v1_talk
from tests.support import recording as make
from tests.support.tls_talk import CLIENT, SERVER, Talker, split_segments
from tests.support.translation import BOTH, capture_of, sightings, spaced

LIMITS = (5, 6, 7, 8, 15, 16, 20, 26, 27, 30, 31, 32, 39, 40, 41, 56, 60, 62, 63)
VALUES = sorted(
    {s * (1 << k) + d for k in LIMITS for s in (1, -1) for d in (-1, 0, 1)}
    | set(range(-2, 12))
    | {255, 254}
)
VALUES = [value for value in VALUES if -(1 << 63) <= value < 1 << 63]


LEVELS = (("frame", False), ("message", False), ("message", True), ("event", False))
TALKER = Talker()
RECORDINGS = Path(__file__).parent / "recordings"
RECORDED_KEYS = (RECORDINGS / "tls_openssl_keys.log").read_bytes()


def number(v: int) -> bytes:
    """As the state has it."""
    x = (v << 1 ^ v >> 63) & (1 << 64) - 1
    out = bytearray()
    while x >= 128:
        out.append(x & 127 | 128)
        x >>= 7
    out.append(x)
    return bytes(out)


def reader(level: str, forced: bool) -> _capture.CaptureReader:
    others = () if forced else (v0_9.PROTOCOL, v0_8.PROTOCOL, v1_0.PROTOCOL)
    return _capture.CaptureReader(
        v0_9_1.PROTOCOL,
        None,
        (5672,),
        True,
        forced,
        200,
        level,
        others=others,
        layers=Layers(KeyLog(TALKER.keys + RECORDED_KEYS)),
    )


def drain(core: _capture.CaptureReader) -> None:
    while (batch := core.take()) is not None:
        batch.__arrow_c_array__()


def use(core: _capture.CaptureReader, remainder: bytes) -> None:
    """All that a reader is asked for."""
    core.counts()
    core.state()
    if core.begun:
        _ = core.name
    if core.between:
        core.begin("next", "next")
    core.feed(remainder)
    while core.advance():
        drain(core)
    drain(core)
    core.counts()
    core.state()
    while core.advance(last=True):
        drain(core)
    drain(core)
    core.counts()
    core.release()


def recordings() -> list[bytes]:
    parts = mangle.parts(REPO / "demo" / "kombu_celery.pcap.gz")[:160]
    rng = random.Random(1)
    lossy = [p for p in mangle.split(parts, 60) if p.flags & make.SYN or rng.random() > 0.04]
    talk = spaced(mangle.parts_of_talk(TALKS["cancelled"]), 20_000)
    twice = sightings(talk, BOTH, delay_ns=100_000)
    return [
        make.pcap(mangle.records(mangle.shuffled(lossy, 1)[:400])),
        mangle.mixed_pcapng(parts[:90], 1),
        make.pcap(mangle.records(v1_talk.parts_of("rabbit")[:150])),
        make.pcap([]),
        make.pcap(make.packets(split_segments(TALKER.talk(over_tls()), (300,)))),
        # Captured again, with other packets lost each time.
        capture_of([one for one in twice if rng.random() > 0.1]),
    ]


def over_tls() -> list[tuple[int, bytes]]:
    """What both sides say."""
    publish = v0_9_1.Basic.Publish(exchange="e", routing_key="k")
    message = v0_9_1.encode_message(1, publish, v0_9_1.Basic.Properties(), b"b" * 800)
    return [(CLIENT, v0_9_1.PROTOCOL_HEADER), *[(CLIENT, message), (SERVER, message)] * 3]


def states(octets: bytes, level: str, forced: bool, cuts: int):
    """(state, where its numbers begin, the rest of the file)."""
    for i in range(1, cuts + 1):
        core = reader(level, forced)
        core.begin("x", "x")
        core.feed(octets[: len(octets) * i // (cuts + 1)] if len(octets) > 24 else octets)
        while core.advance():
            drain(core)
        drain(core)
        starts: list[int] = []
        state = core.state(starts)
        yield state, starts, octets[core.at :]


def attack(
    state: bytes, level: str, forced: bool, remainder: bytes, counts: dict[str, int]
) -> None:
    core = reader(level, forced)
    counts["states"] += 1
    try:
        core.resume(state)
    except ValueError:
        counts["refused"] += 1
        assert not core.begun
        assert core.between
        assert core.counts()["connections"] == 0
        if counts["refused"] % 50 == 0:
            core.begin("again", "again")
            use(core, remainder[:2000])
        return
    use(core, remainder[:20_000])


def main(seed: int, share: float) -> dict[str, int]:
    rng = random.Random(seed)
    counts = {"states": 0, "refused": 0}
    for octets in recordings():
        for level, forced in LEVELS:
            for state, starts, remainder in states(octets, level, forced, 3):
                ends = [*starts[1:], len(state)]
                spans = list(zip(starts, ends, strict=True))
                # What follows a number may be bytes: keep them.
                spans = [(at, at + width(state, at), end) for at, end in spans]
                for at, stop, _ in spans:
                    for value in VALUES:
                        if rng.random() < share:
                            bad = state[:at] + number(value) + state[stop:]
                            attack(bad, level, forced, remainder, counts)
                for _ in range(int(400 * share) + 20):
                    bad = bytearray(state)
                    for at, stop, end in sorted(rng.sample(spans, min(len(spans), 3)))[::-1]:
                        value = rng.choice(VALUES) if rng.random() < 0.5 else rng.randrange(64)
                        bad[at:stop] = number(value)
                        if rng.random() < 0.1 and end > stop:
                            bad[at + 1] ^= 1 << rng.randrange(8)
                    attack(bytes(bad), level, forced, remainder, counts)
    return counts


def width(state: bytes, at: int) -> int:
    n = 1
    while state[at + n - 1] & 128:
        n += 1
    return n


if __name__ == "__main__":
    print(*main(int(sys.argv[1]), float(sys.argv[2])).values())
