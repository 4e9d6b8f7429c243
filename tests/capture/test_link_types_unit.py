"""Link layers: those that are read, and packets of others, which are counted by their types."""

from __future__ import annotations

import io
import random
import re
import struct
import warnings
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import capture, v0_9_1
from tests.capture.rows import rows, streams
from tests.fuzz.packets import LINKS
from tests.paths import REPO
from tests.support import mangle, wrap
from tests.support import recording as make
from tests.support.recording import CLIENT, CLIENT6, SERVER, SERVER6

HELLO = b"AMQP\0\0\x09\x01"
HEARTBEAT = v0_9_1.encode(0, v0_9_1.Heartbeat())
V4 = make.ipv4(CLIENT, SERVER, make.tcp(CLIENT, SERVER, 1001, HELLO))
V6 = make.ipv6(CLIENT6, SERVER6, make.tcp(CLIENT6, SERVER6, 1001, HELLO))


def stats(*packets: bytes | make.Record, link: int) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", capture.CaptureWarning)
        return capture.stats(io.BytesIO(make.pcap(packets, link=link)))


@pytest.mark.parametrize("name", wrap.LINKS)
def test_a_recording_gives_the_same_frames(name: str, parts: Any, expected_streams: Any) -> None:
    link, wrapped = wrap.LINKS[name]
    packets = mangle.records(list(mangle.split(parts, 1400)), wrapped)
    assert streams(make.pcap(packets, link)) == expected_streams


def test_interfaces_of_all_link_types_in_one_file(parts: Any, expected_streams: Any) -> None:
    rng = random.Random(5)
    kinds = list(wrap.LINKS.values())
    blocks = [make.section(), *(make.interface("<", link) for link, _ in kinds)]
    for part in mangle.split(parts, 1400):  # what 802.3 can hold
        index = rng.randrange(len(kinds))
        blocks.append(make.enhanced("<", index, part.time_ns // 1000, kinds[index][1](part.raw())))
    assert streams(b"".join(blocks)) == expected_streams


@pytest.mark.parametrize("name", wrap.LINKS)
@pytest.mark.parametrize("packet", [V4, V6], ids=["ipv4", "ipv6"])
def test_ends_are_those_inside(name: str, packet: bytes) -> None:
    link, wrapped = wrap.LINKS[name]
    (row,) = rows(make.pcap([wrapped(packet)], link))
    assert row["src"] == ("10.0.0.1:40000" if packet == V4 else "[fd00::1]:40000")
    assert row["frame"] == HELLO


def test_ip_by_its_own_access_point() -> None:
    (row,) = rows(make.pcap([wrap.llc_ip(V4)]))
    assert row["frame"] == HELLO


@pytest.mark.parametrize("protocol", [b"\x02\x81", b"\x02\x83"], ids=["unicast", "multicast"])
def test_labels_in_ppp(protocol: bytes) -> None:
    labels = struct.pack(">II", 16 << 12 | 64, 17 << 12 | 1 << 8 | 64)
    (row,) = rows(make.pcap([protocol + labels + V4], 9))
    assert row["frame"] == HELLO


@pytest.mark.parametrize("name", wrap.LINKS)
def test_a_packet_that_was_cut_in_its_headers(name: str) -> None:
    link, wrapped = wrap.LINKS[name]
    packet = wrapped(V4)
    for size in range(len(packet) - len(HELLO) - 20):
        counted = stats(make.Record(packet[:size], 0, len(packet)), link=link)
        assert counted["skipped"] == {"headers cut": 1}, size
        assert counted["connections"] == 0
        assert counted["unread_link_types"] == {}


@pytest.mark.parametrize("name", wrap.LINKS)
def test_a_cut_payload_is_a_gap(name: str) -> None:
    link, wrapped = wrap.LINKS[name]
    first = make.ipv4(CLIENT, SERVER, make.tcp(CLIENT, SERVER, 1001, HELLO + HEARTBEAT * 4))
    second = make.ipv4(CLIENT, SERVER, make.tcp(CLIENT, SERVER, 1041, HEARTBEAT * 3))
    packet = wrapped(first)
    at = packet.index(HELLO) + len(HELLO)
    frame_rows = rows(
        make.pcap([make.Record(packet[:at], make.START_NS, len(packet)), wrapped(second)], link)
    )
    assert [row["frame"] for row in frame_rows] == [HELLO, b"", *[HEARTBEAT] * 3]
    assert frame_rows[1]["error"] == "32 bytes were not captured"


@pytest.mark.parametrize(
    ("link", "packet"),
    [
        (9, b"\xff\x04\0\x21" + V4),  # another control byte
        (9, b"\xff\x03\0\x2d" + V4),  # compressed headers of Van Jacobson
        (9, b"\0\x3d" + V4),  # fragments of several links
        (9, b"\xc0\x21\1\1\0\4"),  # LCP
        (51, wrap.pppoe(V4, b"\x12\0")),  # another version
        (51, wrap.pppoe(V4, b"\x11\x09")),  # discovery
        (1, make.ethernet(V4)[:12] + b"\x88\x63" + wrap.pppoe(V4, b"\x11\x09")),
        (1, wrap.snap(V4, b"\xaa\xaa\x03\0\0\x0c")),  # types of an organization
        (1, wrap.snap(V4, b"\x42\x42\x03\0\0\0")),  # spanning tree
        (1, wrap.snap(V4, b"\xaa\xaa\x7f\0\0\0")),
        (1, wrap.snap(V4, kind=0)),
        (1, make.ethernet(V4)[:12] + b"\0\0" + V4),
        (104, b"\x0f\0\0\0" + V4),
        (239, wrap.nflog(V4, "<", 3)),  # ARP's family
        (239, b"\2\1" + wrap.nflog(V4)[2:]),  # another version
        (239, wrap.nflog(V4)[:12]),  # no packet among the attributes
        (239, b"\2\0\0\5" + b"\3\0\x09\0" + V4),  # an attribute shorter than its head
        (239, b"\2\0\0\5" + b"\0\0\0\0" * 9),
        (258, wrap.pktap(1, make.ethernet(V4), kind=0)),  # no packet follows
        (258, wrap.pktap(1, make.ethernet(V4), size=100)),
    ],
)
def test_what_is_nothing_of_the_kind(link: int, packet: bytes) -> None:
    counted = stats(packet, link=link)
    assert counted["skipped"] == {"not IP": 1}
    assert counted["connections"] == 0


def test_each_link_type_that_is_read_has_a_packet() -> None:
    """A line in LINKS of tests/support/wrap.py, or of the fuzzer: else no test reads it."""
    source = (REPO / "src/amqpcodec/_core/capture/link.pxi").read_text(encoding="utf-8")
    constants = re.findall(r"^    LINK_(?!TYPES)\w+ = (\d+)$", source, re.M)
    unread_names = re.findall(r"\b(\d+): \"", source)
    types = {link for link in range(320) if not stats(bytes(60), link=link)["unread_link_types"]}
    assert types - {link for link, _ in LINKS} == set()
    assert {int(number) for number in constants} - types == set(), "open_link has no branch"
    assert {int(number) for number in unread_names} & types == set(), "still in LINK_NAMES"


@pytest.mark.parametrize(
    ("link", "name"),
    [
        (127, "IEEE802_11_RADIOTAP (127)"),
        (149, "USER2 (149)"),
        (300, "300"),
        (60_000, "319 or above"),
    ],
)
def test_others_are_counted_by_their_type(link: int, name: str) -> None:
    counted = stats(V4, V4, link=link)
    assert counted["skipped"] == {"link type": 2}
    assert counted["unread_link_types"] == {name: 2}
    inside = stats(wrap.pktap(link, V4), link=258)
    assert inside["unread_link_types"] == {name: 1}
    assert stats(wrap.pktap(258, wrap.pktap(12, V4)), link=258)["unread_link_types"] == {"258": 1}


def mixed() -> bytes:
    """A connection of which all is there, and packets of a link type that is not read."""
    blocks = [make.section(), make.interface("<", 1), make.interface("<", 127)]
    for number, packet in enumerate(make.packets([(0, HELLO), (0, HEARTBEAT)])):
        blocks.append(make.enhanced("<", 0, number * 1000, packet))
        blocks.append(make.enhanced("<", 1, number * 1000 + 1, bytes(60)))
    return b"".join(blocks)


TEXT = r"4 packets were skipped: their link types are not read \(IEEE802_11_RADIOTAP \(127\): 4\)"


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("level", ["frame", "message"])
def test_a_warning_says_what_was_left_out(tmp_path: Path, level: str, workers: int) -> None:
    path = tmp_path / "mixed.pcapng"
    path.write_bytes(mixed())
    with pytest.warns(capture.CaptureWarning, match=rf"mixed\.pcapng: {TEXT}"):
        for _ in capture.read(path, level=level, workers=workers):
            pass
    with pytest.warns(capture.CaptureWarning, match=TEXT.replace("4", "8")):
        assert capture.stats([path, path], files="separate")["unread_link_types"] == {
            "IEEE802_11_RADIOTAP (127)": 8
        }


def test_a_state_counts_on_and_is_not_warned_of_twice(tmp_path: Path) -> None:
    path = tmp_path / "mixed.pcapng"
    path.write_bytes(mixed())
    first = capture.Reader(path)
    with pytest.warns(capture.CaptureWarning, match=TEXT):
        list(first.read(end=False))
    empty = io.BytesIO(make.pcap([]))
    second = capture.Reader(empty)
    second.resume(first.state())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(second)
    assert second.stats()["unread_link_types"] == {"IEEE802_11_RADIOTAP (127)": 4}


def test_a_state_of_the_layout_before_is_refused() -> None:
    state = bytearray(capture.Reader(io.BytesIO(make.pcap([]))).state())
    state[7] = 9
    with pytest.raises(capture.StateError, match="version 9; this reader takes 10"):
        capture.Reader(io.BytesIO(make.pcap([]))).resume(bytes(state))


def test_nothing_on_the_ports(tmp_path: Path) -> None:
    path = tmp_path / "other.pcap"
    path.write_bytes(make.pcap(make.packets([(0, b"hello")], port=5673)))
    text = r"other\.pcap: no frame of AMQP on port 5672, .* \(3 packets: other ports\); ports="
    with pytest.warns(capture.CaptureWarning, match=text):
        assert sum(map(len, capture.read(path))) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(capture.Reader(path).read(end=False))
    with pytest.warns(capture.CaptureWarning, match="no frame of AMQP: no packet was recorded"):
        assert sum(map(len, capture.read(io.BytesIO(make.pcap([]))))) == 0


def test_a_long_run_of_attributes() -> None:
    attributes = struct.pack("<HH", 4, 200) * 16_000
    assert stats(b"\2\0\0\5" + attributes, link=239)["skipped"] == {"not IP": 1}
    (row,) = rows(make.pcap([b"\2\0\0\5" + attributes + wrap.nflog(V4)[4:]], 239))
    assert row["frame"] == HELLO
