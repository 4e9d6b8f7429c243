"""Properties and field tables there and back: equal in value, and the same bytes.

RabbitMQ keeps the bytes of a message's properties, so what it delivers must be what was sent.
"""

from __future__ import annotations

import math
import struct
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from amqpcodec import types as t
from amqpcodec import v0_9_1 as amqp

ALL = {
    "content_type": "application/json",
    "content_encoding": "gzip",
    "headers": {"n": 1, "deep": {"list": [True, None, "x"]}},
    "delivery_mode": 2,
    "priority": 255,
    "correlation_id": "c" * 255,
    "reply_to": "ответ",
    "expiration": "60000",
    "message_id": "m\udcff\udc80",  # two bytes that are not UTF-8
    "timestamp": datetime(2026, 11, 21, 3, 4, 5, tzinfo=UTC),
    "type": "",
    "user_id": "guest",
    "app_id": "amqpcodec",
    "reserved": "cluster",
}
ODD = {
    "headers": {},
    "delivery_mode": 1,
    "priority": 0,
    "content_type": "",
    "message_id": "🐇" * 63,
}


def exchange(client, properties):
    """Publish, and get it back: the header frames sent and received, as frames."""
    queue = client.declare()
    sent = amqp.Header(0, properties)
    client.send(1, amqp.Basic.Publish(routing_key=queue), sent)
    return sent, amqp.Header(0, client.get(queue).properties)


def deliver_octets(client, octets):
    """Publish a content header given as bytes; return what came back, decoded."""
    queue = client.declare()
    client.send_octets(amqp.encode(1, amqp.Basic.Publish(routing_key=queue)) + octets)
    return amqp.Header(0, client.get(queue).properties)


def header_frame(table, flags=0x2000):
    """A content header with nothing but headers, by hand."""
    payload = struct.pack(">HHQHI", 60, 0, 0, flags, len(table)) + table
    return struct.pack(">BHI", 2, 1, len(payload)) + payload + b"\xce"


def entry(name, tagged):
    return bytes([len(name)]) + name + tagged


@pytest.mark.parametrize("name", list(ALL))
def test_one_property(client, name):
    sent, came = exchange(client, amqp.Basic.Properties(**{name: ALL[name]}))
    assert amqp.encode(1, came) == amqp.encode(1, sent)
    assert came == sent
    for other in ALL:
        if other == name:
            assert getattr(came.properties, other) == ALL[name]
            assert type(getattr(came.properties, other)) is type(ALL[name])
        elif other != "headers":
            assert getattr(came.properties, other) is None


@pytest.mark.parametrize("values", [ALL, ODD, {}], ids=["all", "odd", "none"])
def test_properties_together(client, values):
    sent, came = exchange(client, amqp.Basic.Properties(**values))
    assert amqp.encode(1, came) == amqp.encode(1, sent)
    assert came.properties == amqp.Basic.Properties(**values)
    for name, value in values.items():
        assert getattr(came.properties, name) == value
    # The dict exists now; untouched it is still the same bytes.
    assert amqp.encode(1, came) == amqp.encode(1, sent)


@pytest.mark.parametrize(
    ("seconds", "value"),
    [
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (2**32, datetime(2106, 2, 7, 6, 28, 16, tzinfo=UTC)),
        (253402300799, datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
        (253402300800, t.Timestamp(253402300800)),
        (2**64 - 1, t.Timestamp(2**64 - 1)),
    ],
)
def test_timestamps(client, seconds, value):
    sent, came = exchange(client, amqp.Basic.Properties(timestamp=value))
    assert came.properties.timestamp == value
    assert type(came.properties.timestamp) is type(value)
    assert amqp.encode(1, came) == amqp.encode(1, sent)
    assert struct.pack(">Q", seconds) in amqp.encode(1, sent)


PLAIN = {
    "true": True,
    "false": False,
    "int": -(2**31),
    "long": 2**31,
    "longest": -(2**63),
    "float": -0.1,
    "zero": -0.0,
    "decimal": Decimal("-21474836.48"),
    "text": "ünï",
    "empty": "",
    "bytes": b"\x00\xff",
    "time": datetime(2001, 2, 3, 4, 5, 6, tzinfo=UTC),
    "void": None,
    "list": [1, "a", [], [None, [True]]],
    "dict": {"": {"k": {}}},
    "n" * 255: 0,
    "ключ": 1,
}


@pytest.mark.parametrize("name", list(PLAIN), ids=lambda name: name[:8])
def test_plain_values(client, name):
    """Every Python type that a table takes, one by one, and its exact type on return."""
    sent, came = exchange(client, amqp.Basic.Properties(headers={name: PLAIN[name]}))
    assert amqp.encode(1, came) == amqp.encode(1, sent)
    [(key, value)] = came.properties.headers.items()
    assert (key, value) == (name, PLAIN[name])
    assert type(value) is type(PLAIN[name])
    if type(value) is float:
        assert math.copysign(1, value) == math.copysign(1, PLAIN[name])


def test_plain_values_together(client):
    sent, came = exchange(client, amqp.Basic.Properties(headers=PLAIN))
    assert list(came.properties.headers.items()) == list(PLAIN.items())
    assert amqp.encode(1, came) == amqp.encode(1, sent)


TYPED = {
    "t": (True, b"\x01"),
    "b": (t.Int8(-128), b"\x80"),
    "B": (t.UInt8(255), b"\xff"),
    "s": (t.Int16(-2), b"\xff\xfe"),
    "u": (t.UInt16(65535), b"\xff\xff"),
    "I": (t.Int32(-1), b"\xff\xff\xff\xff"),
    "i": (t.UInt32(2**32 - 1), b"\xff\xff\xff\xff"),
    "l": (t.Int64(-(2**63)), b"\x80" + bytes(7)),
    "L": (t.Int64L(2**63 - 1), b"\x7f" + b"\xff" * 7),
    "f": (t.Float(0.5), struct.pack(">f", 0.5)),
    "d": (t.Double(1e300), struct.pack(">d", 1e300)),
    "D": (Decimal("-0.05"), b"\x02\xff\xff\xff\xfb"),
    "S": (t.LongString("é"), b"\x00\x00\x00\x02\xc3\xa9"),
    "x": (t.ByteArray(b"\xfe"), b"\x00\x00\x00\x01\xfe"),
    "T": (t.Timestamp(1_700_000_000), struct.pack(">Q", 1_700_000_000)),
    "V": (t.Void(), b""),
    "A": ([t.Int8(1), t.UInt16(2)], b"\x00\x00\x00\x05b\x01u\x00\x02"),
    "F": ({"k": t.UInt8(3)}, b"\x00\x00\x00\x04\x01kB\x03"),
}


@pytest.mark.parametrize("tag", list(TYPED))
@pytest.mark.parametrize("as_messages", [False, True], ids=["frames", "messages"])
def test_typed_values(connect, tag, as_messages):
    """Every tag that RabbitMQ takes, written by its type and read back as that type."""
    value, octets = TYPED[tag]
    client = connect(as_messages=as_messages, tables="typed")
    client.open_channel()
    sent, came = exchange(client, amqp.Basic.Properties(headers={"key": value}))
    table = entry(b"key", tag.encode() + octets)
    assert bytes(came.properties.raw_headers)[-len(table) :] == table
    assert amqp.encode(1, sent) == header_frame(table)
    got = came.properties.headers["key"]
    assert got == value
    assert type(got) is type(value)
    assert amqp.encode(1, came) == amqp.encode(1, sent)
    # Encoded by value, out of a fresh table, it is the same tag again.
    again = amqp.Header(0, amqp.Basic.Properties(headers={"key": got}))
    assert amqp.encode(1, again) == amqp.encode(1, sent)


def test_typed_values_together(connect):
    client = connect(tables="typed")
    client.open_channel()
    headers = {tag: value for tag, (value, _) in TYPED.items()}
    sent, came = exchange(client, amqp.Basic.Properties(headers=headers))
    assert came.properties.headers == headers
    assert amqp.encode(1, came) == amqp.encode(1, sent)


def test_the_brokers_own_reading(connect, rabbitmqctl, unique):
    """RabbitMQ tells how it read our table: the name of each type and the value, in Erlang's terms.

    Decimals it takes as unsigned, and text as bytes.
    """
    name = unique("client")
    properties = {tag: value for tag, (value, _) in TYPED.items()} | {"connection_name": name}
    connect(handshake={"properties": properties}, tables="typed")
    terms = "".join(rabbitmqctl("list_connections", "client_properties", "--formatter", "erlang"))
    [table] = [one for one in terms.split("{client_properties,") if name in one]
    table = "".join(table.split())
    for entry_term in (
        '{<<"t">>,bool,true}',
        '{<<"b">>,byte,-128}',
        '{<<"B">>,unsignedbyte,255}',
        '{<<"s">>,short,-2}',
        '{<<"u">>,unsignedshort,65535}',
        '{<<"I">>,signedint,-1}',
        '{<<"i">>,unsignedint,4294967295}',
        '{<<"l">>,long,-9223372036854775808}',
        '{<<"L">>,long,9223372036854775807}',
        '{<<"f">>,float,0.5}',
        '{<<"d">>,double,1.0e300}',
        '{<<"D">>,decimal,{2,4294967291}}',
        '{<<"S">>,longstr,<<"Ã©">>}',
        '{<<"x">>,binary,<<"þ">>}',
        '{<<"T">>,timestamp,1700000000}',
        '{<<"V">>,void,undefined}',
        '{<<"A">>,array,[{byte,1},{unsignedshort,2}]}',
        '{<<"F">>,table,[{<<"k">>,unsignedbyte,3}]}',
    ):
        assert entry_term in table


def test_the_brokers_own_writing(connect):
    """A dead letter's table was read and written anew by RabbitMQ: all tags but L as they were."""
    client = connect(tables="typed")
    client.open_channel()
    dead = client.declare()
    queue = client.declare(
        **{
            "x-dead-letter-exchange": t.LongString(""),
            "x-dead-letter-routing-key": t.LongString(dead),
        }
    )
    headers = {tag: value for tag, (value, _) in TYPED.items()}
    client.publish(1, b"", amqp.Basic.Properties(headers=headers), routing_key=queue)
    client.get(queue, no_ack=False)
    client.send(1, amqp.Basic.Reject(delivery_tag=1, requeue=False))
    client.wait_for_count(dead, 1)
    came = client.get(dead).properties.headers
    assert came["x-death"][0]["count"] == t.Int64(1)
    assert type(came["x-death"][0]["time"]) is t.Timestamp
    own = {name: value for name, value in came.items() if not name.startswith("x-")}
    assert own == headers | {"L": t.Int64(2**63 - 1)}
    assert {name: type(value) for name, value in own.items()} == {
        name: t.Int64 if name == "L" else type(value) for name, value in headers.items()
    }


NUMBERS = {
    "byte": t.Int8(100),
    "unsignedbyte": t.UInt8(200),
    "short": t.Int16(30000),
    "unsignedshort": t.UInt16(60000),
    "signedint": t.Int32(2_000_000_000),
    "unsignedint": t.UInt32(4_000_000_000),
    "long": t.Int64(4_000_000_001),
}


@pytest.mark.parametrize("kind", list(NUMBERS))
def test_typed_arguments_of_a_method(client, unique, kind):
    """The broker names the type of an argument when it is declared again without it."""
    queue = unique(kind)
    value = NUMBERS[kind]
    declare = amqp.Queue.Declare(queue=queue, exclusive=True, arguments={"x-max-length": value})
    client.call(1, declare, amqp.Queue.DeclareOk)
    client.send(1, amqp.Queue.Declare(queue=queue, exclusive=True))
    text = client.expect_channel_close().reply_text
    assert text.endswith(f"current is the value '{int(value)}' of type '{kind}'")


UNUSUAL = {
    "true that is not 1": ({"k": True}, entry(b"k", b"t\x07")),
    "order": (
        {"z": None, "a": None, "m": None},
        entry(b"z", b"V") + entry(b"a", b"V") + entry(b"m", b"V"),
    ),
    "key that is not UTF-8": ({"\udcff\0": None}, entry(b"\xff\x00", b"V")),
    "text that is not UTF-8": ({"k": b"\xff\xfe"}, entry(b"k", b"S\x00\x00\x00\x02\xff\xfe")),
    "small number, wide tag": ({"k": 1}, entry(b"k", b"l" + bytes(7) + b"\x01")),
    "signed 64 of the PDF": ({"k": -1}, entry(b"k", b"L" + b"\xff" * 8)),
    "decimal, large scale": ({"k": Decimal("1e-255")}, entry(b"k", b"D\xff\x00\x00\x00\x01")),
    "time out of range": ({"k": t.Timestamp(2**64 - 1)}, entry(b"k", b"T" + b"\xff" * 8)),
    "in an array": ({"k": [True, 1]}, entry(b"k", b"A\x00\x00\x00\x04t\x02b\x01")),
    "in a table": (
        {"k": {"k": True, "": None}},
        entry(b"k", b"F\x00\x00\x00\x06" + entry(b"k", b"t\x02") + entry(b"", b"V")),
    ),
    # Which of the two a dict shows is not fixed; the bytes have both.
    "the same key twice": (None, entry(b"k", b"b\x01") + entry(b"k", b"I\x00\x00\x00\x02")),
}


@pytest.mark.parametrize(("value", "table"), UNUSUAL.values(), ids=list(UNUSUAL))
def test_unusual_octets_are_kept(client, value, table):
    """What no encoder of ours would write comes back as it was, also after it was looked at."""
    octets = header_frame(table)
    came = deliver_octets(client, octets)
    assert amqp.encode(1, came) == octets
    headers = came.properties.headers
    if value is None:
        assert headers in ({"k": 1}, {"k": 2})
    else:
        assert repr(list(headers.items())) == repr(list(value.items()))
    assert amqp.encode(1, came) == octets


def test_changed_headers_keep_what_was_not_changed(client):
    """After a change, new values are written by value and the old entries stay as they came."""
    octets = header_frame(
        entry(b"odd", b"t\x07")
        + entry(b"deep", b"F\x00\x00\x00\x09" + entry(b"x", b"b\x01") + entry(b"odd", b"V"))
        + entry(b"last", b"s\x00\x05")
    )
    # Decoded anew, because what the client keeps is compared with the stream in the end.
    _, _, came = amqp.decode(amqp.encode(1, deliver_octets(client, octets)))
    came.properties.headers["deep"]["x"] = "new"
    came.properties.headers["more"] = 1
    expected = header_frame(
        entry(b"odd", b"t\x07")
        + entry(
            b"deep",
            b"F\x00\x00\x00\x0f" + entry(b"x", b"S\x00\x00\x00\x03new") + entry(b"odd", b"V"),
        )
        + entry(b"last", b"s\x00\x05")
        + entry(b"more", b"I\x00\x00\x00\x01")
    )
    assert amqp.encode(1, came) == expected
    again = deliver_octets(client, amqp.encode(1, came))
    assert amqp.encode(1, again) == expected
    assert again.properties.headers["deep"] == {"x": "new", "odd": None}


def test_many_headers(client):
    """A table of some hundred kilobytes: one header frame nearly as large as frame_max."""
    headers = {f"key-{number}": [number, str(number) * 10] for number in range(2000)}
    sent, came = exchange(client, amqp.Basic.Properties(headers=headers))
    assert len(amqp.encode(1, sent)) > 60_000
    assert came.properties.headers == headers
    assert amqp.encode(1, came) == amqp.encode(1, sent)


def test_deep_tables(client):
    headers = {"leaf": 1}
    for _ in range(60):
        headers = {"k": [headers]}
    sent, came = exchange(client, amqp.Basic.Properties(headers=headers))
    assert came.properties.headers == headers
    assert amqp.encode(1, came) == amqp.encode(1, sent)


@pytest.mark.parametrize(
    "table",
    [
        entry(b"k", b"d" + struct.pack(">d", math.nan)),
        entry(b"k", b"d" + struct.pack(">d", math.inf)),
        entry(b"k", b"U\x00\x01"),
        entry(b"k", b"Z"),
    ],
    ids=["nan", "inf", "tag U", "tag Z"],
)
def test_values_that_the_broker_cannot_read(client, table):
    """RabbitMQ ends the connection over them; we still learn so in good order."""
    client.send_octets(amqp.encode(1, amqp.Basic.Publish(routing_key="x")) + header_frame(table))
    assert client.expect_close().reply_code == 541
