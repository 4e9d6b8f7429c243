"""Frames, values and messages of 1.0 with a sample of everything."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from typing import Any

from amqpcodec import v1_0 as amqp
from tests.support.samples_amqp0 import TABLE

S = amqp.Symbol


def message_stream() -> bytes:
    message = amqp.Message(
        b"body" * 30,
        subject="s",
        message_id="m",
        priority=3,
        message_annotations={"x-opt-a": 1},
        application_properties={"a": 1, "t": "text" * 9, "u": 1.5},
    )
    talk = [
        amqp.PROTOCOL_HEADER,
        amqp.encode(0, amqp.Open("container", "host", properties={"product": "p"})),
        amqp.encode(0, amqp.Begin(None, 0, 100, 100)),
        amqp.encode(
            0, amqp.Attach("link", 0, False, source=amqp.Source("a"), target=amqp.Target("b"))
        ),
        *(amqp.encode_message(0, amqp.Transfer(0, n, b"t%d" % n), message) for n in range(12)),
        amqp.encode_message(
            0, amqp.Transfer(0, 20, b"t"), amqp.Message(b"x" * 3000), frame_max=512
        ),
        amqp.encode_message(0, amqp.Transfer(0, 21, b"t"), amqp.Message(value=TABLE)),
        amqp.encode(0, amqp.Disposition(True, 0, 9, state=amqp.Rejected(amqp.Error("e:x", "d")))),
        amqp.encode(0, amqp.Detach(0, True, amqp.Error("amqp:not-found", "gone", {"k": [1]}))),
        amqp.encode(0, amqp.Heartbeat()),
    ]
    return b"".join([*talk, amqp.encode(0, amqp.Close())[:-2]])


def deliveries(seed: int) -> bytes:
    return b"".join(
        amqp.encode_message(
            0,
            amqp.Transfer(0, n, b"%d" % n),
            amqp.Message({"n": seed}, subject=f"s{seed}", application_properties={"n": n}),
        )
        for n in range(20)
    )


def every_frame() -> list[bytes]:
    """One of everything, in usual and in odd forms."""
    moment = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    unknown = amqp.Described(S("d"), "v")
    numbers = amqp.Array("int", [1, 300])
    frames: list[Any] = [
        amqp.Open("c", "h", 5, 6, 7, ["a", "b"], "c", [], ["d"], {S("k"): 1, S("l"): [1, "x"]}),
        amqp.Attach(
            name="l",
            handle=1,
            role=amqp.Role.SENDER,
            source=amqp.Source("q", filter={S("f"): unknown}, outcomes=["a", "b"]),
            target=amqp.Target("t", dynamic_node_properties={S("p"): amqp.DeleteOnClose()}),
            unsettled={b"t": amqp.Received(1, 2)},
        ),
        amqp.Transfer(0, 1, b"t", 0, state=amqp.TransactionalState(b"x", amqp.Accepted())),
        amqp.Disposition(True, 1, 2, state=amqp.Rejected(amqp.Error("e", "d", {S("i"): 1}))),
        amqp.SaslMechanisms(["A", "B"]),
        amqp.SaslOutcome(0, b"x"),
        amqp.Close(amqp.Error("amqp:not-found")),
    ]
    message = amqp.Message(
        {
            "k": [
                1,
                2.5,
                None,
                uuid.UUID(int=5),
                Decimal("1.5"),
                moment,
                numbers,
            ]
        },
        header=amqp.Header(True, 5, 6),
        delivery_annotations={S("a"): 1},
        message_annotations=amqp.Map([(1, 2)]),
        properties=amqp.Properties(5, b"u", "to", "s", creation_time=moment, group_sequence=7),
        application_properties={"a": 1, "b": "text", "c": False},
        footer={S("f"): b"x"},
    )
    return [
        *(amqp.encode(3, frame) for frame in frames),
        amqp.encode(3, frames[2], message.encode()),
        amqp.encode(3, frames[2], amqp.Message(data=[b"x", b"y"], subject="s").encode()),
        amqp.encode(3, frames[2], amqp.Message(sequences=[[1], [2]]).encode()),
    ]


def long_message() -> amqp.Message:
    return amqp.Message(
        b"body" * 30,
        durable=True,
        ttl=1000,
        subject="s" * 300,
        message_id="m",
        message_annotations={amqp.Symbol("x-opt-a"): [1, {"k": 2.5}]},
        application_properties={"a": 1, "t": "text" * 90, "u": 2**40},
        footer={amqp.Symbol("f"): b"raw"},
    )


def usual_frames() -> list[bytes]:
    """Frames all of which take the fast path."""
    message = amqp.Message(
        b"x" * 30,
        durable=True,
        priority=3,
        message_id="id",
        user_id=b"u",
        to="to",
        content_type="text/plain",
        creation_time=amqp.Timestamp(1767225600000),
        application_properties={"a": 1, "b": "two", "c": True, "d": None, "e": -200, "f": 1.5},
    )
    return [
        amqp.encode(1, amqp.Transfer(0, 1, b"tag", 0, state=amqp.Accepted()), message.encode()),
        amqp.encode(1, amqp.Disposition(True, 1, 300, True, amqp.Accepted())),
        amqp.encode(1, amqp.Flow(1, 2048, 5, 2048, 0, 7, 100)),
        amqp.encode(
            1, amqp.Transfer(0, 1, b"tag", 0), amqp.Message(value=uuid.UUID(int=1)).encode()
        ),
        amqp.encode(1, amqp.Open("c", "h", 512, 7, 9, offered_capabilities=[S("a")])),
        amqp.encode(
            1, amqp.Attach("l", 1, True, 1, source=amqp.Source("q"), max_message_size=2**63)
        ),
    ]


def every_performative() -> list[bytes]:
    """Every performative, fields of every type, and usual and odd values in them."""
    every: dict[Any, Any] = {
        S("null"): None,
        S("numbers"): [amqp.UByte(1), amqp.UShort(2), amqp.UInt(3), amqp.ULong(2**64 - 1)],
        S("signed"): [amqp.Byte(-1), amqp.Short(-2), amqp.Int(-3), -4, amqp.Float(0.1), 1e300],
        S("odd"): [float("nan"), float("inf"), amqp.Char("ä"), amqp.Char('"'), amqp.Char("\x01")],
        S("decimals"): [
            Decimal("1.50"),
            Decimal("-0E+3"),
            Decimal("NaN"),
            Decimal("-Infinity"),
            Decimal("1E-7"),
            amqp.Decimal32("1.25"),
            amqp.Decimal64("-9876543210E+10"),
            Decimal("9" * 34),
            Decimal("sNaN12"),
        ],
        S("$times"): [datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), amqp.Timestamp(-(2**62))],
        S("text"): ['ä"\\\n\x01', S("s"), b"\xff", uuid.UUID(int=5)],
        S("maps"): [{"a": 1}, {1: 2}, amqp.Map([("a", 1), ("a", 2)]), amqp.Map([(1.5, {})]), {}],
        S("arrays"): [
            amqp.Array("int", [1, 300]),
            amqp.Array("list", [[1], []]),
            amqp.Array("null", [None] * 3),
            amqp.Array("string", ["x"], [S("d"), 1 << 40]),
            amqp.Array("boolean", []),
        ],
        S("described"): [
            amqp.Described(S("d"), "v"),
            amqp.Described(5, [1]),
            amqp.Described([1], None),
            amqp.Accepted(),
            amqp.Rejected(amqp.Error("e:x")),
            amqp.Data(b"x"),
            amqp.AmqpValue(None),
            amqp.Source("q", outcomes=["a"], default_outcome=amqp.Modified(True)),
        ],
    }
    performatives = [
        amqp.Open("c", "h", 5, 6, 7, ["a", "b"], "c", [], ["d"], every),
        amqp.Open("c"),
        amqp.Begin(1, 2, 3, 4, 5, ["x"], ["y", "z"], {S("k"): 1}),
        amqp.Attach(
            name="l",
            handle=2**32 - 1,
            role=amqp.Role.SENDER,
            snd_settle_mode=1,
            rcv_settle_mode=0,
            source=amqp.Source(
                "q",
                2,
                "never",
                7,
                True,
                {S("lifetime-policy"): amqp.DeleteOnClose()},
                "move",
                {S("f"): amqp.Described(S("d"), "v")},
                amqp.Released(),
                ["a", "b"],
                ["c"],
            ),
            target=amqp.Coordinator(["amqp:local-transactions"]),
            unsettled={b"t": amqp.Received(1, 2)},
            initial_delivery_count=9,
            max_message_size=2**63 - 1,
        ),
        amqp.Flow(1, 2, 3, 4, 5, 6, 7, 8, True, False),
        amqp.Transfer(
            0, 1, b"t\x00", 0, state=amqp.TransactionalState(b"x", amqp.Accepted()), payload=b"p"
        ),
        amqp.Transfer(0, payload=b""),
        amqp.Transfer(0, 1, b"", 0, True, True, 1, amqp.Described(77, 1), True, False, True),
        amqp.Disposition(True, 1, 2, state=amqp.Rejected(amqp.Error("e", "d", {S("i"): 1}))),
        amqp.Disposition(False, 1, settled=False, state=amqp.Declared(b"i")),
        amqp.Detach(1, True, amqp.Error("amqp:not-found", "ä")),
        amqp.End(),
        amqp.Close(amqp.Error("amqp:not-found")),
        amqp.SaslMechanisms(["A", "B"]),
        amqp.SaslMechanisms("A"),
        amqp.SaslInit("PLAIN", b"\0u\0p", "h"),
        amqp.SaslChallenge(b"c"),
        amqp.SaslResponse(b"r"),
        amqp.SaslOutcome(0, b"x"),
    ]
    return [amqp.encode(3, performative) for performative in performatives]


def values_and_frames() -> list[bytes]:
    """Values of each constructor, and the frames that have most in them."""
    symbol = amqp.Symbol("s")
    values: list[Any] = [
        *(None, True, 0, -1, 2**40, 1.5, b"b", "é", symbol, [1, [2, "x"]], {"k": [b""], 5: None}),
        *(
            amqp.Described(symbol, ["d"]),
            amqp.Array("uint", [1, 2**31]),
            amqp.Array("null", [None] * 3),
        ),
        *("t" * 300, b"b" * 300, list(range(300))),
    ]
    source = amqp.Source("a", filter={symbol: amqp.Described(symbol, "f")}, capabilities=[symbol])
    message = amqp.Message({"n": 1}, subject="s", application_properties={"k": 1.5})
    frames = [
        amqp.encode(0, amqp.Open("c", properties={symbol: [1]}, offered_capabilities=[symbol])),
        amqp.encode(1, amqp.Attach("l", 0, False, source=source, target=amqp.Target("b"))),
        amqp.encode(
            1, amqp.Disposition(True, 0, 1, state=amqp.Rejected(amqp.Error("amqp:x", "d")))
        ),
        amqp.encode_message(1, amqp.Transfer(0, 0, b"t"), message),
        amqp.encode(0, amqp.SaslInit("PLAIN", b"\0u\0p")),
    ]
    return [amqp.encode_value(value) for value in values] + frames + [message.encode()]
