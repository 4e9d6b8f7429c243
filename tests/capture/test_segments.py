"""Link layers, VLAN tags, IPv4 and IPv6 down to the payload."""

from __future__ import annotations

import struct

import pytest

from amqpcodec import capture
from tests.capture import recording as made

DATA = b"AMQP\x00\x00\x09\x01"
TCP = made.tcp(made.CLIENT, made.SERVER, 1, DATA)
IPV4 = made.ipv4(made.CLIENT, made.SERVER, TCP)
IPV6 = made.ipv6(made.CLIENT6, made.SERVER6, TCP)


def sll(packet: bytes, vlan: bytes = b"") -> bytes:
    kind = b"\x08\x00" if packet[0] >> 4 == 4 else b"\x86\xdd"
    return struct.pack(">HHH8s", 0, 772, 6, bytes(8)) + (vlan or b"") + kind + packet


def sll2(packet: bytes) -> bytes:
    kind = 0x0800 if packet[0] >> 4 == 4 else 0x86DD
    return struct.pack(">HHIHBB8s", kind, 0, 1, 772, 0, 6, bytes(8)) + packet


def load(tmp_path, link: int, *packets) -> capture.Capture:
    path = tmp_path / "made.pcap"
    path.write_bytes(made.pcap(packets, link))
    return capture.load(path)


def payload(tmp_path, link: int, *packets) -> bytes:
    """What the client sent, all packets having been understood."""
    found = load(tmp_path, link, *packets)
    assert not found.skipped
    (stream,) = found.streams
    assert stream.direction == "client"
    return bytes(stream)


@pytest.mark.parametrize("packet", [IPV4, IPV6], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize(
    ("link", "wrap"),
    [
        (0, lambda p: struct.pack("<I", 2) + p),
        (0, lambda p: struct.pack(">I", 30) + p),
        (108, lambda p: struct.pack(">I", 2) + p),
        (1, made.ethernet),
        (1, lambda p: made.ethernet(p, 0x8100)),
        (1, lambda p: made.ethernet(p, 0x88A8, 0x8100)),
        (1, lambda p: made.ethernet(p, 0x9100, 0x8100, 0x8100)),
        (12, bytes),
        (101, bytes),
        (228, bytes),
        (229, bytes),
        (113, sll),
        (113, lambda p: sll(p, b"\x81\x00\x00\x07")),
        (276, sll2),
    ],
)
def test_link_types(tmp_path, packet, link, wrap):
    assert payload(tmp_path, link, wrap(packet)) == DATA


def test_ends_of_both_families(tmp_path):
    first, second = load(tmp_path, 101, IPV4, IPV6).streams
    assert first.connection == ("10.0.0.1:40000", "10.0.0.2:5672")
    assert second.connection == ("[fd00::1]:40000", "[fd00::2]:5672")


def test_the_ip_length_ends_the_payload(tmp_path):
    """Not padding, nor a frame check sequence."""
    assert payload(tmp_path, 1, made.ethernet(IPV4) + b"FCS!") == DATA
    assert payload(tmp_path, 1, made.ethernet(IPV6) + bytes(9)) == DATA
    empty = made.client(9, b"")
    assert payload(tmp_path, 1, made.ethernet(IPV4), empty + bytes(60 - len(empty))) == DATA


def test_a_zero_ip_length_means_segmentation_offload(tmp_path):
    packet = made.ipv4(made.CLIENT, made.SERVER, TCP, total=0)
    assert payload(tmp_path, 1, made.ethernet(packet)) == DATA
    packet = made.ipv6(made.CLIENT6, made.SERVER6, TCP, length=0)
    assert payload(tmp_path, 101, packet) == DATA


def test_header_options(tmp_path):
    tcp = made.tcp(made.CLIENT, made.SERVER, 1, DATA, options=bytes(12))
    packet = made.ipv4(made.CLIENT, made.SERVER, tcp, options=bytes(8))
    assert payload(tmp_path, 101, packet) == DATA


def test_ipv6_extension_headers(tmp_path):
    extensions = [
        (0, b"\x00" + bytes(6)),  # hop by hop, 8 octets
        (60, b"\x01" + bytes(14)),  # destination options, 16 octets
        (43, b"\x00" + bytes(6)),  # routing
        (51, b"\x04" + bytes(22)),  # authentication, counted in fours
        (44, bytes(7)),  # a fragment header on a whole packet
    ]
    packet = made.ipv6(made.CLIENT6, made.SERVER6, TCP, extensions=extensions)
    assert payload(tmp_path, 101, packet) == DATA


@pytest.mark.parametrize(
    ("link", "packet", "reason"),
    [
        (1, made.ethernet(made.ipv4(made.CLIENT, made.SERVER, TCP, fragment=0x2000)), "fragment"),
        (1, made.ethernet(made.ipv4(made.CLIENT, made.SERVER, TCP, fragment=1)), "fragment"),
        (
            101,
            made.ipv6(made.CLIENT6, made.SERVER6, TCP, extensions=[(44, bytes(2) + b"\x01****")]),
            "fragment",
        ),
        (
            101,
            made.ipv6(made.CLIENT6, made.SERVER6, TCP, extensions=[(44, b"\x00\x05\x98****")]),
            "fragment",
        ),
        (1, bytes(12) + b"\x08\x06" + bytes(28), "not IP"),
        (101, b"\x00" + bytes(40), "not IP"),
        (101, IPV4[:9] + b"\x11" + IPV4[10:], "not TCP"),
        (101, IPV6[:6] + b"\x3a" + IPV6[7:], "not TCP"),
        (1, b"\x00" * 13, "headers cut"),
        (1, made.ethernet(IPV4)[:45], "headers cut"),
        (101, b"", "headers cut"),
        (105, IPV4, "link type 105"),
        (101, IPV4[:32] + b"\x40" + IPV4[33:], "malformed"),
        (101, made.ipv4(made.CLIENT, made.SERVER, TCP, total=30), "malformed"),
        (101, made.ipv4(("10.0.0.1", 1), ("10.0.0.2", 2), made.tcp(*[("", 1)] * 2, 1)), "other"),
    ],
)
def test_what_is_left_out_is_counted(tmp_path, link, packet, reason):
    found = load(tmp_path, link, packet)
    assert not found.streams
    ((counted, number),) = found.skipped.items()
    assert reason in counted
    assert number == 1


def test_a_snap_length_is_a_gap(tmp_path):
    cut = made.Record(made.ethernet(IPV4)[:-3], wire_length=len(made.ethernet(IPV4)))
    (stream,) = load(tmp_path, 1, cut, made.client(9, b"after")).streams
    assert bytes(stream) == DATA[:5] + b"after"
    assert stream.gaps == [capture.Gap(5, 3)]
    # Also where nothing follows, and where a retransmission fills it.
    (stream,) = load(tmp_path, 1, cut).streams
    assert stream.gaps == [capture.Gap(5, 3)]
    (stream,) = load(tmp_path, 1, cut, made.ethernet(IPV4)).streams
    assert (bytes(stream), stream.gaps) == (DATA, [])
