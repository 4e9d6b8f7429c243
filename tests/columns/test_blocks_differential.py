"""Blocks of frames on the fast path: the same columns as on the slow one."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given, settings

import amqpcodec
from amqpcodec import _columns
from tests.columns.batch_rows import decode, pa
from tests.columns.test_fast_path_differential import FAST, FIELDS, SLOW, same
from tests.support import amqp091_gen as gen
from tests.support import amqp091_strategies as some
from tests.support import amqp091_wire as w
from tests.support.like_messages import NAMES, messages, text, usual, value


@given(some.seeds)
@settings(max_examples=400)
def test_messages_alike(rng: Random) -> None:
    change = rng.choice((0.0, 0.02, 0.3))
    data = b"".join(messages(rng, rng.randrange(6, 90), change) for _ in range(rng.randrange(1, 3)))
    same(data, fields=rng.choice((None, None, *FIELDS)))


@given(some.seeds)
@settings(max_examples=400)
def test_spoilt_among_them(rng: Random) -> None:
    """A fault is its own frame's: those around it are rows as ever."""
    parts = [messages(rng, rng.randrange(6, 30)) for _ in range(2)]
    parts.insert(1, gen.spoil_inside(rng, messages(rng, 3)))
    if rng.random() < 0.3:
        parts[1] = gen.spoil(rng, parts[1])
    data = pa.array([parts[0] + parts[1] + parts[2], b"", parts[2] + parts[1]], pa.binary())
    same(data, fields=rng.choice((None, None, *FIELDS)),
         mode=rng.choice(("PERMISSIVE", "PERMISSIVE", "DROPMALFORMED")))  # fmt: skip


def joined(groups: Iterable[list[bytes]]) -> bytes:
    return b"".join(frame for group in groups for frame in group)


@pytest.mark.parametrize("which", [0, 1])
def test_every_octet_of_a_payload(which: int) -> None:
    """Whatever one byte of a frame is, in the midst of others: each row is what it is alone."""
    mutant = usual(7)
    before = joined(usual(number) for number in range(7))
    behind = joined(usual(number) for number in range(8, 14))
    original = bytearray(mutant[which])
    for place in range(7, len(original) - 1):
        for octet in {0, 1, 34, 92, 128, 255, original[place] ^ 1, original[place] + 1 & 255}:
            frame = bytes(original[:place]) + bytes([octet]) + bytes(original[place + 1 :])
            odd = [*mutant[:which], frame, *mutant[which + 1 :]]
            same(before + b"".join(odd) + behind)


@pytest.mark.parametrize("which", [0, 1])
def test_more_and_less_than_a_frame_needs(which: int) -> None:
    """Bytes behind the last field are no less a fault than fields that are cut off."""
    before = joined(usual(number) for number in range(7))
    behind = joined(usual(number) for number in range(8, 14))
    payload = usual(7)[which][7:-1]
    for size in range(1, len(payload) + 20):
        other = (payload + b"\0" * 20)[:size]
        data = before + w.frame(1 + which, 1, other) + behind
        same(data)
        assert (decode(data).column("error").null_count == 40) == (size == len(payload))


@given(some.seeds)
@settings(max_examples=100)
def test_the_same_error(rng: Random) -> None:
    outcomes: list[object] = []
    data = messages(rng, 12) + gen.spoil_inside(rng, messages(rng, 2)) + messages(rng, 12)
    for protocol in (FAST, SLOW):
        try:
            outcomes.append(decode(data, protocol=protocol, mode="FAILFAST").num_rows)
        except amqpcodec.DecodeError as error:
            outcomes.append((str(error), error.offset, error.field, type(error)))
    assert outcomes[0] == outcomes[1]


@given(some.seeds)
@settings(max_examples=100)
def test_where_a_column_is_full(rng: Random) -> None:
    """A lower limit stands in for the 2 GiB of int32 offsets."""
    outcomes: list[object] = []
    data = joined(usual(number) for number in range(90)) + messages(rng, 20)
    limit = rng.randrange(600, 20000)
    for protocol in (FAST, SLOW):
        try:
            out = _columns.decode_columns(protocol, data, None, "PERMISSIVE", "rabbitmq", limit)
            outcomes.append(pa.record_batch(out))
        except ValueError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]


def test_headers_of_other_kinds_by_turns() -> None:
    """What was learnt of some tables is not taken for what others have."""
    tables = [
        (), (("a", b"S\0\0\0\1x"),), (("a", b"S\0\0\0\1x"), ("a", b"t\1")), (("a", b"I\0\0\0\1"),),
        (("a", b"S\0\0\0\1x"), ("b", b"I\0\0\0\1")), (("a", b"V"),), (("ab", b"S\0\0\0\0"),),
        tuple((f"k{n}", b"t\0") for n in range(12)), tuple((f"k{n}", b"t\0") for n in range(30)),
    ]  # fmt: skip
    rng = Random(3)
    for lone in (1, 3, 40):
        out = b""
        for _ in range(400):
            headers = w.table(*rng.choice(tables))
            out += w.header_frame(0, headers=headers) * rng.randrange(1, lone + 1)
        same(out)


@given(some.seeds)
@settings(max_examples=200)
def test_frames_of_a_kind_far_apart(rng: Random) -> None:
    """Rows between them, however many, have nothing of theirs, whatever was learnt meanwhile."""
    names = rng.sample(NAMES, 3)
    kinds = [[(name, rng.choice("SIt")) for name in rng.sample(names, k)] for k in (1, 2, 3)]
    declare = w.method_frame("queue.declare", queue="q", arguments=w.table(("x", b"V")))
    others = (w.HEARTBEAT, w.method_frame("basic.ack"), w.body_frame(1, b"body"), declare)
    out = []
    for _ in range(rng.randrange(20, 150)):
        if rng.random() < 0.9:
            entries = rng.choice(kinds)
            headers = w.table(*((name, value(rng, tag)) for name, tag in entries))
            out.append(w.header_frame(4, content_type=text(rng), headers=headers))
        out += rng.choices(others, k=rng.choice((0, 1, 1, 3, 4, 5, 6, 20)))
    same(b"".join(out))
    same(pa.array(out, pa.binary()))
