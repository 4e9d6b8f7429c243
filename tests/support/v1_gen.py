"""Random composites, frames and messages of AMQP 1.0, by the protocol's own table."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from amqpcodec import v1_0 as amqp
from tests.v1.proton_tree import SCALARS, scalar, to_ours

TYPES = {spec["name"]: spec for spec in amqp.PROTOCOL.table["types"]}
PERFORMATIVES = [name for name, spec in TYPES.items() if "frame" in spec["provides"]]
MANDATORY, MULTIPLE = 1, 2  # flags of a field
BOOLEAN, UINT, ULONG, TIMESTAMP, BINARY, STRING, SYMBOL, MAP, ANY = 1, 4, 5, 16, 18, 19, 20, 22, 24
BITS = {2: 8, 3: 16, UINT: 32, ULONG: 64}
#: Types of annotations and properties; azure's other ones are a matter of `azure`, value by value.
PLAIN = sorted({*SCALARS} - {"char", "decimal32", "decimal64", "decimal128"})


def symbol(rng: Random) -> amqp.Symbol:
    return amqp.Symbol("".join(rng.choices("abcxyz:-.0", k=rng.randrange(1, 12))))


def plain(rng: Random) -> Any:
    return to_ours(scalar(rng, rng.choice(PLAIN)))


def annotations(rng: Random) -> dict[Any, Any]:
    return {symbol(rng): plain(rng) for _ in range(rng.randrange(4))}


def value(rng: Random, entry: tuple[Any, ...]) -> Any:
    """Any of a field's declared type."""
    name, wire_type, flags, _, choices, requires, *_ = entry
    if name == "expiry_policy":
        return amqp.Symbol(rng.choice(["link-detach", "session-end", "never"]))
    if choices == "Error":
        return composite(rng, "error")
    if choices is not None:
        return rng.choice(list(getattr(amqp, choices)))
    if flags & MULTIPLE:
        return [symbol(rng) for _ in range(rng.randrange(4))]
    if wire_type == ANY:
        return special(rng, requires)
    if wire_type in BITS:
        return rng.choice([0, 1, 255, 2 ** BITS[wire_type] - 1, rng.getrandbits(BITS[wire_type])])
    makers: dict[int, Callable[[], Any]] = {
        BOOLEAN: lambda: rng.random() < 0.5,
        TIMESTAMP: lambda: amqp.Timestamp(rng.randrange(2**41)),
        BINARY: lambda: rng.randbytes(rng.choice([0, 1, 32])),
        STRING: lambda: "".join(rng.choices("abcé€ 09_-", k=rng.choice([0, 5, 300]))),
        SYMBOL: lambda: symbol(rng),
        MAP: lambda: annotations(rng),
    }
    return makers[wire_type]()


def special(rng: Random, requires: tuple[str, ...]) -> Any:
    """What may be of several types: an id, an address, or any type that provides what is asked."""
    if "message-id" in requires:
        kind = rng.choice(["string", "binary", "uuid", "ulong"])
        return to_ours(scalar(rng, kind))
    if "address" in requires:
        return "".join(rng.choices("abc/", k=9))
    names = [
        name
        for name, spec in TYPES.items()
        if set(requires) & set(spec["provides"]) and spec["code"] < 0x30
    ]
    return composite(rng, rng.choice(names)) if names else symbol(rng)


def composite(rng: Random, name: str) -> Any:
    fields = {
        entry[0]: value(rng, entry)
        for entry in TYPES[name]["fields"]
        if entry[2] & MANDATORY or rng.random() < 0.5
    }
    return getattr(amqp, TYPES[name]["python"])(**fields)


def frame(rng: Random) -> bytes:
    """A performative; a transfer has a payload, as most have."""
    performative = composite(rng, rng.choice(PERFORMATIVES))
    payload = rng.randbytes(rng.randrange(40)) if isinstance(performative, amqp.Transfer) else b""
    return amqp.encode(rng.choice([0, 1, 65535]), performative, payload)


def message(rng: Random) -> bytes:
    """All sections, each in every second message, and one of the three kinds of body."""
    sections: dict[str, Any] = {
        "header": composite(rng, "header"),
        "delivery_annotations": annotations(rng),
        "message_annotations": annotations(rng),
        "properties": composite(rng, "properties"),
        "application_properties": {str(key): plain(rng) for key in annotations(rng)},
        "footer": annotations(rng),
    }
    bodies: list[dict[str, Any]] = [
        {"data": [rng.randbytes(rng.randrange(300)) for _ in range(rng.randrange(1, 3))]},
        {"sequences": [[plain(rng) for _ in range(rng.randrange(4))] for _ in range(2)]},
        {"value": rng.choice([plain(rng), [plain(rng)], {"k": plain(rng)}])},
    ]
    selected_sections = {name: section for name, section in sections.items() if rng.random() < 0.5}
    return amqp.Message(**selected_sections, **rng.choice(bodies)).encode()
