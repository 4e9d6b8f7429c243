"""Captures whose addresses or names share buckets, where hashes have no key of the process."""

from __future__ import annotations

import struct

from amqpcodec import v0_9_1 as amqp
from tests.support import recording

#: Pairs of words that leave the same hash under FNV-1a, each after those before it.
SAME = [
    *(("oxmjcg", "tagpow"), ("qtqhbd", "ujcqix"), ("iyabcb", "pbjxuc"), ("aegjki", "ttnwmg")),
    *(("lqrkur", "wvkvdy"), ("ecqojv", "uiudti"), ("tfyhxt", "axrznl"), ("iwxvjh", "mmfgqt")),
    *(("awvyct", "dvvwha"), ("vvjdmd", "pcvjmq"), ("evhkql", "mhyqoa"), ("lucqvw", "fdoner")),
    *(("guxsee", "jxtuvp"), ("fdwwzt", "suppxf")),
]
FILE = 24  # bytes of a file before its first record
SOURCE = 16 + 14 + 8  # the source of an IPv6 packet in a record


def addresses(n: int) -> bytes:
    """Connections of a heartbeat each, whose addresses have the same sum of their halves."""
    client, server = ("2001:db8::1", 40000), ("2001:db8::2", 5672)
    segment = recording.tcp(client, server, 1001, amqp.encode(0, amqp.Heartbeat()))
    packet = recording.ethernet(recording.ipv6(client, server, segment))
    record = recording.pcap([packet])[FILE:]
    head, tail = record[:SOURCE], record[SOURCE + 16 :]
    ends = [struct.pack("<Q", i) + struct.pack(">Q", i) for i in range(n)]
    return recording.pcap([]) + b"".join([head + end + tail for end in ends])


def tags(n: int) -> bytes:
    """Consumers whose tags are of one hash: of each pair of words either would do."""
    packets = []
    for number in range(n):
        tag = "".join(SAME[at][number >> at & 1] for at in range(len(SAME)))
        packets.append((0, amqp.encode(1, amqp.Basic.Consume(queue="q", consumer_tag=tag))))
        packets.append((1, amqp.encode(1, amqp.Basic.ConsumeOk(consumer_tag=tag))))
    return recording.pcap(recording.packets([(0, amqp.PROTOCOL_HEADER), *packets]))
