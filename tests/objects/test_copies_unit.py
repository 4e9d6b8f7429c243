"""pickle, copy and deepcopy: of made, decoded, touched and odd instances."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from amqpcodec import v0_9_1 as amqp
from tests.support import amqp091_wire as w

WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle{n}": lambda x, n=n: pickle.loads(pickle.dumps(x, n))
        for n in range(2, pickle.HIGHEST_PROTOCOL + 1)
    },
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
TABLE = {"n": 1, "deep": {"list": [1, "two", None]}}


def decode(data: bytes) -> Any:
    result = amqp.decode(data)
    assert result is not None
    assert result[0] == len(data)
    return result[2]


@every_way
@pytest.mark.parametrize("spec", w.SPECS.values(), ids=w.SPECS.keys())
def test_methods(way: Callable[[Any], Any], spec: w.Spec) -> None:
    samples: dict[str, Any] = {
        "o": 1,
        "h": 2,
        "l": 3,
        "q": 4,
        "b": True,
        "s": "s",
        "S": b"S",
        "F": TABLE,
    }
    kind = w.class_of(amqp, spec.name)
    values = [samples[wire] for _, wire in spec.fields]
    method = kind(**dict(zip(kind.FIELDS, values, strict=True)))
    other = way(method)
    assert type(other) is kind
    assert other == method
    assert other is not method
    assert amqp.encode(1, other) == amqp.encode(1, method)


@every_way
@pytest.mark.parametrize(
    "frame",
    [
        amqp.Basic.Properties(),
        amqp.Basic.Properties(content_type="t", headers=TABLE, priority=0, reserved="c"),
        amqp.Header(9, amqp.Basic.Properties(headers=TABLE), weight=3),
        amqp.Body(b"payload"),
        amqp.Heartbeat(),
        amqp.ProtocolHeader(1, 1, 0, 9),
        amqp.Message(amqp.Basic.Publish("e"), amqp.Basic.Properties(headers=TABLE), b"body"),
    ],
    ids=lambda frame: type(frame).__name__,
)
def test_frames(way: Callable[[Any], Any], frame: Any) -> None:
    other = way(frame)
    assert type(other) is type(frame)
    assert other == frame


ODD = {
    "odd boolean": w.header_frame(headers=w.table(("k", b"t\x07"))),
    "every width": w.header_frame(
        headers=w.table(
            ("a", b"b\x05"), ("b", b"s\0\x05"), ("c", b"U\0\x05"), ("d", b"L" + b"\0" * 8)
        )
    ),
    "duplicate names": w.header_frame(headers=w.table(("k", b"b\1"), ("k", b"b\2"))),
    "continued flags": w.frame(2, 1, b"\0\x3c" + b"\0" * 10 + b"\x80\x01\x00\x00" + b"\x01t"),
    "unused bits": w.frame(1, 1, b"\0\x3c\0\x50" + b"\0" * 7 + b"\x09" + b"\xff"),
    "nested odd": w.header_frame(
        headers=w.table(("n", w.nested(("t", b"t\x02"), ("a", w.array(b"t\x03", b"s\0\1")))))
    ),
    "not utf-8": w.header_frame(
        headers=w.table((b"\xff", b"S" + w.longstr(b"\xfe"))), user_id=b"\xf0"
    ),
    "table argument": w.method_frame("queue.declare", queue="q", arguments=w.table(("a", b"b\1"))),
}
every_odd = pytest.mark.parametrize("data", ODD.values(), ids=ODD.keys())


@every_way
@every_odd
def test_decoded_frames_keep_their_octets(way: Callable[[Any], Any], data: bytes) -> None:
    frame = decode(data)
    other = way(frame)
    assert amqp.encode(1, other) == data
    assert amqp.encode(1, frame) == data
    assert other == frame


@every_way
@every_odd
def test_touched_frames_keep_their_octets(way: Callable[[Any], Any], data: bytes) -> None:
    frame = decode(data)
    repr(frame)
    if hasattr(frame, "properties"):
        assert frame.properties.headers is frame.properties.headers
    other = way(frame)
    assert other == frame
    assert amqp.encode(1, other) == data


@every_way
def test_changed_frames_are_copied_as_they_are_now(way: Callable[[Any], Any]) -> None:
    frame = decode(w.header_frame(headers=w.table_of(TABLE), priority=1))
    frame.properties.headers["deep"]["list"].append("new")
    frame.properties.priority = None
    other = way(frame)
    assert other.properties.headers == {"n": 1, "deep": {"list": [1, "two", None, "new"]}}
    assert other.properties.priority is None
    assert amqp.encode(1, other) == amqp.encode(1, frame)


@pytest.mark.parametrize("touch", [False, True])
def test_deepcopy_shares_no_table(touch: bool) -> None:
    frame = decode(w.header_frame(headers=w.table_of(TABLE)))
    if touch:
        assert frame.properties.headers
    other = copy.deepcopy(frame)
    other.properties.headers["deep"]["list"].append("new")
    other.properties.priority = 9
    assert frame.properties.headers == TABLE
    assert frame.properties.priority is None
    assert amqp.encode(1, frame) == w.header_frame(headers=w.table_of(TABLE))


def test_copy_of_a_touched_table_shares_the_dict() -> None:
    """copy.copy is shallow, as for any object."""
    properties = amqp.Basic.Properties(headers={"n": 1})
    other = copy.copy(properties)
    other.content_type = "t"
    assert properties.content_type is None
    assert other.headers is properties.headers


def test_shallow_copy_before_first_use_of_headers_is_sound() -> None:
    frame = decode(w.header_frame(headers=w.table_of(TABLE)))
    other = copy.copy(frame.properties)
    assert other.headers == TABLE
    other.headers["n"] = 2
    again = decode(amqp.encode(1, amqp.Header(0, other)))
    assert again.properties.headers["n"] == 2


def test_deepcopy_keeps_shared_references() -> None:
    properties = amqp.Basic.Properties(headers={"n": 1})
    pair = copy.deepcopy([properties, properties])
    assert pair[0] is pair[1]
    assert pair[0] is not properties


def test_classes_are_pickled_by_name() -> None:
    for spec in w.SPECS.values():
        kind = w.class_of(amqp, spec.name)
        assert pickle.loads(pickle.dumps(kind)) is kind
    assert pickle.loads(pickle.dumps(amqp.Basic.Properties)) is amqp.Basic.Properties


@pytest.mark.parametrize("dialect", ["rabbitmq", "0-9-1"])
@pytest.mark.parametrize("tables", ["plain", "typed"])
@every_way
def test_decoded_in_every_mode(way: Callable[[Any], Any], dialect: str, tables: str) -> None:
    data = w.header_frame(headers=w.table(("u", b"U\0\1"), ("l", b"l" + b"\xff" * 8)))
    result = amqp.decode(data, dialect=dialect, tables=tables)
    assert result is not None
    other = way(result[2])
    assert other.properties.headers == result[2].properties.headers
    assert amqp.encode(1, other, dialect=dialect) == data
    assert {type(v) for v in other.properties.headers.values()} == {
        type(v) for v in result[2].properties.headers.values()
    }


@every_way
def test_bad_frames_and_their_errors(way: Callable[[Any], Any]) -> None:
    """Process pools and Spark workers send them."""
    data = w.frame(1, 7, b"\0\x3c\0\x15\xc8tag")
    ((_, bad),) = amqp.Decoder(errors="frame").feed(data)
    other = way(bad)
    assert type(other) is amqp.BadFrame
    assert other.raw == data
    assert type(other.error) is type(bad.error)
    assert str(other.error) == str(bad.error)
    assert other.error.channel == 7
