"""AMQP 1.0 against qpid-proton: values and messages both ways, and damaged bytes.

Runs where python-qpid-proton is installed. AMQPCODEC_PROTON_CASES sets the number of cases.
"""

from __future__ import annotations

import os
from random import Random
from typing import Any

import pytest

from amqpcodec import DecodeError
from amqpcodec import v1_0 as amqp

proton = pytest.importorskip("proton")

from tests.support.damage import damage  # noqa: E402
from tests.v1.proton_tree import from_ours, get, put, same, to_ours, tree  # noqa: E402

CASES = int(os.environ.get("AMQPCODEC_PROTON_CASES", "2000"))


def proton_encode(node: Any) -> bytes:
    data = proton.Data()
    put(data, node)
    return data.encode()


def proton_decode(octets: bytes) -> tuple[Any, int]:
    data = proton.Data()
    consumed = data.decode(octets)
    data.rewind()
    assert data.next()
    return get(data), consumed


def test_values_both_ways() -> None:
    random = Random(1)
    for _ in range(CASES):
        node = tree(random)
        theirs = proton_encode(node)
        value, consumed = amqp.decode_value(theirs, types="typed")
        assert consumed == len(theirs)
        assert same(from_ours(value), node), theirs.hex()
        ours = amqp.encode_value(to_ours(node))
        assert len(ours) <= len(theirs)
        again, consumed = proton_decode(ours)
        assert consumed == len(ours)
        assert same(again, node), ours.hex()


#: Errors of ours where proton accepts: it takes text as it is, sizes that are too small, odd counts
#: of maps, and known types whatever they hold.
EXPLAINED = {
    *("TextError", "SizeError", "FieldError", "TruncatedError", "DepthError", "UnknownTagError"),
}


def test_damaged_values() -> None:
    """Whatever both accept is the same to both."""
    random = Random(2)
    both = ours_only = theirs_only = 0
    for _ in range(CASES):
        octets = damage(random, proton_encode(tree(random)))
        if not octets:
            continue
        try:
            value, consumed = amqp.decode_value(octets, types="typed")
            mine: Any = from_ours(value) if not holds_known_type(value) else None
            error = None
        except DecodeError as caught:
            error = caught
        try:
            theirs, size = proton_decode(octets)
        except Exception:  # DataException, UnicodeDecodeError, ValueError ...
            # proton refuses types without bytes in arrays, and constructors that nest.
            ours_only += error is None
            continue
        if error is not None:
            assert type(error).__name__ in EXPLAINED, (octets.hex(), error, theirs)
            theirs_only += 1
            continue
        both += 1
        if mine is None or nested_descriptors(value):
            continue
        assert (consumed, repr(mine)) == (size, repr(theirs)), octets.hex()
    assert both > CASES // 20
    assert theirs_only + ours_only < CASES


def holds_known_type(value: Any) -> bool:
    """A class of the protocol somewhere inside: its fields are no tree."""
    if isinstance(value, amqp.Composite):
        return True
    parts: list[Any] = []
    if isinstance(value, dict | amqp.Map):
        parts = [part for pair in value.items() for part in pair]
    elif isinstance(value, list | amqp.Array):
        parts = [*value, *getattr(value, "descriptors", ())]
    elif isinstance(value, amqp.Described):
        parts = [value.descriptor, value.value]
    return any(map(holds_known_type, parts))


def nested_descriptors(value: Any) -> bool:
    """Arrays inside, whose form in proton has one descriptor and scalars only."""
    return "Array(" in repr(value)


# ---- messages ----

FIELDS = {
    "to": "address",
    "subject": "subject",
    "reply_to": "reply_to",
    "correlation_id": "correlation_id",
    "message_id": "id",
    "group_id": "group_id",
    "group_sequence": "group_sequence",
    "content_type": "content_type",
    "ttl": None,
    "priority": "priority",
    "durable": "durable",
}


def some_message(random: Random) -> dict[str, Any]:
    def maybe(value: Any) -> Any:
        return value if random.random() < 0.6 else None

    return {
        "to": maybe("queue/é"),
        "subject": maybe("s" * random.choice([0, 5, 300])),
        "reply_to": maybe("back"),
        "correlation_id": maybe(random.choice([b"id", "text", 2**63])),
        "message_id": maybe(random.choice([5, "text", b"octets"])),
        "group_id": maybe("g"),
        "group_sequence": maybe(random.randrange(2**31)),
        "content_type": maybe("text/plain"),
        "priority": maybe(random.randrange(10)),
        "durable": maybe(True),
    }


BODIES: list[Any] = [b"", b"x" * 300, "text", "", {"k": 1}, [1, "a", None], True, 1.5]


def test_messages_to_proton() -> None:
    random = Random(3)
    for _ in range(CASES // 4):
        fields = {name: value for name, value in some_message(random).items() if value is not None}
        body = random.choice(BODIES)
        properties = {"a": 1, "b": "text", "c": None} if random.random() < 0.5 else None
        message = amqp.Message(body, application_properties=properties, **fields)
        theirs = proton.Message()
        theirs.decode(message.encode())
        for name, value in fields.items():
            got = getattr(theirs, FIELDS[name] or name)
            assert (bytes(got) if isinstance(value, bytes) else got) == value, name
        assert theirs.body == body
        assert theirs.properties == properties


def test_messages_from_proton() -> None:
    random = Random(4)
    for _ in range(CASES // 4):
        fields = {name: value for name, value in some_message(random).items() if value is not None}
        theirs = proton.Message(body=random.choice(BODIES))
        for name, value in fields.items():
            if name in ("message_id", "correlation_id") and isinstance(value, int):
                value = proton.ulong(value)
            setattr(theirs, FIELDS[name] or name, value)
        theirs.properties = {"a": 1, "b": "text"}
        octets = theirs.encode()
        message = amqp.Message.decode(octets, eager=True)
        assert message.encode() == octets
        for name, value in fields.items():
            owner = message.header if name in ("priority", "durable") else message.properties
            assert getattr(owner, name) == value, name
        assert message.body == theirs.body
        assert message.application_properties == {"a": 1, "b": "text"}
