"""Values, frames, streams and messages of AMQP 1.0."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from typing import Any

from amqpcodec import DecodeError
from amqpcodec import v1_0 as amqp
from tests.fuzz import v1_mutators
from tests.fuzz.target import Choices, Target, chunks
from tests.support import borders, v1_gen
from tests.support.guard_page import Guarded
from tests.support.promises import outcome

HEAD = 4
GUARDED = Guarded(4096)
SECTIONS = (
    "header", "delivery_annotations", "message_annotations", "properties",
    "application_properties", "data", "sequences", "value", "footer",
)  # fmt: skip


def check_error(error: DecodeError, start: int, stop: int) -> None:
    """It says where, and which condition a peer has to be told."""
    assert start <= error.offset <= stop, error.offset
    assert f"(offset {error.offset})" in str(error)


def quick_values(data: bytes) -> None:
    """Both forms read it or refuse it at the same byte; what is written is read as the same."""
    raw: Any = GUARDED(data[1:]) if len(data) & 1 else data[1:]
    try:
        value, consumed = amqp.decode_value(raw, types="typed")
    except DecodeError as error:
        assert 0 <= error.offset <= len(raw), error.offset
        try:
            amqp.decode_value(raw)
        except DecodeError as second:
            assert second.offset == error.offset
            assert type(second) is type(error)
            return
        raise AssertionError("plain values read it") from error
    assert 0 < consumed <= len(raw)
    assert amqp.decode_value(raw)[1] == consumed
    written = amqp.encode_value(value)
    again, size = amqp.decode_value(written, types="typed")
    assert size == len(written)
    assert amqp.encode_value(again) == written


def values(data: bytes) -> None:
    """What is read is written so that it is read as the same; plain and typed refuse the same."""
    choices = Choices(data, 1)
    types = choices.pick(("typed", "plain"))
    raw = choices.rest
    try:
        value, consumed = amqp.decode_value(raw, types=types)
    except DecodeError as error:
        check_error(error, 0, len(raw))
        other = "plain" if types == "typed" else "typed"
        try:
            amqp.decode_value(raw, types=other)
        except DecodeError as second:
            assert repr(second) == repr(error)
            return
        raise AssertionError(f"{other} values read it") from error
    assert 0 < consumed <= len(raw)
    shown = repr(value)
    if types == "typed":
        written = amqp.encode_value(value)
        again, size = amqp.decode_value(written, types=types)
        assert size == len(written)
        assert repr(again) == shown
        assert amqp.encode_value(again) == written


def frames(data: bytes) -> None:
    """Frame by frame: the very bytes back, also after reading."""
    choices = Choices(data, HEAD)
    options: dict[str, Any] = {"types": choices.pick(("plain", "typed"))}
    data, offset = choices.rest, 0
    while True:
        try:
            result = amqp.decode(data, offset, **options)
        except DecodeError as error:
            check_error(error, offset, len(data))
            return
        if result is None:
            return
        consumed, channel, frame = result
        raw = data[offset : offset + consumed]
        assert amqp.encode(channel, frame) == raw
        repr(frame)
        assert (frame == amqp.decode(raw, **options)[2]) in (True, False)
        assert amqp.encode(channel, frame) == raw
        offset += consumed


def streams(data: bytes) -> None:
    """Any chunking gives what all at once gives, frame by frame and as messages."""
    choices = Choices(data, HEAD)
    decoder_type = choices.pick((amqp.Decoder, amqp.MessageDecoder, amqp.MessageDecoder))
    options: dict[str, Any] = {"errors": choices.pick(("strict", "frame"))}
    if decoder_type is amqp.MessageDecoder:
        options["max_message_size"] = choices.pick((None, 60))
    rng = choices.rng()
    expected = outcome(decoder_type(**options), [choices.rest], repr)
    assert expected == outcome(decoder_type(**options), chunks(choices.rest, rng), repr), options


def messages(data: bytes) -> None:
    """A message refuses at once what it would refuse at some section; its bytes come back."""
    try:
        message = amqp.Message.decode(data)
    except DecodeError as error:
        check_error(error, 0, len(data))
        return
    assert message.encode() == data
    assert bytes(message.bare) in data
    wrong = None
    for name in SECTIONS:
        try:
            getattr(message, name)
        except DecodeError as error:
            check_error(error, 0, len(data))
            wrong = error
    try:
        amqp.Message.decode(data, eager=True)
    except DecodeError as error:
        assert wrong is not None, error
    else:
        assert wrong is None, wrong
    for section in () if wrong else (message.header, message.properties):
        assert section is None or amqp.encode_value(section) in data
    repr(message)
    str(message)
    assert message.encode() == data
    again = amqp.Message.decode(data)
    assert (message == again) in (True, False)


def value_seeds() -> Iterator[bytes]:
    """Values of every type, alone and nested."""
    uuid = amqp.decode_value(b"\x98" + bytes(range(16)))[0]
    some = [
        *(None, True, False, 1 << 40, 1.5, b"abc", b"x" * 300, "text", "é" * 200, uuid),
        *(amqp.UByte(3), amqp.UShort(300), amqp.UInt(0), amqp.UInt(70), amqp.ULong(0)),
        *(amqp.ULong(1 << 40), amqp.Byte(-3), amqp.Short(-300), amqp.Int(-1), amqp.Float(0.5)),
        *(amqp.Decimal32.from_bits(bytes(4)), amqp.Decimal64.from_bits(bytes(8))),
        *(amqp.Decimal128.from_bits(bytes(16)), amqp.Char("é"), amqp.Timestamp(10**12)),
        *(amqp.Symbol("sym"), [1, "a", None], {"k": [1, {"n": b""}]}, amqp.Accepted()),
        *(amqp.Array("int", [1, 2, 3]), amqp.Array("symbol", [amqp.Symbol("a")])),
        *(amqp.Described(amqp.Symbol("x:y"), [1]), amqp.Source(address="q", capabilities=["a"])),
    ]
    for value in [*some, some[:20]]:
        written = amqp.encode_value(value)
        yield b"\0" + written
        yield b"\1" + written


def message_bytes() -> list[bytes]:
    """Messages with each kind of body."""
    messages = [
        amqp.Message(
            "text", to="queue", subject="s", durable=True, application_properties={"a": 1}
        ),
        amqp.Message(b"binary" * 10, message_id=5, correlation_id="x", content_type="text/plain"),
        amqp.Message(value={"k": [1, 2.5, None]}),
        amqp.Message(sequences=[[1, 2], ["a"]]),
    ]
    messages[1].header = amqp.Header(durable=True, priority=3, ttl=1000)
    messages[1].message_annotations = {amqp.Symbol("x-opt-a"): 1}
    messages[1].footer = {amqp.Symbol("f"): b"\0"}
    return [message.encode() for message in messages]


def stream_seeds() -> Iterator[bytes]:
    """Handshakes, links and deliveries of one and of several transfers."""
    opening = [
        bytes(amqp.SASL_HEADER) if isinstance(amqp.SASL_HEADER, bytes) else b"",
        amqp.encode(0, amqp.SaslInit(mechanism="PLAIN", initial_response=b"\0u\0p")),
        amqp.encode(0, amqp.Open(container_id="c", max_frame_size=512, channel_max=7)),
        amqp.encode(0, amqp.Begin(next_outgoing_id=0, incoming_window=9, outgoing_window=9)),
        amqp.encode(
            0,
            amqp.Attach(name="l", handle=0, role=False, source=amqp.Source(), target=amqp.Target()),
        ),
        amqp.encode(0, amqp.Flow(incoming_window=5, next_outgoing_id=0, outgoing_window=5)),
    ]
    source = random.Random(3)
    for number in range(24):
        parts = [part for part in opening if source.random() < 0.5]
        for which, body in enumerate(message_bytes()):
            cut_at = source.randrange(len(body)) if number % 3 == 0 else len(body)
            first = amqp.Transfer(
                handle=0,
                delivery_id=which,
                delivery_tag=b"t",
                message_format=0,
                more=cut_at < len(body),
            )
            parts.append(amqp.encode(0, first, body[:cut_at]))
            if cut_at < len(body):
                parts.append(amqp.encode(0, amqp.Transfer(handle=0), body[cut_at:]))
        parts.append(amqp.encode(0, amqp.Disposition(role=True, first=0, last=3, settled=True)))
        yield bytes([number & 1, number >> 1 & 1, 0, 0]) + b"".join(parts)


def at_border(data: bytes) -> None:
    """Items of a list are written as each alone, as far from a buffer's end as the input says."""
    choice, length, seed = borders.read_input(data)
    rng = random.Random(seed)
    items: list[Any] = ["f" * (256 + length)]  # so that sizes and counts take 4 bytes
    for _ in range(choice % 4):
        name = rng.choice(COMPOSITES)
        items.append(rng.choice((v1_gen.plain, v1_gen.annotations))(rng))
        items.append(v1_gen.composite(rng, name))
    encode = partial(amqp.encode_value, incomplete=True)  # of a mandatory list that is empty
    raw = b"".join(map(encode, items))
    expected = b"\xd0" + (4 + len(raw)).to_bytes(4) + len(items).to_bytes(4) + raw
    assert encode(items) == expected


#: Types with fields.
COMPOSITES = [
    name
    for name, spec in v1_gen.TYPES.items()
    if [e[0] for e in spec["fields"]] not in ([], ["value"])
]

TARGETS = (
    Target(
        "v1-values", values, value_seeds, v1_mutators.values(1), largest=2048, quick=quick_values
    ),
    Target("v1-frames", frames, stream_seeds, v1_mutators.streams(HEAD)),
    Target("v1-streams", streams, stream_seeds, v1_mutators.streams(HEAD)),
    Target("v1-messages", messages, message_bytes, v1_mutators.messages(0), largest=2048),
    Target(
        "v1-borders",
        at_border,
        lambda: borders.seeds(4),
        borders.near_border,
        largest=borders.LARGEST,
    ),
)
