"""Headers below TCP, each cut, too short, or followed by what is none."""

from __future__ import annotations

import io
import struct

import pytest

from amqpcodec import capture, v0_9_1
from tests.support import recording as make
from tests.support import wrap
from tests.support.recording import CLIENT, CLIENT6, SERVER, SERVER6

HELLO = b"AMQP\0\0\x09\x01"
TCP = make.tcp(CLIENT, SERVER, 1001, HELLO)
TCP6 = make.tcp(CLIENT6, SERVER6, 1001, HELLO)
#: IPv4 of another transport, of four bytes.
FRAGMENT = make.ipv4(CLIENT, SERVER, bytes(16), fragment=0x2000, number=9)


def skipped(*packets: bytes | make.Record, link: int = 101) -> dict[str, int]:
    counters = capture.stats(io.BytesIO(make.pcap(packets, link=link)))
    assert sum(counters["skipped"].values()) + (counters["connections"] > 0) == len(packets)
    return counters["skipped"]


@pytest.mark.parametrize(("link", "size"), [(1, 14), (113, 16), (276, 20)])
def test_a_link_header_that_was_cut(link: int, size: int) -> None:
    for n in range(size):
        assert skipped(bytes(n), link=link) == {"headers cut": 1}
    head = {1: bytes(12) + b"\x08\0", 113: bytes(14) + b"\x08\0", 276: b"\x08\0" + bytes(18)}[link]
    assert skipped(head + make.ipv4(CLIENT, SERVER, TCP), link=link) == {}


def test_lengths_of_ipv4() -> None:
    packet = make.ipv4(CLIENT, SERVER, TCP)
    for first in range(0x40, 0x45):
        assert skipped(bytes([first]) + packet[1:]) == {"malformed": 1}
    assert skipped(make.ipv4(CLIENT, SERVER, TCP, total=19)) == {"malformed": 1}
    options = make.ipv4(CLIENT, SERVER, TCP, options=bytes(40))
    for n in range(20, 60):
        assert skipped(make.Record(options[:n], 0, len(options))) == {"headers cut": 1}
    assert skipped(options) == {}


def test_extensions_of_ipv6() -> None:
    def packet(*extensions: tuple[int, bytes], protocol: int = 6) -> bytes:
        return make.ipv6(CLIENT6, SERVER6, TCP6, extensions=extensions, protocol=protocol)

    options, authentication = (60, b"\1" + bytes(14)), (51, b"\4" + bytes(22))
    complete_packet = packet(options, authentication)
    assert skipped(complete_packet) == {}
    for n in range(40, 40 + 16 + 24):
        assert skipped(make.Record(complete_packet[:n], 0, len(complete_packet))) == {
            "headers cut": 1
        }
    for protocol in (58, 59, 132):
        assert skipped(packet(options, protocol=protocol)) == {"not TCP": 1}


def test_a_later_fragment_that_was_cut() -> None:
    first, second = wrap.fragments(make.ipv4(CLIENT, SERVER, TCP), 7, lambda: 2)
    assert skipped(make.Record(second[:-1], 0, len(second)), first) == {
        "headers cut": 1,
        "IP fragment": 1,
    }


def test_a_cut_fragment_of_fragments() -> None:
    """The first one is read by itself, for it never becomes whole; what is in it cannot."""
    outside = make.ipv4(*wrap.OUTER, FRAGMENT + bytes(8), fragment=0x2000, protocol=wrap.IP_IPV4)
    assert skipped(make.Record(outside[:-8], 0, len(outside))) == {"malformed": 1}


def test_fragments_within_as_many_tunnels_as_may_be() -> None:
    for depth in (7, 8):
        packets = wrap.fragments(make.ipv4(CLIENT, SERVER, TCP), 7, lambda: 2)
        for _ in range(depth):
            packets = [make.ipv4(*wrap.OUTER, packet, protocol=wrap.IP_IPV4) for packet in packets]
        counters = capture.stats(io.BytesIO(make.pcap(packets, link=101)))
        assert counters["ip_reassembled"] == 1
        assert counters["skipped"] == ({} if depth < 8 else {"tunnels within each other": 1})


def test_a_datagram_of_another_port() -> None:
    datagram = struct.pack(">HHHH", 1, 53, 12, 0) + b"abcd"
    assert skipped(make.ipv4(CLIENT, SERVER, datagram, protocol=wrap.IP_UDP)) == {"not TCP": 1}


def test_rows_of_fragments_at_the_end_fill_batches() -> None:
    """Of two packets only a part came, each with two frames in it."""
    beat = v0_9_1.encode(0, v0_9_1.Heartbeat())
    packets = [
        make.ipv4(CLIENT, SERVER, segment[:40], fragment=0x2000, number=number)
        for number, segment in enumerate(
            [make.tcp(CLIENT, SERVER, 1001, beat * 5), make.tcp(SERVER, CLIENT, 5001, beat * 5)]
        )
    ]
    octets = make.pcap([*make.opening(), *map(make.ethernet, packets)])
    batches = list(capture.read(io.BytesIO(octets), batch_rows=1, order="none"))
    assert [len(batch) for batch in batches] == [1] * 6
