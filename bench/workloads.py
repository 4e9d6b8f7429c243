"""The workloads, from a fixed seed: messages and methods with the bytes they are on the wire."""

import random
import string
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any, Literal

from bench import wire

SEED = 20091
W1_OCTETS = 371
HEADER_ONLY_SIZE = 100
CHUNK = 64 * 1024
START = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Event:
    """A method; with `body` a whole message; without `method` a content header alone."""

    channel: int
    method: str
    arguments: dict[str, Any]
    properties: dict[str, Any] | None = None
    body: bytes | None = None

    @property
    def body_size(self) -> int:
        """What the content header says; one that stands alone says HEADER_ONLY_SIZE."""
        return HEADER_ONLY_SIZE if self.body is None else len(self.body)

    def bodies(self, frame_max: int) -> list[bytes]:
        """The body in pieces of at most frame_max bytes, their envelope of 8 included."""
        body, step = self.body or b"", frame_max - 8
        return [body[at : at + step] for at in range(0, len(body), step)]


Shape = Literal["method", "header", "message"]


def _shape(event: Event) -> Shape:
    if not event.method:
        return "header"
    return "method" if event.body is None else "message"


class Workload:
    """Events, and their frames as bytes that no measured codec wrote."""

    def __init__(self, name: str, events: list[Event], frame_max: int = 131072) -> None:
        self.name, self.events, self.frame_max = name, events, frame_max
        self.shape: Shape = _shape(events[0])
        # frames of one event stay together: groups[i] are the frames of events[i]
        self.groups = [_frames_of(event, frame_max) for event in events]
        self.data = b"".join(frame for group in self.groups for frame in group)
        self.frames = sum(map(len, self.groups))
        # three frames a message allows a flat loop, without a nested one for the bodies
        self.triples = all(len(group) == 3 for group in self.groups)

    @property
    def offsets(self) -> list[list[int]]:
        """Where each frame starts in `data`, grouped as `groups`."""
        at = 0
        grouped: list[list[int]] = []
        for group in self.groups:
            grouped.append([])
            for frame in group:
                grouped[-1].append(at)
                at += len(frame)
        return grouped

    @property
    def chunks(self) -> list[bytes]:
        """`data` as a socket gives it: cut every 64 KiB, without regard to frames."""
        return [self.data[at : at + CHUNK] for at in range(0, len(self.data), CHUNK)]

    def expected_frames(self) -> list[tuple[Any, ...]]:
        """What a decoder of frames must find, in the form of `wire.read_frames`."""
        expected: list[tuple[Any, ...]] = []
        for event in self.events:
            if event.method:
                expected.append(("method", event.channel, event.method, event.arguments))
            if event.properties is not None:
                expected.append(("header", event.channel, event.body_size, event.properties))
            expected += [("body", event.channel, body) for body in event.bodies(self.frame_max)]
        return expected


def _frames_of(event: Event, frame_max: int) -> list[bytes]:
    frames = []
    if event.method:
        frames.append(wire.method_frame(event.channel, event.method, event.arguments))
    if event.properties is not None:
        frames.append(wire.header_frame(event.channel, event.body_size, event.properties))
    bodies = event.bodies(frame_max)
    return frames + [wire.frame(wire.FRAME_BODY, event.channel, body) for body in bodies]


# ---------------------------------------------------------------- what the messages hold


def _uuid(rng: random.Random) -> uuid.UUID:
    return uuid.UUID(int=rng.getrandbits(128), version=4)


def _deliver(rng: random.Random, number: int) -> dict[str, Any]:
    """One consumer on one queue: the tag and the exchange repeat, the keys come from 32."""
    return {
        "consumer_tag": "ctag1.5f3a9c0d7e2b48618a4d0c9b1e6f2a37",
        "delivery_tag": number + 1,
        "redelivered": number % 16 == 0,
        "exchange": "orders",
        "routing_key": f"eu.customer.{rng.randrange(32):04d}",
    }


def _properties(rng: random.Random, number: int) -> dict[str, Any]:
    """W1's properties: what is new in each message is message_id, trace id, timestamp."""
    return {
        "content_type": "application/json",
        "headers": {
            "x-trace-id": _uuid(rng).hex,
            "x-tenant": rng.choice(("acme-corp", "globex-eu", "initech-1")),
            "x-retry-count": rng.randrange(5),
        },
        "delivery_mode": 2,
        "message_id": str(_uuid(rng)),
        "timestamp": START + timedelta(seconds=7 * number),
    }


def _uneven(rng: random.Random, number: int) -> Event:
    """W1's message with every text and body of a length of its own, some of them not ASCII."""
    arguments = _deliver(rng, number)
    arguments["consumer_tag"] = f"ctag{number % 3}.{'5f3a9c0d7e2b'[: 4 * (number % 3)]}"
    arguments["exchange"] = rng.choice(("orders", "amq.topic", "billing.events", "audit"))
    arguments["routing_key"] = ".".join(_name(rng) for _ in range(rng.randrange(1, 4)))
    properties = _properties(rng, number)
    properties["content_type"] = rng.choice(("application/json", "text/plain", "image/png"))
    properties["headers"]["x-trace-id"] = _uuid(rng).hex[: rng.randrange(8, 33)]
    properties["headers"]["x-tenant"] = rng.choice((_name(rng), _name(rng), rng.choice(_WORDS)))
    properties["message_id"] = f"{rng.getrandbits(rng.randrange(8, 128)):x}"
    body = rng.randbytes(rng.randrange(1, 240))
    return Event(1, "basic.deliver", arguments, properties, body)


def _mixed_headers(rng: random.Random, number: int) -> dict[str, Any]:
    """W3's 20 entries: 6 ints, 5 strings, 3 bools, 2 doubles, a table, an array, and the rest."""
    return {
        "x-retry-count": rng.randrange(5),
        "x-priority-class": rng.randrange(100),
        "x-shard": rng.randrange(4096),
        "x-delay": -rng.randrange(100_000),
        "x-sequence": 2**40 + number,
        "x-stream-offset": 2**33 + rng.randrange(2**30),
        "x-trace-id": _uuid(rng).hex,
        "x-tenant": rng.choice(("acme-corp", "globex-eu", "initech-1")),
        "x-source": "checkout-service",
        "x-region": rng.choice(("eu-west-1", "eu-north-1", "us-east-2")),
        "x-comment": "order placed from the mobile application",
        "x-sampled": rng.random() < 0.5,
        "x-test": False,
        "x-first": number == 0,
        "x-score": rng.random() + 0.5,
        "x-ratio": 1 / rng.randrange(3, 99),
        "x-origin": {"host": "node-17", "pid": rng.randrange(2, 32768), "secure": True},
        "x-route": ["gateway", "billing", rng.randrange(1000), True],
        "x-created": START + timedelta(seconds=rng.randrange(10**7)),
        "x-amount": Decimal(rng.randrange(100, 10**6)).scaleb(-2),
    }


# mixed on purpose: one, two, three and four bytes of UTF-8 a character
_WORDS = ("заказ", "größe", "注文", "naïve", "ключ", "🛒корзина", "état", "данные", "東京", "ærø")


def _name(rng: random.Random) -> str:
    return "".join(rng.choices(string.ascii_lowercase + string.digits, k=rng.randrange(8, 20)))


def _text(rng: random.Random) -> str:
    return ".".join(rng.sample(_WORDS, 2)) + _name(rng)


def _hostile(rng: random.Random, number: int) -> Event:
    """Nothing repeats but the shape: no cache of strings can help, and half is not ASCII."""
    return Event(
        channel=rng.randrange(1, 2048),
        method="basic.deliver",
        arguments={
            "consumer_tag": f"amq.ctag-{_name(rng)}",
            "delivery_tag": rng.getrandbits(48),
            "redelivered": rng.random() < 0.5,
            "exchange": _name(rng),  # pamqp refuses to write what is not ASCII here
            "routing_key": _text(rng),
        },
        properties={
            "content_type": rng.choice(("text/plain", "application/json", _name(rng))),
            "headers": {
                _name(rng): _text(rng),
                _text(rng): _name(rng),
                _name(rng): rng.getrandbits(20),
                _text(rng): rng.getrandbits(50),
                _name(rng): rng.random() < 0.5,
            },
            "delivery_mode": rng.randrange(1, 3),
            "correlation_id": _text(rng),
            "reply_to": f"amq.gen-{_name(rng)}",
            "message_id": str(_uuid(rng)),
            "timestamp": START + timedelta(seconds=rng.randrange(10**8)),
            "type": _text(rng),
        },
        body=_text(rng).encode() * 3,
    )


# ---------------------------------------------------------------- the workloads


def _messages(
    count: int,
    body_octets: int,
    properties: Callable[[random.Random, int], dict[str, Any]],
) -> list[Event]:
    rng = random.Random(SEED)
    return [
        Event(
            channel=1,
            method="basic.deliver",
            arguments=_deliver(rng, number),
            properties=properties(rng, number),
            body=rng.randbytes(body_octets),
        )
        for number in range(count)
    ]


def _w1() -> Workload:
    workload = Workload("W1", _messages(512, 100, _properties))
    sizes = {(len(group), sum(map(len, group))) for group in workload.groups}
    if sizes != {(3, W1_OCTETS)}:
        raise AssertionError(f"W1 must be {W1_OCTETS} bytes in 3 frames, not {sizes}")
    return workload


def _w1_uneven() -> Workload:
    rng = random.Random(SEED)
    return Workload("W1 uneven", [_uneven(rng, number) for number in range(512)])


def _w3() -> Workload:
    """Content headers alone: it is the table that is measured."""
    rng = random.Random(SEED)
    return Workload(
        "W3", [Event(1, "", {}, {"headers": _mixed_headers(rng, n)}) for n in range(256)]
    )


def _w4() -> Workload:
    """basic.ack and basic.publish in turn, without content."""
    rng = random.Random(SEED)
    events = []
    for number in range(1024):
        ack = {"delivery_tag": number + 1, "multiple": number % 8 == 0}
        publish = {
            "exchange": "orders",
            "routing_key": f"eu.customer.{rng.randrange(32):04d}",
            "mandatory": number % 2 == 0,
            "immediate": False,
        }
        events.append(Event(1, "basic.ack", ack))
        events.append(Event(1, "basic.publish", publish))
    return Workload("W4", events)


def _cache_hostile() -> Workload:
    rng = random.Random(SEED)
    return Workload("hostile", [_hostile(rng, number) for number in range(2048)])


_MAKERS: dict[str, Callable[[], Workload]] = {
    "W1": _w1,
    "W1 uneven": _w1_uneven,
    "W2a": lambda: Workload("W2a", _messages(8, 65536, _properties), 131072),
    "W2b": lambda: Workload("W2b", _messages(8, 65536, _properties), 4096),
    "W3": _w3,
    "W4": _w4,
    "hostile": _cache_hostile,
}
NAMES = tuple(_MAKERS)


@cache
def get(name: str) -> Workload:
    """The workload of this name; made once."""
    return _MAKERS[name]()


BLOCK_REPEATS = 5  # W1's 512 messages five times are 0.9 MiB: a block as a reader would hand it on
BLOCKS = 72  # 65 MiB in all, so that the input comes from memory and not from a cache
REPEATS = BLOCK_REPEATS * BLOCKS
BATCH_REPEATS = 20  # 10,240 messages: a batch of columns as Spark hands it on (10,000)


@cache
def memory_blocks(name: str) -> list[memoryview]:
    """W1, even or not, over and over in 65 MiB of memory, as views of 0.9 MiB of whole frames."""
    step = len(get(name).data) * BLOCK_REPEATS
    view = memoryview(get(name).data * REPEATS)
    return [view[at : at + step] for at in range(0, len(view), step)]
