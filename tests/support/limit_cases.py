"""For each limit of captures a recording that needs it, and the lowest number that is enough."""

from __future__ import annotations

import gzip
from itertools import count
from typing import Any, NamedTuple

import pytest

from amqpcodec import v0_9_1 as amqp
from amqpcodec.capture import _limits
from tests.capture.test_limits_unit import talk
from tests.capture.test_websocket_unit import CLIENT
from tests.support import event_talk, v1_talk
from tests.support import recording as make
from tests.support.web_socket import DEFLATE, Deflater, over_web

ACK = amqp.encode(1, amqp.Basic.Ack(delivery_tag=7))
MESSAGE = amqp.encode_message(
    1, amqp.Basic.Publish(routing_key="eu"), amqp.Basic.Properties(), bytes(5000), frame_max=4096
)
#: A frame that deflates to 80 bytes or so.
LARGE = amqp.encode(1, amqp.Body(bytes(1 << 16)))


class Case(NamedTuple):
    """A recording whose rows at this level have no error with one limit, and some with another."""

    octets: bytes
    enough: int
    too_few: int
    level: str = "frame"


def at(octets: bytes, enough: int, level: str = "frame") -> Case:
    """A limit of which one less is too few."""
    return Case(octets, enough, enough - 1, level)


def _segments() -> bytes:
    """The first of five comes last."""
    first, *later_segments = (make.client(1001 + i * len(ACK), ACK) for i in range(5))
    return make.pcap([*make.opening(), *later_segments, first])


def _fragments() -> bytes:
    """Of two packets the first halves, then the others."""
    ends = make.CLIENT, make.SERVER
    segments = [make.tcp(*ends, 1001 + i * len(MESSAGE), MESSAGE) for i in range(2)]
    split_at = len(segments[0]) // 16 * 8
    first_halves = [
        make.ipv4(*ends, segment[:split_at], number=i, fragment=0x2000)
        for i, segment in enumerate(segments)
    ]
    second_halves = [
        make.ipv4(*ends, segment[split_at:], number=i, fragment=split_at // 8)
        for i, segment in enumerate(segments)
    ]
    return make.pcap(map(make.ethernet, [*first_halves, *second_halves]))


def _deliveries() -> bytes:
    """Three of 1.0 begin, then they end."""
    stream = v1_talk.AMQP + v1_talk.opening()
    stream += b"".join(v1_talk.transfer(b"", k, handle=k, more=True) for k in range(3))
    stream += b"".join(v1_talk.transfer(v1_talk.message("x"), None, handle=k) for k in range(3))
    return make.pcap([*make.opening(), make.client(1001, stream)])


def _settled() -> bytes:
    """Three deliveries, which one ack settles."""
    said = [*event_talk.login(), *event_talk.open_channel(), *event_talk.consume("jobs")]
    said += [event_talk.deliver(number) for number in (1, 2, 3)]
    ack = event_talk.client(amqp.Basic.Ack(delivery_tag=3, multiple=True))
    return make.pcap(make.packets([*said, ack, *event_talk.close()]))


def verdict(level: str) -> str:
    """The column that says whether a row is good."""
    return "certainty" if level == "event" else "error"


def is_good(row: dict[str, Any]) -> bool:
    """Whether nothing is wrong with a row; an event is one that is known."""
    return row["certainty"] == "exact" if "certainty" in row else row["error"] is None


#: Large frames in compressed messages, and how many bytes each of these has.
WEB = [amqp.PROTOCOL_HEADER, *[LARGE] * 19]
PACKED = [len(packed) for packed in map(Deflater(True), WEB)]


def _web() -> bytes:
    return make.pcap(make.packets(over_web([(CLIENT, chunk) for chunk in WEB], DEFLATE % b"")))


def _web_ratio() -> int:
    """The lowest at which no message fills what may be unpacked: 1 MiB and a multiple."""
    for ratio in count(1):
        room = 1 << 20
        for packed, plain in zip(PACKED, WEB, strict=True):
            room += ratio * (packed + 4) - len(plain)  # 4 bytes end each message
            if room <= 0:
                break
        else:
            return ratio
    raise AssertionError


#: Four segments wait, of which each counts 64 bytes more than it has.
WAITING = 4 * (len(ACK) + 64)
TALK = make.pcap(talk(4))

CASES = {
    "reorder_bytes": at(_segments(), WAITING),
    "reorder_segments": at(_segments(), 4),
    "open_connections": at(TALK, 4),
    "record_bytes": at(make.pcap([*make.opening(), make.client(1001, ACK)]), 54 + len(ACK)),
    "frame_bytes": at(make.pcap([*make.opening(), make.client(1001, MESSAGE)]), 4096),
    "message_bytes": at(
        make.pcap([*make.opening(), make.client(1001, MESSAGE)]), len(MESSAGE), "message"
    ),
    "open_deliveries": at(_deliveries(), 3, "message"),
    "max_tracked": at(_settled(), 3, "event"),
    "fragment_bytes": Case(
        _fragments(), 1 << 23, 1 << 12
    ),  # the memory that packets take is rounded up
    "websocket_bytes": at(_web(), max(PACKED)),
    "websocket_ratio": at(_web(), _web_ratio()),
    "max_decompressed_bytes": at(gzip.compress(TALK), len(TALK)),
    # Of nothing but a multiple: tests set what a file may become beside it to 0.
    "max_compression_ratio": at(gzip.compress(TALK), -(-len(TALK) // len(gzip.compress(TALK)))),
}
EACH = pytest.mark.parametrize("name", CASES)


@pytest.fixture(autouse=True)
def only_a_multiple(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a compressed file becomes is a multiple of its bytes, and nothing more."""
    monkeypatch.setattr(_limits, "UNPACKED_START", 0)
