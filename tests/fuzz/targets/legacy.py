"""Tables, frames and streams of 0-9-1, 0-9 and 0-8."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import amqpcodec
from amqpcodec import v0_8, v0_9, v0_9_1
from tests.fuzz import mutators
from tests.fuzz.target import Choices, Target, chunks
from tests.reference import decode_table, encode_table
from tests.reference.errors import Malformed
from tests.reference.plain import table_to_plain
from tests.support import amqp091_gen as gen
from tests.support import amqp091_wire as w
from tests.support.bridge import same
from tests.support.generate import Generate
from tests.support.promises import check_error, check_frames, outcome

VERSIONS = (v0_9_1, v0_9_1, v0_9, v0_8)
HEAD = 6


def tables(data: bytes) -> None:
    """A table is what the reference codec reads, or an error for both; its bytes come back."""
    choices = Choices(data, 2)
    dialect = choices.pick(("rabbitmq", "0-9-1"))
    forms = choices.pick(("plain", "typed"))
    raw = len(choices.rest).to_bytes(4) + choices.rest
    payload = b"\0\x3c\0\0" + bytes(8) + b"\x20\0" + raw
    frame = w.frame(2, 1, payload)
    try:
        table = decode_table(raw, dialect)
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
        made = Generate(rng, ("rabbitmq", "0-9-1")[number % 2])
        written = encode_table(made.table(2), ("rabbitmq", "0-9-1")[number % 2])
        yield bytes([number % 2, number // 2 % 2]) + written[4:]


def frames(data: bytes) -> None:
    """Frame by frame: the very bytes back, also after reading, copying and pickling."""
    choices = Choices(data, HEAD)
    amqp: Any = choices.pick(VERSIONS)
    options: dict[str, Any] = {
        "dialect": choices.pick(("rabbitmq", "0-9-1")),
        "tables": choices.pick(("plain", "typed")),
        "copy": choices.pick((True, False)),
    }
    check_frames(amqp, choices.rest, options, Counter())


def streams(data: bytes) -> None:
    """Any chunking gives what all at once gives, frame by frame and as messages."""
    choices = Choices(data, HEAD)
    amqp: Any = choices.pick(VERSIONS)
    options: dict[str, Any] = {
        "frame_max": choices.pick((0, 4096)),
        "errors": choices.pick(("strict", "frame")),
        "copy": choices.pick((True, False)),
    }
    made = choices.pick((amqp.Decoder, amqp.MessageDecoder, amqp.MessageDecoder))
    if made is amqp.MessageDecoder:
        options["max_body_size"] = (None, 0, 50, 1 << 40)[len(choices.rest) % 4]
    rng = choices.rng()
    whole = outcome(made(**options), [choices.rest])
    assert whole == outcome(made(**options), chunks(choices.rest, rng)), options


def stream_seeds() -> Iterator[bytes]:
    """Conversations and single frames."""
    for number in range(40):
        rng = Random(number)
        made = gen.conversation(rng, 3) if number % 2 else gen.stream(rng, 3)
        yield bytes([0, number & 1, number >> 1 & 1, number >> 2 & 1, 0, 0]) + made[:3000]


TARGETS = (
    Target("tables", tables, table_seeds, mutators.plain(2), largest=2048),
    Target("frames", frames, stream_seeds, mutators.legacy(HEAD)),
    Target("streams", streams, stream_seeds, mutators.legacy(HEAD)),
)
