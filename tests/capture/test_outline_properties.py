"""A reader that follows outlines holds, to the byte, what one holds that reads all."""

from __future__ import annotations

import os
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import capture, v0_9_1
from amqpcodec.capture._outline import Part, follow, outline, parts
from tests.capture import recording as make
from tests.capture import variants
from tests.capture.mangle import unpacked
from tests.capture.steady import TROUBLE, steady
from tests.capture.v1_talk import RECORDINGS
from tests.paths import REPO, shared_dir

FOLDER = REPO / "tests" / "capture" / "recordings"
ALL = 1 << 40
ALL_CAPTURES = bool(os.environ.get("AMQPCODEC_ALL_CAPTURES"))


def reader(*paths: Path, level: str = "frame", **options: Any) -> capture.Reader:
    return capture.Reader(paths, level, ["error"], order="none", files="rotation", **options)


def followed(path: Path, level: str, step: int, **options: Any) -> list[float | None]:
    """For each part of a file: the size of its outline by its own; None: it has to be read."""
    found: list[float | None] = []
    whole, before = reader(path, level=level, **options), None
    for start, stop in pairwise(range(0, path.stat().st_size, step)):
        list(whole.read(stop))
        if whole.damaged:
            break
        after = whole.state()
        made = outline(reader(path, level=level, **options), Part(0, start, stop), ALL)
        there = reader(path, level=level, **options)
        if before is not None:
            there.resume(before)
        if made is not None and follow(there, [(Part(0, start, stop), made)]):
            assert there.state() == after
            found.append(len(made) / step)
        else:
            found.append(None)
        before = after
    return found


@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize("trouble", TROUBLE)
@pytest.mark.parametrize("midstream", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_steady_traffic(
    tmp_path: Path, level: str, trouble: str, midstream: bool, seed: int
) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(steady(seed, 12_000, trouble=trouble, midstream=midstream))
    found = followed(path, level, path.stat().st_size // 9)
    if trouble == "none" and not midstream:
        assert None not in found


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
        found = followed(path, level, path.stat().st_size // share, **options)
        assert any(each is not None for each in found)


def test_a_steady_direction_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(steady(7, 30_000, connections=1))
    [made] = followed(path, "frame", path.stat().st_size - 1)
    assert made is not None
    assert made < 0.05


def test_ends_that_open_again(tmp_path: Path) -> None:
    """The connection before goes."""
    beat = v0_9_1.encode(0, v0_9_1.Heartbeat())
    said = [(side, beat * 5) for side in (0, 1)] * 40
    path = tmp_path / "x.pcap"
    path.write_bytes(make.pcap(make.packets([(0, v0_9_1.PROTOCOL_HEADER), *said]) * 4))
    found = followed(path, "frame", path.stat().st_size // 11)
    assert any(each is not None for each in found)


def test_parts_of_a_chain(tmp_path: Path) -> None:
    assert parts((0, 0), (0, 5)) == [Part(0, 0, 5)]
    assert parts((0, 5), (2, 7)) == [Part(0, 5, None), Part(1, 0, None), Part(2, 0, 7)]
    assert parts((0, 5), (1, 0)) == [Part(0, 5, None)]
    packets = make.pcap([]), steady(1, 9000)[24:]
    third = len(packets[1]) // 3
    whole = tmp_path / "whole.pcap"
    whole.write_bytes(packets[0] + packets[1])
    cut = capture.Reader(whole).first_record(third)
    assert cut is not None
    first, second = tmp_path / "a.pcap", tmp_path / "b.pcap"
    first.write_bytes(whole.read_bytes()[:cut])
    second.write_bytes(packets[0] + whole.read_bytes()[cut:])
    place = (1, second.stat().st_size // 2)
    read = reader(first, second)
    list(read.read(place))
    there = reader(first, second)
    made = [
        (part, outline(reader((first, second)[part.file]), part, ALL))
        for part in parts((0, 0), place)
    ]
    assert all(each is not None for _, each in made)
    assert follow(there, [(part, each) for part, each in made if each is not None])
    assert there.state() == read.state()


def refused(path: Path, part: Part, most: int = ALL) -> bool:
    return outline(reader(path), part, most) is None


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
    found = followed(path, "frame", path.stat().st_size // 2)
    assert any(each is not None for each in found)


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
    made = outline(reader(path), part, ALL)
    assert made is not None
    for side in (None, 0, 1):
        other.write_bytes(octets if side is None else shifted(octets, part.start, side))
        there, whole = reader(other), reader(other)
        for each in (there, whole):
            list(each.read(part.start))
        list(whole.read(part.stop))
        if follow(there, [(part, made)]):
            assert there.state() == whole.state()
        else:
            assert side is not None


def test_an_outline_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(steady(1, 3000))
    part = Part(0, 0, path.stat().st_size // 2)
    made = outline(reader(path), part, ALL)
    assert made is not None
    assert follow(reader(path), [(part, made)])
    for wrong in (made[:-1], made + b"\0", b"\x02" + made[1:], b""):
        assert not follow(reader(path), [(part, wrong)])
    rng = random.Random(1)
    for _ in range(300):  # no byte of it is believed
        changed = bytearray(made)
        changed[rng.randrange(len(made))] = rng.randrange(256)
        follow(reader(path), [(part, bytes(changed))])
