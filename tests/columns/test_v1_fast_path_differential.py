"""AMQP 1.0 to columns: the fast path and the slow one give the same rows.

A frame that ends less than 16 bytes before its input takes the slow path always, as the fast one
may read so far; with heartbeats after it the same frame takes the fast path, if it can.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqpcodec import batch
from amqpcodec import v1_0 as amqp
from tests.columns.v1_rows import ASKED, pa
from tests.support.amqp10_wire import frame, list_of
from tests.support.samples_v1 import usual_frames
from tests.v1.mutation import TELLING
from tests.v1.test_v1_properties import values

HEARTBEAT = amqp.encode(0, amqp.Heartbeat())

#: Level and columns: all of them checked; some of them unchecked, with one or more columns a field.
WAYS: list[dict[str, Any]] = [
    {"level": "frame"},
    {"level": "frame", "layout": "view"},
    {"level": "frame", "fields": ["performative", "handle", "delivery_id", "role", "payload"]},
    {
        "level": "frame",
        "fields": ["settled", "transfer.settled", "state", "attach.source", "error"],
    },
    {"level": "frame", "fields": ["max_message_size", "snd_settle_mode", "delivery_tag", "name"]},
    {"level": "frame", "fields": ["method"]},
    {"level": "frame", "fields": ["arguments"]},
    {"level": "frame", "fields": ["handle", "arguments", "payload"]},
    {"level": "message", "fields": ASKED},
    {"level": "message", "fields": ASKED, "layout": "view"},
    {"level": "message", "field_tables": "map"},
    {"level": "message", "fields": ["properties.to", "properties.message_id", "body"]},
    {"level": "message", "fields": ["application_properties.a:long", "header.priority", "more"]},
    {"level": "message", "fields": ["properties.creation_time", "body_kind", "value", "error"]},
    {"level": "message", "mode": "DROPMALFORMED", "fields": ["application_properties"]},
]


def first_row(octets: bytes, way: dict[str, Any]) -> list[Any]:
    """The row of the first frame in columns, as Arrow's own; nothing, where there is none."""
    record_batch = pa.record_batch(batch.decode(octets, protocol="1.0", **way))
    record_batch.validate(full=True)
    if not record_batch.num_rows:
        return []
    return [column.slice(0, 1) for column in record_batch.columns]


def same(raw: bytes, ways: list[dict[str, Any]] = WAYS) -> None:
    for way in ways:
        slow, fast = first_row(raw, way), first_row(raw + 3 * HEARTBEAT, way)
        assert slow == fast, (raw.hex(), way)


#: Every constructor that a field may have, usual and not, and values that fields refuse.
FIELDS: list[bytes] = [
    *(b"\x40", b"\x41", b"\x42", b"\x56\0", b"\x56\1", b"\x56\2"),
    *(b"\x50\1", b"\x50\xff", b"\x60\0\2", b"\x43", b"\x52\7", b"\x70\xff\0\0\1"),
    *(b"\x44", b"\x53\7", b"\x80\x7f" + b"\xff" * 7, b"\x80" + b"\xff" * 8),
    *(
        b"\x51\xff",
        b"\x61\xff\xff",
        b"\x54\xff",
        b"\x71\x80\0\0\0",
        b"\x55\xff",
        b"\x81" + b"\xff" * 8,
    ),
    *(b"\x72\x3f\x80\0\0", b"\x82\x3f" + bytes(7), b"\x74" + bytes(4), b"\x84" + bytes(8)),
    *(b"\x94" + bytes(16), b"\x73\0\0\0a", b"\x73\0\0\xd8\0", b"\x98" + bytes(16)),
    *(b"\x83\0\0\1\x9b" + bytes(4), b"\x83\x80" + bytes(7), b"\x83\x7f" + b"\xff" * 7),
    *(b"\xa0\0", b"\xa0\3a\xffb", b"\xa0\x14" + bytes(20), b"\xb0\0\0\0\1x"),
    *(
        b"\xa1\0",
        b"\xa1\5plain",
        b"\xa1\3\xc3\xa4a",
        b"\xa1\1\xff",
        b"\xa1\2\xc3\xa4",
        b"\xb1\0\0\0\1x",
    ),
    *(b"\xa1\x14" + b"twenty characters of", b"\xa1\x0dAMQP_STRING:x", b"\xa1\x0aAMQP_other"),
    *(b"\xa3\0", b"\xa3\5plain", b"\xa3\2\xc3\xa4", b"\xb3\0\0\0\1x", b'\xa1\4a"\\\n'),
    *(b"\x45", b"\xc0\1\0", b"\xc0\2\1\x40", b"\xc1\1\0", b"\xc1\5\2\xa3\1k\x41", b"\xe0\2\0\xa3"),
    *(b"\xe0\6\2\xa3\1a\1b", b"\xf0\0\0\0\5\0\1\0\1\x40", b"\xe0\3\2\xa3\1", b"\xff", b"\x3f"),
    *(b"\0\x53\x24\x45", b"\0\x53\x26\xc0\1\0", b"\0\x53\x23\xc0\3\2\x43\x44", b"\0\x53\x99\x45"),
    *(
        b"\0\x53\x70\x45",
        b"\0\x53\x77\x45",
        b"\0\x53\x24\x40",
        b"\0\xa3\1d\x40",
        b"\0\x80" + bytes(7) + b"\x24\x45",
    ),
    *(b"\0\x53\x25\xc0\x0a\1\0\x53\x1d\xc0\4\1\xa3\1e", b"\0\x53\x28\xc0\3\1\xa3\1e", b"\0\x53"),
]

fields = st.one_of(
    st.sampled_from(FIELDS),
    st.sampled_from([b"\x40", b"\x43", b"\x41"]),
    values.map(amqp.encode_value),
)
off = st.sampled_from([0] * 12 + [-2, -1, 1, 2])


@st.composite
def lists(draw: Any, most: int = 14) -> bytes:
    return list_of(
        draw(st.lists(fields, max_size=most)),
        wide=draw(st.booleans()),
        size=draw(off),
        count=draw(off),
    )


def filled(code: int, usual: list[bytes], draw: Any) -> bytes:
    """A composite most of whose fields are as they should be."""
    values = usual[: draw(st.integers(0, len(usual)))]
    for _ in range(draw(st.integers(0, 2))):
        if values:
            values[draw(st.integers(0, len(values) - 1))] = draw(fields)
    octets = list_of(values, wide=draw(st.booleans()), size=draw(off), count=draw(off))
    return (
        b"\0\x53" + bytes([code]) + (octets if values else draw(st.sampled_from([octets, b"\x45"])))
    )


TRANSFER = [
    *(b"\x52\1", b"\x70\0\0\1\0", b"\xa0\4abcd", b"\x43", b"\x41", b"\x42", b"\x50\0"),
    *(b"\0\x53\x24\x45", b"\x42", b"\x42", b"\x41"),
]
FLOW = [
    b"\x43",
    b"\x52\2",
    b"\x52\3",
    b"\x70\0\0\4\0",
    *[b"\x52\5"] * 4,
    b"\x41",
    b"\x42",
    b"\xc1\1\0",
]
DISPOSITION = [b"\x41", b"\x43", b"\x52\1", b"\x41", b"\0\x53\x24\x45", b"\x42"]
ATTACH = [b"\xa1\1l", b"\x43", b"\x42", b"\x50\1", b"\x50\0", b"\0\x53\x28\x45", b"\0\x53\x29\x45"]
HEADER = [b"\x41", b"\x50\4", b"\x70\0\0\1\0", b"\x42", b"\x43"]
PROPERTIES = [
    *(
        b"\xa1\2id",
        b"\xa0\1u",
        b"\xa1\2to",
        b"\xa1\x14" + b"twenty characters of",
        b"\x40",
        b"\x40",
    ),
    *(b"\xa3\x0atext/plain", b"\xa3\4gzip", b"\x83\0\0\1\x9b" + bytes(4), b"\x83" + bytes(8)),
    *(b"\xa1\1g", b"\x52\7", b"\xa1\1r"),
]


@given(st.data())
@settings(deadline=None, max_examples=250)
def test_performatives(data: Any) -> None:
    kind = data.draw(
        st.sampled_from([(0x14, TRANSFER), (0x12, ATTACH), (0x13, FLOW), (0x15, DISPOSITION)])
    )
    body = filled(*kind, data.draw)
    if data.draw(st.integers(0, 3)) == 0:
        body = b"\0\x53" + bytes([data.draw(st.integers(0x10, 0x18))]) + data.draw(lists())
    body += data.draw(st.sampled_from([b"", b"", b"\0", b"\0\x53\x75\xa0\1x"]))
    same(frame(body[: data.draw(st.integers(0, len(body)))] if data.draw(off) else body))


keys = st.one_of(
    st.sampled_from(
        [
            b"\xa1\1a",
            b"\xa1\1b",
            b"\xa3\1a",
            b"\xa1\2$a",
            b"\xa1\3\xc3\xa4a",
            b"\xa1\0",
            b'\xa1\2"x',
        ]
    ),
    st.text(max_size=20).map(amqp.encode_value),
    fields,
)


@st.composite
def maps(draw: Any) -> bytes:
    pairs = draw(st.lists(st.tuples(keys, fields), max_size=draw(st.sampled_from([3, 3, 30]))))
    inside = [octets for pair in pairs for octets in pair]
    octets = list_of(inside, wide=draw(st.booleans()), size=draw(off), count=draw(off))
    return bytes([octets[0] + 1]) + octets[1:]


def test_elements_without_octets_are_counted_for_all_fields() -> None:
    """Two maps, each with as many as all of a performative may have together, or half as many."""
    for n in (32768, 32769):
        array = b"\xf0\0\0\0\5" + n.to_bytes(4, "big") + b"\x40"
        map_ = list_of([b"\xa3\1k", array])
        map_ = b"\xc1" + map_[1:]
        usual = [b"\xa1\1l", b"\x43", b"\x42", *[b"\x40"] * 4, map_, *[b"\x40"] * 5, map_]
        raw = frame(b"\0\x53\x12" + list_of(usual))
        same(raw)
        (error,) = first_row(raw + 3 * HEARTBEAT, {"level": "frame", "fields": ["error"]})
        assert error[0].is_valid == (n > 32768), error


@given(st.data())
@settings(deadline=None, max_examples=150)
def test_messages(data: Any) -> None:
    draw = data.draw
    sections = [
        filled(0x70, HEADER, draw),
        b"\0\x53\x71" + draw(maps()),
        b"\0\x53\x72" + draw(maps()),
        filled(0x73, PROPERTIES, draw),
        b"\0\x53\x74" + draw(maps()),
        b"\0\x53\x75" + draw(st.sampled_from([b"\xa0\1x", b"\xb0\0\0\0\1x", b"\xa0\0", *FIELDS])),
        b"\0\x53\x76" + draw(lists()),
        b"\0\x53\x77" + draw(fields),
        b"\0\x53\x78" + draw(maps()),
    ]
    chosen = draw(st.lists(st.integers(0, 8), unique=True, max_size=5))
    if draw(st.integers(0, 5)):
        chosen.sort()
        while len([n for n in chosen if 5 <= n <= 7]) > 1:
            chosen.pop()
    elif chosen:
        chosen.append(draw(st.sampled_from(chosen)))
    payload = b"".join([sections[n] for n in chosen])
    if draw(off):
        payload = payload[: draw(st.integers(0, len(payload)))]
    transfer = (
        filled(0x14, TRANSFER[:5], draw) if draw(off) else b"\0\x53\x14" + list_of(TRANSFER[:5])
    )
    same(frame(transfer + payload), [way for way in WAYS if way["level"] == "message"])


@pytest.mark.parametrize("number", range(len(usual_frames())))
def test_cut_off_at_each_octet(number: int) -> None:
    raw = usual_frames()[number]
    for n in range(8, len(raw) + 1):
        same(frame(raw[8:n]))


@pytest.mark.parametrize("number", range(len(usual_frames())))
def test_each_octet_changed(number: int) -> None:
    """Constructors, sizes and counts among them: one more, one less, others that mean something."""
    raw = usual_frames()[number]
    source = random.Random(number)
    for n in range(8, len(raw)):
        changes = {(raw[n] + 1) % 256, (raw[n] - 1) % 256, raw[n] ^ 0x80, source.choice(TELLING)}
        for octet in changes - {raw[n]}:
            same(frame(raw[8:n] + bytes([octet]) + raw[n + 1 :]), source.sample(WAYS, 3))


def test_rows_that_are_given_up_leave_nothing() -> None:
    """Unusual ones between those that take the fast path, in every column of theirs."""
    source = random.Random(5)
    odd = [
        amqp.encode(
            1, amqp.Transfer(0, 1, b"t", 0), b"\0\x53\x73\xc0\5\1\xa1\2\xc3\xa4\0\x53\x75\xa0\5x"
        ),
        amqp.encode(1, amqp.Transfer(0, 1, b"t", 0), amqp.Message(data=[b"a", b"b"]).encode()),
        amqp.encode(1, amqp.Transfer(3, 1, b"t", 0, more=True), b"\0\x53\x75\xa0\1x"),
        amqp.encode(1, amqp.Transfer(3, aborted=True)),
        frame(b"\0\x53\x15\xc0\6\4\x41\x43\x43\x41"),
    ]
    for way in [*WAYS, {"level": "frame", "mode": "DROPMALFORMED"}]:
        frames = [source.choice(usual_frames() + odd) for _ in range(300)] + [odd[3]]
        together = pa.record_batch(batch.decode(b"".join(frames), protocol="1.0", **way))
        together.validate(full=True)
        at = 0
        for raw in frames:
            if way["level"] == "message" and raw in odd[2:4]:
                continue
            alone = first_row(raw, way)
            if not alone:
                continue
            for name, column, expected in zip(
                together.schema.names, together.columns, alone, strict=True
            ):
                if name not in ("offset", "error", "error_offset"):
                    assert column.slice(at, 1) == expected, (name, raw.hex(), way)
            at += 1
        assert at == together.num_rows
