"""Tables, frames and streams of 0-9-1, 0-9 and 0-8."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any

import amqpcodec
from amqpcodec import v0_8, v0_9, v0_9_1
from tests.fuzz import mutators
from tests.fuzz.target import Choices, Target, chunks
from tests.reference import decode_table, encode_frame, encode_table
from tests.reference.errors import Malformed
from tests.reference.plain import table_to_plain
from tests.support import amqp091_gen as gen
from tests.support import borders
from tests.support.bridge import V0_8, V0_9, V0_9_1, build, same
from tests.support.generate import Generate
from tests.support.guard_page import Guarded
from tests.support.promises import check_error, check_frames, outcome

VERSIONS: tuple[Any, ...] = (v0_9_1, v0_9_1, v0_9, v0_8)
DIALECTS = ("rabbitmq", "0-9-1")
FORMS = ("plain", "typed")
HEAD = 6
GUARDED = Guarded(8192)


def table_frame(data: bytes) -> tuple[bytes, str, str]:
    """A content header whose headers are the input; the dialect and the form of tables to read."""
    head = data[:2].ljust(2, b"\0")
    raw = len(data[2:]).to_bytes(4) + data[2:]
    payload = b"\0\x3c\0\0\0\0\0\0\0\0\0\0\x20\0" + raw
    frame = b"\2\0\1" + len(payload).to_bytes(4) + payload + b"\xce"
    return frame, DIALECTS[head[0] & 1], FORMS[head[1] & 1]


def quick_tables(data: bytes) -> None:
    """The bytes of a table back, also after every value of it was read; an error says where."""
    frame, dialect, forms = table_frame(data)
    octets = GUARDED(frame) if len(data) & 1 else frame
    try:
        _, channel, header = v0_9_1.decode(octets, dialect=dialect, tables=forms)
    except amqpcodec.DecodeError as error:
        assert 14 <= error.offset <= len(frame), error.offset
        return
    assert v0_9_1.encode(channel, header, dialect=dialect) == frame
    repr(header)
    assert v0_9_1.encode(channel, header, dialect=dialect) == frame


def tables(data: bytes) -> None:
    """A table is what the reference codec reads, or an error for both; its bytes come back."""
    frame, dialect, forms = table_frame(data)
    try:
        table = decode_table(frame[21:-1], dialect)
    except Malformed:
        table = None
    try:
        _, channel, header = v0_9_1.decode(frame, dialect=dialect, tables=forms)
    except amqpcodec.DecodeError as error:
        check_error(error, 0, len(frame))
        assert table is None, "the reference reads it"
        return
    assert table is not None, "the reference refuses it"
    assert v0_9_1.encode(channel, header, dialect=dialect) == frame
    headers = header.properties.headers
    if forms == "plain":
        same(headers, table_to_plain(table, dialect))
    repr(header)
    assert v0_9_1.encode(channel, header, dialect=dialect) == frame
    other = copy.deepcopy(header)
    assert v0_9_1.encode(channel, other, dialect=dialect) == frame


def table_seeds() -> Iterator[bytes]:
    """Random tables of every tag."""
    for number in range(60):
        rng = Random(number)
        generator = Generate(rng, DIALECTS[number % 2])
        written = encode_table(generator.table(2), DIALECTS[number % 2])
        yield bytes([number % 2, number // 2 % 2]) + written[4:]


def quick_frames(data: bytes) -> None:
    """Frame by frame: the very bytes back, also after every field was read."""
    head, data = data[:HEAD].ljust(HEAD, b"\0"), data[HEAD:]
    amqp, dialect = VERSIONS[head[0] & 3], DIALECTS[head[1] & 1]
    options: dict[str, Any] = {
        "dialect": dialect,
        "tables": FORMS[head[2] & 1],
        "copy": not head[3] & 1,
    }
    octets, offset = GUARDED(data) if len(data) & 1 else data, 0
    while True:
        try:
            result = amqp.decode(octets, offset, **options)
        except amqpcodec.DecodeError as error:
            assert offset <= error.offset <= len(data), error.offset
            return
        if result is None:
            return
        consumed, channel, frame = result
        raw = data[offset : offset + consumed]
        assert amqp.encode(channel, frame, dialect=dialect) == raw
        repr(frame)
        assert amqp.encode(channel, frame, dialect=dialect) == raw
        offset += consumed


def frames(data: bytes) -> None:
    """Frame by frame: the very bytes back, also after reading, copying and pickling."""
    choices = Choices(data, HEAD)
    amqp = choices.pick(VERSIONS)
    options: dict[str, Any] = {
        "dialect": choices.pick(DIALECTS),
        "tables": choices.pick(FORMS),
        "copy": choices.pick((True, False)),
    }
    check_frames(amqp, choices.rest, options, Counter())


def decoders(data: bytes) -> tuple[Any, Callable[[], Any], Random]:
    """The version, what makes the decoder that the first bytes choose, and how to cut the rest."""
    choices = Choices(data, HEAD)
    amqp = choices.pick(VERSIONS)
    options: dict[str, Any] = {
        "frame_max": choices.pick((0, 4096)),
        "errors": choices.pick(("strict", "frame")),
        "copy": choices.pick((True, False)),
    }
    decoder_type = choices.pick((amqp.Decoder, amqp.MessageDecoder, amqp.MessageDecoder))
    if decoder_type is amqp.MessageDecoder:
        options["max_body_size"] = (None, 0, 50, 1 << 40)[len(choices.rest) % 4]
    return amqp, partial(decoder_type, **options), choices.rng()


def quick_streams(data: bytes) -> None:
    """Any chunking gives frames and messages that are written as the same bytes."""
    amqp, make, rng = decoders(data)

    def written(frame: Any) -> Any:
        error = getattr(frame, "error", None)
        if isinstance(error, amqpcodec.DecodeError):
            return str(error), bytes(frame.raw)
        if isinstance(frame, amqp.Message):
            return amqp.encode_message(1, frame.method, frame.properties, frame.body)
        return amqp.encode(
            0 if isinstance(frame, (amqp.Heartbeat, amqp.ProtocolHeader)) else 1, frame
        )

    expected = outcome(make(), [data[HEAD:]], written)
    assert expected == outcome(make(), chunks(data[HEAD:], rng), written)


def streams(data: bytes) -> None:
    """Any chunking gives what all at once gives, frame by frame and as messages."""
    _, make, rng = decoders(data)
    assert outcome(make(), [data[HEAD:]]) == outcome(make(), chunks(data[HEAD:], rng))


def stream_seeds() -> Iterator[bytes]:
    """Conversations and single frames."""
    for number in range(40):
        rng = Random(number)
        stream = gen.conversation(rng, 3) if number % 2 else gen.stream(rng, 3)
        yield bytes([0, number & 1, number >> 1 & 1, number >> 2 & 1, 0, 0]) + stream[:3000]


def at_border(data: bytes) -> None:
    """A random frame is what the reference writes, as far from a buffer's end as the input says."""
    choice, length, seed = borders.read_input(data)
    rng = Random(seed)
    at = (V0_9_1, V0_9, V0_8)[choice % 3]
    generate = Generate(rng, faithful=True, facts=at.facts, tags=at.tags)
    filler = (b"filler", ("S", borders.FILLER * length))
    if choice & 64:
        frame: Any = generate.header()
        frame.properties["headers"] = [filler, *generate.table()]
    else:
        frame = generate.method(rng.choice(TABLE_METHODS[at.name]))
        name = next(n for n, kind in at.facts.methods[frame.name].fields if kind == "table")
        frame.args[name] = [filler, *generate.table()]
    expected = encode_frame(1, frame, facts=at.facts)
    assert at.amqp.encode(1, build(frame, at=at)) == expected


#: Methods that carry a table, by version.
TABLE_METHODS = {
    at.name: [
        name for name, fact in at.facts.methods.items() if "table" in dict(fact.fields).values()
    ]
    for at in (V0_9_1, V0_9, V0_8)
}

TARGETS = (
    Target("tables", tables, table_seeds, mutators.plain(2), largest=2048, quick=quick_tables),
    Target("frames", frames, stream_seeds, mutators.legacy(HEAD), largest=512, quick=quick_frames),
    Target(
        "streams", streams, stream_seeds, mutators.legacy(HEAD), largest=1024, quick=quick_streams
    ),
    Target(
        "borders", at_border, lambda: borders.seeds(6), borders.near_border, largest=borders.LARGEST
    ),
)
