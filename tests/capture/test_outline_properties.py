"""A reader that follows outlines holds, to the byte, what one holds that reads all."""

from __future__ import annotations

import os
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import capture, v0_9_1
from amqpcodec.capture._outline import Part, apply_outlines, make_outline, parts_between
from tests.capture.hostile_states import number
from tests.capture.steady import TROUBLE, steady
from tests.paths import REPO, shared_dir
from tests.support import capture_variants as variants
from tests.support import mangle
from tests.support import recording as make
from tests.support.mangle import unpacked
from tests.support.v1_talk import RECORDINGS

FOLDER = REPO / "tests" / "capture" / "recordings"
ALL = 1 << 40
ALL_CAPTURES = bool(os.environ.get("AMQPCODEC_ALL_CAPTURES"))


BEAT = v0_9_1.encode(0, v0_9_1.Heartbeat())


def reader(*paths: Path, level: str = "frame", **options: Any) -> capture.Reader:
    return capture.Reader(paths, level, ["error"], order="none", files="rotation", **options)


def followed(path: Path, level: str, step: int, **options: Any) -> list[float | None]:
    """For each part of a file: the size of its outline by its own; None: it has to be read."""
    size_ratios: list[float | None] = []
    sequential_reader, before = reader(path, level=level, **options), None
    for start, stop in pairwise(range(0, path.stat().st_size, step)):
        list(sequential_reader.read(stop))
        if sequential_reader.damaged:
            break
        after = sequential_reader.state()
        part_outline = make_outline(reader(path, level=level, **options), Part(0, start, stop), ALL)
        follower = reader(path, level=level, **options)
        if before is not None:
            follower.resume(before)
        if part_outline is not None and apply_outlines(
            follower, [(Part(0, start, stop), part_outline)]
        ):
            assert follower.state() == after
            size_ratios.append(len(part_outline) / step)
        else:
            size_ratios.append(None)
        before = after
    return size_ratios


@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize("trouble", TROUBLE)
@pytest.mark.parametrize("midstream", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_steady_traffic(
    tmp_path: Path, level: str, trouble: str, midstream: bool, seed: int
) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(steady(seed, 12_000, trouble=trouble, midstream=midstream))
    size_ratios = followed(path, level, path.stat().st_size // 9)
    if trouble == "none" and not midstream:
        assert None not in size_ratios


@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize("name", variants.VARIANTS)
def test_variants(tmp_path: Path, level: str, name: str) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(variants.VARIANTS[name]())
    for step in (1024, path.stat().st_size // 7):
        if step:
            followed(path, level, step)


@pytest.mark.parametrize("level", ["frame", "message"])
def test_shared_recordings(tmp_path: Path, level: str) -> None:
    shared = shared_dir()
    if shared is None:
        pytest.skip("the shared recordings are not here")
    path = tmp_path / "x.pcap"
    for name in sorted(shared.glob("captures/*.pcap*.gz")):
        data = unpacked(name)
        if ALL_CAPTURES or len(data) < 400_000:
            path.write_bytes(data)
            for share in (3, 30):
                followed(path, level, len(data) // share)


@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((f"amqp10_{name}", {"ports": (port,)}) for name, port in RECORDINGS.items()),
        ("tls_openssl", {"keylog": str(FOLDER / "tls_openssl_keys.log")}),
    ],
)
def test_other_protocols_and_layers(
    tmp_path: Path, name: str, level: str, options: dict[str, Any]
) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(unpacked(FOLDER / f"{name}.pcap.gz"))
    for share in (4, 13):
        size_ratios = followed(path, level, path.stat().st_size // share, **options)
        assert any(ratio is not None for ratio in size_ratios)


def test_a_steady_direction_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(steady(7, 30_000, connections=1))
    [size_ratio] = followed(path, "frame", path.stat().st_size - 1)
    assert size_ratio is not None
    assert size_ratio < 0.05


def test_ends_that_open_again(tmp_path: Path) -> None:
    """The connection before goes."""
    beat = v0_9_1.encode(0, v0_9_1.Heartbeat())
    payloads = [(side, beat * 5) for side in (0, 1)] * 40
    path = tmp_path / "x.pcap"
    path.write_bytes(make.pcap(make.packets([(0, v0_9_1.PROTOCOL_HEADER), *payloads]) * 4))
    size_ratios = followed(path, "frame", path.stat().st_size // 11)
    assert any(ratio is not None for ratio in size_ratios)


def test_parts_of_a_chain(tmp_path: Path) -> None:
    assert parts_between((0, 0), (0, 5)) == [Part(0, 0, 5)]
    assert parts_between((0, 5), (2, 7)) == [Part(0, 5, None), Part(1, 0, None), Part(2, 0, 7)]
    assert parts_between((0, 5), (1, 0)) == [Part(0, 5, None)]
    packets = make.pcap([]), steady(1, 9000)[24:]
    third = len(packets[1]) // 3
    complete_path = tmp_path / "whole.pcap"
    complete_path.write_bytes(packets[0] + packets[1])
    record_offset = capture.Reader(complete_path).first_record(third)
    assert record_offset is not None
    first, second = tmp_path / "a.pcap", tmp_path / "b.pcap"
    first.write_bytes(complete_path.read_bytes()[:record_offset])
    second.write_bytes(packets[0] + complete_path.read_bytes()[record_offset:])
    place = (1, second.stat().st_size // 2)
    read = reader(first, second)
    list(read.read(place))
    follower = reader(first, second)
    part_outlines = [
        (part, make_outline(reader((first, second)[part.file]), part, ALL))
        for part in parts_between((0, 0), place)
    ]
    assert all(part_outline is not None for _, part_outline in part_outlines)
    assert apply_outlines(
        follower,
        [(part, part_outline) for part, part_outline in part_outlines if part_outline is not None],
    )
    assert follower.state() == read.state()


def refused(path: Path, part: Part, most: int = ALL) -> bool:
    return make_outline(reader(path), part, most) is None


def test_what_has_no_outline(tmp_path: Path) -> None:
    def written(data: bytes) -> Path:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.pcap"
        path.write_bytes(data)
        return path

    good = written(steady(1, 3000))
    half = good.stat().st_size // 2
    assert not refused(good, Part(0, half, None))
    assert refused(good, Part(0, 0, half), 1000)
    assert refused(good, Part(0, half, 3 * half))
    assert refused(written(good.read_bytes()[:-1]), Part(0, 0, None))
    assert refused(written(variants.VARIANTS["pcapng"]()), Part(0, 5000, 20_000))
    assert refused(written(variants.VARIANTS["fragments"]()), Part(0, 0, 50_000))
    assert refused(written(variants.VARIANTS["damaged inside"]()), Part(0, 0, None))
    assert refused(written(b""), Part(0, 0, None))
    talk = make.packets([(0, v0_9_1.PROTOCOL_HEADER), (0, BEAT)], 5673)
    assert not refused(written(make.pcap(talk)), Part(0, 0, None))
    assert refused(written(make.pcap(talk[2:])), Part(0, 0, None))  # who opened it is not known
    others = [make.packets([], 80, 20_000 + number)[0] for number in range(65)]
    assert not refused(written(make.pcap([*others[:60], *talk])), Part(0, 0, None))
    assert refused(written(make.pcap([*others, *talk])), Part(0, 0, None))


def test_more_closed_connections_than_are_kept(tmp_path: Path) -> None:
    """The oldest of them go."""
    beat = v0_9_1.encode(0, v0_9_1.Heartbeat())
    packets = []
    for port in range(20_000, 20_700):
        packets += make.packets([(0, v0_9_1.PROTOCOL_HEADER + beat)], client=port)
        ends = (make.CLIENT[0], port), make.SERVER
        packets.append(make.segment(*ends, 1017, b"", make.FIN | make.ACK, 5001))
        packets.append(make.segment(*ends[::-1], 5001, b"", make.FIN | make.ACK, 1018))
    path = tmp_path / "x.pcap"
    path.write_bytes(make.pcap(packets))
    size_ratios = followed(path, "frame", path.stat().st_size // 2)
    assert any(ratio is not None for ratio in size_ratios)


def shifted(octets: bytes, stop: int, side: int) -> bytes:
    """A side's numbers up to `stop` are others, and so is what acknowledges them."""
    out = bytearray(octets)
    at = 24
    while at < stop:
        tcp = at + 16 + 14 + 20
        from_client = out[tcp : tcp + 2] != make.SERVER[1].to_bytes(2, "big")
        place = tcp + (4 if from_client == (side == 0) else 8)
        number = int.from_bytes(out[place : place + 4], "big") + (1 << 30)
        out[place : place + 4] = (number % (1 << 32)).to_bytes(4, "big")
        at += 16 + int.from_bytes(out[at + 8 : at + 12], "little")
    return bytes(out)


@pytest.mark.parametrize("connections", [1, 3])
def test_an_outline_after_other_traffic(tmp_path: Path, connections: int) -> None:
    """Of the same connections, which stood elsewhere: it is refused, or says what reading says."""
    path, other = tmp_path / "x.pcap", tmp_path / "y.pcap"
    octets = steady(7, 3000, connections=connections)
    path.write_bytes(octets)
    part = Part(0, len(octets) // 2, len(octets) - 100)
    part_outline = make_outline(reader(path), part, ALL)
    assert part_outline is not None
    for side in (None, 0, 1):
        other.write_bytes(octets if side is None else shifted(octets, part.start, side))
        follower, sequential_reader = reader(other), reader(other)
        for capture_reader in (follower, sequential_reader):
            list(capture_reader.read(part.start))
        list(sequential_reader.read(part.stop))
        if apply_outlines(follower, [(part, part_outline)]):
            assert follower.state() == sequential_reader.state()
        else:
            assert side is not None


def test_an_outline_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(steady(1, 3000))
    part = Part(0, 0, path.stat().st_size // 2)
    part_outline = make_outline(reader(path), part, ALL)
    assert part_outline is not None
    assert apply_outlines(reader(path), [(part, part_outline)])
    for wrong in (part_outline[:-1], part_outline + b"\0", b"\x02" + part_outline[1:], b""):
        assert not apply_outlines(reader(path), [(part, wrong)])
    rng = random.Random(1)
    for _ in range(300):  # no byte of it is believed
        changed = bytearray(part_outline)
        changed[rng.randrange(len(part_outline))] = rng.randrange(256)
        apply_outlines(reader(path), [(part, bytes(changed))])


def test_ports_that_were_detected_otherwise(tmp_path: Path) -> None:
    """What an outline left out for its port is read by now, or the other way round."""
    header, beats = (0, v0_9_1.PROTOCOL_HEADER), [(side, BEAT) for side in (0, 1)] * 20
    talk = make.packets([header, *beats], 5673)
    unknown = [packet.replace(b"AMQP", b"AMQB") for packet in talk]
    paths = {}
    for name, packets in {"read": talk, "skipped": unknown}.items():
        paths[name] = tmp_path / f"{name}.pcap"
        paths[name].write_bytes(make.pcap(packets))
    length = paths["read"].stat().st_size
    part = Part(0, length // 2, length)
    for made_of in paths:
        part_outline = make_outline(reader(paths[made_of]), part, ALL)
        assert part_outline is not None
        for followed_in in paths:
            follower = reader(paths[followed_in])
            list(follower.read(part.start))
            applied = apply_outlines(follower, [(part, part_outline)])
            assert applied == (made_of == followed_in)


def test_a_leap_that_ends_elsewhere_than_it_began(tmp_path: Path) -> None:
    """Of an outline that somebody made up: one that goes over bytes is refused."""
    path = tmp_path / "x.pcap"
    path.write_bytes(steady(7, 3000, connections=1))
    part = Part(0, path.stat().st_size // 2, path.stat().st_size - 100)
    part_outline = make_outline(reader(path), part, ALL)
    assert part_outline is not None
    server = number(make.SERVER[1])
    # The number of bytes at which a leap begins stands at its end, too: the last one is the end.
    last_places = set()
    for sequence in {segment.sequence for segment in mangle.parts(path)}:
        place = part_outline.rfind(number(sequence))
        if part_outline[place - 3 : place - 1] == server:  # which direction it is is a byte
            last_places.add(place)
    refusals = 0
    for place in last_places:
        changed = bytearray(part_outline)
        changed[place] ^= 2
        follower = reader(path)
        list(follower.read(part.start))
        refusals += not apply_outlines(follower, [(part, bytes(changed))])
    assert refusals
