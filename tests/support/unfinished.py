"""Recordings that end within a message, a frame and a packet's fragments."""

from __future__ import annotations

from amqpcodec import v0_9_1 as amqp
from tests.support import recording as make
from tests.support import v1_talk, wrap

BEAT = amqp.encode(0, amqp.Heartbeat())
PUBLISH = amqp.encode(1, amqp.Basic.Publish("e", "k"))
HEADER = amqp.encode(1, amqp.Header(100))
TRANSFER = v1_talk.transfer(b"", 0, more=True)


def fragments() -> list[bytes]:
    """Packets of which some fragments are missing, and one whose fragments contradict."""
    out: list[bytes] = []
    for n, positions in enumerate([(0, 2), (1, 2), (0, 3)]):
        packet = make.ipv4(
            make.CLIENT, make.SERVER, make.tcp(make.CLIENT, make.SERVER, n, BEAT * 5)
        )
        pieces = list(wrap.fragments(packet, n, lambda: 2))
        out += [make.ethernet(pieces[at]) for at in positions]
    changed = bytearray(pieces[0])
    changed[-1] ^= 1
    return [*out, make.ethernet(bytes(changed))]


def open_message() -> bytes:
    """A file that ends within a message, of 0-9-1 and of 1.0, and within a frame."""
    body = amqp.encode(1, amqp.Body(b"b" * 10))
    client_bytes = amqp.PROTOCOL_HEADER + PUBLISH + HEADER + body * 3 + body[:5]
    deliveries = b"AMQP\0\1\0\0" + v1_talk.opening() + TRANSFER
    other = make.packets([(0, deliveries + deliveries[-20:-3])], client=40_001)
    return make.pcap(
        [*make.packets([(0, client_bytes)]), *other, make.client(9000, BEAT), *fragments()]
    )
