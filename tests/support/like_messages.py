"""Messages of 0-9-1 at random whose headers have the same names, but for a few."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.support import amqp091_gen as gen
from tests.support import amqp091_wire as w

SIZES = (0, 1, 9, 15, 16, 17, 31, 32, 33, 48, 120, 255)
NUMBERS = (0, 7, 9999, 10000, 2**31 - 1, 2**31, 2**32 - 1)
TEXTS = ("é", "ключ", "東京", 'a"b', "back\\slash", "\x00", "\x1f", "\x7f", "🛒" * 20)
NAMES = ("x-trace", "x-n", "", "k", "x-a-name-of-27-octets-in-al", "x-a-name-of-28-octets-in-all")


def text(rng: Random, odd: float = 0.05) -> str | bytes:
    if rng.random() < odd:
        return b"\xff" if rng.random() < 0.2 else rng.choice(TEXTS)
    return "x" * rng.choice(SIZES)


def value(rng: Random, tag: str) -> bytes:
    if tag == "S":
        plain = text(rng)
        return b"S" + w.longstr(plain if isinstance(plain, bytes) else plain.encode())
    if tag == "I":
        return b"I" + rng.choice(NUMBERS).to_bytes(4, "big")
    if tag == "t":
        return b"t" + rng.choice((b"\0", b"\1", b"\xff"))
    return gen.value(rng)


def messages(rng: Random, count: int, change: float = 0.0) -> bytes:
    """Messages with one method and the same names of headers, but for a few."""
    entries = [(name, rng.choice("SSIt")) for name in rng.sample(NAMES, rng.randrange(5))]
    property_names = [name for name, _ in w.PROPERTIES if rng.random() < 0.4]
    wires = dict(w.PROPERTIES)
    out = []
    for number in range(count):
        if rng.random() < change:
            entries = [(rng.choice((*NAMES, "$x", "é")), rng.choice("SIt?"))
                       for _ in range(rng.randrange(16))]  # fmt: skip
        if rng.random() < change / 4:
            property_names = [name for name in wires if rng.random() < 0.4]
        if rng.random() < change:
            out.append(gen.any_frame(rng))
        properties: dict[str, Any] = {}
        for name in property_names:
            if name == "headers":
                properties[name] = w.table(*((name, value(rng, tag)) for name, tag in entries))
            else:
                properties[name] = text(rng) if wires[name] == "s" else rng.getrandbits(
                    {"o": 8, "T": 44 if rng.random() < change else 40}[wires[name]])  # fmt: skip
        body = rng.randbytes(rng.choice((0, 1, 16, 100, 511, 512, 513, 5000)))
        out.append(w.method_frame(
            "basic.deliver", rng.randrange(1, 4), consumer_tag=text(rng, change / 9),
            delivery_tag=rng.getrandbits(rng.choice((4, 14, 27, 64))), redelivered=rng.randrange(2),
            exchange=text(rng, change / 9), routing_key=text(rng),
        ))  # fmt: skip
        size = rng.getrandbits(63) if number % 9 == 0 else len(body)
        out.append(w.header_frame(size, **properties))
        out += [w.body_frame(1, body)] * rng.choice((1, 1, 1, 2, 0))
    return b"".join(out)


def usual(number: int) -> list[bytes]:
    headers = w.table(("x-trace-id-of-a-call", b"S" + w.longstr(b"%032d" % number)),
                      ("x-n", b"I\0\0\0\1"), ("x-t", b"t\1"))  # fmt: skip
    return [
        w.method_frame(
            "basic.deliver",
            consumer_tag="ctag1.of-more-than-sixteen",
            delivery_tag=number,
            exchange="orders",
            routing_key="eu.customer",
        ),
        w.header_frame(
            9, content_type="text/plain", headers=headers, delivery_mode=2, timestamp=number
        ),
        w.body_frame(1, b"%09d" % number),
    ]
