"""What cannot be encoded is an EncodeError that names method and field and tells no content."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from amqpcodec import AMQPCodecError, EncodeError, types
from amqpcodec import v0_9_1 as amqp
from tests.support import amqp091_wire as w

LIMITS = {"o": 1 << 8, "h": 1 << 16, "l": 1 << 32, "q": 1 << 64}
FIELDS = [
    (name, place, wire)
    for name, spec in w.SPECS.items()
    for place, (_, wire) in enumerate(spec.fields)
]


def attempt(name: str, place: int, value: Any) -> tuple[EncodeError, str]:
    """The error of encoding one bad argument, and the field's name."""
    kind = w.class_of(amqp, name)
    field = kind.FIELDS[place]
    with pytest.raises(EncodeError) as caught:
        amqp.encode(1, kind(**{field: value}))
    return caught.value, field


def check(error: EncodeError, name: str, field: str) -> None:
    assert isinstance(error, AMQPCodecError)
    assert isinstance(error, ValueError)
    assert error.method == name
    assert str(error.field).replace("-", "_") in (field, field.rstrip("_"))
    assert name in str(error)
    assert field.rstrip("_").replace("_", "-") in str(error).replace("_", "-")


@pytest.mark.parametrize(("name", "place", "wire"), [f for f in FIELDS if f[2] in LIMITS])
def test_integers_out_of_range(name: str, place: int, wire: str) -> None:
    for value in (-1, LIMITS[wire], 1 << 100, -(1 << 100)):
        error, field = attempt(name, place, value)
        check(error, name, field)
    kind = w.class_of(amqp, name)
    for value in (0, LIMITS[wire] - 1):
        amqp.encode(1, kind(**{kind.FIELDS[place]: value}))


WRONG: dict[str, list[Any]] = {
    "o": ["1", 1.0, None, b"1", Decimal(1), [1]],
    "h": ["1", 1.0, None, b"1"],
    "l": ["1", 1.5, None, b"1"],
    "q": ["1", 1.0, None, b"1"],
    "b": ["yes", 1.0, None, b"", [], 2.5],
    "s": [b"bytes", 1, None, 1.5, ["x"], bytearray(b"x")],
    "S": [1, None, 1.5, ["x"], object()],
    "F": [1, "x", b"x", [1], [("k", 1)], 1.5, object()],
}


@pytest.mark.parametrize(("name", "place", "wire"), FIELDS)
def test_wrong_types(name: str, place: int, wire: str) -> None:
    for value in WRONG[wire]:
        error, field = attempt(name, place, value)
        check(error, name, field)


class Five:
    def __index__(self) -> int:
        return 5


def test_integers_take_index_and_bool() -> None:
    assert amqp.encode(1, amqp.Basic.Ack(Five())) == amqp.encode(1, amqp.Basic.Ack(5))
    assert amqp.encode(1, amqp.Basic.Ack(True)) == amqp.encode(1, amqp.Basic.Ack(1))


def test_bits_take_integers() -> None:
    assert amqp.encode(1, amqp.Basic.Ack(5, 1)) == amqp.encode(1, amqp.Basic.Ack(5, True))
    assert amqp.encode(1, amqp.Basic.Ack(5, 0)) == amqp.encode(1, amqp.Basic.Ack(5, False))


@pytest.mark.parametrize(("name", "place", "wire"), [f for f in FIELDS if f[2] == "s"])
def test_short_strings_have_255_octets(name: str, place: int, wire: str) -> None:
    kind = w.class_of(amqp, name)
    field = kind.FIELDS[place]
    for text in ("x" * 255, "é" * 127, "🐇" * 63):
        octets = amqp.encode(1, kind(**{field: text}))
        assert w.shortstr(text) in octets
    for text in ("x" * 256, "é" * 128, "🐇" * 64, "x" * 100_000):
        error, _ = attempt(name, place, text)
        check(error, name, field)
        assert text[:20] not in str(error)


def test_short_strings_with_escapes() -> None:
    octets = amqp.encode(1, amqp.Basic.ConsumeOk("a\udcff\udc80é"))
    assert octets == w.method_frame("basic.consume-ok", consumer_tag=b"a\xff\x80\xc3\xa9")


@pytest.mark.parametrize(
    "points", [[0xD800], [97, 0xDBFF], [0xDFFF], [0xDC7F], [0xDD00], [0xD83D, 0xDC07]], ids=str
)
def test_short_strings_with_other_surrogates(points: list[int]) -> None:
    text = "".join(map(chr, points))
    error, field = attempt("basic.consume-ok", 0, text)
    check(error, "basic.consume-ok", field)
    with pytest.raises(EncodeError):
        amqp.encode(1, amqp.Header(0, amqp.Basic.Properties(user_id=text)))


@pytest.mark.parametrize("value", [b"b\xff", bytearray(b"b\xff"), memoryview(b"b\xff")])
def test_long_strings_take_buffers(value: Any) -> None:
    octets = amqp.encode(0, amqp.Connection.Secure(value))
    assert octets == w.method_frame("connection.secure", 0, challenge=b"b\xff")


def test_long_strings_take_text_as_utf8() -> None:
    octets = amqp.encode(0, amqp.Connection.Secure("é🐇"))
    assert octets == w.method_frame("connection.secure", 0, challenge="é🐇".encode())
    with pytest.raises(EncodeError):
        amqp.encode(0, amqp.Connection.Secure("\ud800"))


def test_long_strings_with_gaps_are_gathered_or_refused() -> None:
    try:
        octets = amqp.encode(0, amqp.Connection.Secure(memoryview(b"abcdef")[::2]))
    except (EncodeError, BufferError):
        return
    assert octets == w.method_frame("connection.secure", 0, challenge=b"ace")


def header_error(**properties: Any) -> EncodeError:
    with pytest.raises(EncodeError) as caught:
        amqp.encode(1, amqp.Header(0, amqp.Basic.Properties(**properties)))
    return caught.value


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, wire in w.PROPERTIES if wire == "s" for value in (1, b"x", "x" * 256)]
    + [(name, value) for name in ("priority", "delivery_mode") for value in (-1, 256, "1", 1.0)]
    + [("headers", value) for value in (1, "x", [], b"")]
    + [("timestamp", value) for value in (-1, 1 << 64, "now", 1.5)],
)
def test_bad_properties(name: str, value: Any) -> None:
    error = header_error(**{name: value})
    assert str(error.field).replace("-", "_").split(".")[-1] == name
    assert error.method is not None
    with pytest.raises(EncodeError) as caught:
        amqp.encode_message(1, amqp.Basic.Publish(), amqp.Basic.Properties(**{name: value}), b"")
    assert str(caught.value.field).replace("-", "_").split(".")[-1] == name


@pytest.mark.parametrize("size", [-1, 1 << 64, "1", 1.0, None])
def test_bad_body_size(size: Any) -> None:
    with pytest.raises((EncodeError, TypeError)):
        amqp.encode(1, amqp.Header(size))


@pytest.mark.parametrize("number", [-1, 256, "1", None])
def test_bad_protocol_header(number: Any) -> None:
    with pytest.raises((EncodeError, TypeError)):
        amqp.encode(0, amqp.ProtocolHeader(minor=number))


def test_header_properties_of_another_kind() -> None:
    for wrong in ({}, {"priority": 1}, amqp.Basic.Publish(), 5):
        with pytest.raises((EncodeError, TypeError)):
            amqp.encode(1, amqp.Header(0, wrong))


BEFORE = datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)
TABLE_ERRORS: dict[str, Any] = {
    "int above int64": 1 << 63,
    "int below int64": -(1 << 63) - 1,
    "huge int": 1 << 200,
    "NaN decimal": Decimal("NaN"),
    "signalling NaN decimal": Decimal("sNaN"),
    "infinite decimal": Decimal("Infinity"),
    "decimal above 32 bits": Decimal(1 << 31),
    "decimal below 32 bits": Decimal(-(1 << 31) - 1),
    "decimal with many digits": Decimal("1.0000000001"),
    "decimal with scale 256": Decimal((0, (1,), -256)),
    "decimal with a huge exponent": Decimal((0, (1,), 1000)),
    "naive datetime": datetime(2024, 1, 1),
    "datetime before 1970": BEFORE,
    "surrogates": "\ud800",
    "set": {1},
    "object": object(),
    "complex": 1j,
    "class": int,
    "bad int typed": lambda: types.Int8(200),
}


@pytest.mark.parametrize("value", TABLE_ERRORS.values(), ids=TABLE_ERRORS.keys())
@pytest.mark.parametrize(
    "wrap",
    [lambda v: {"k": v}, lambda v: {"a": 1, "k": [1, v]}, lambda v: {"k": {"deep": [{"x": v}]}}],
    ids=["plain", "in array", "nested"],
)
def test_bad_table_values(value: Any, wrap: Any) -> None:
    if callable(value) and not isinstance(value, type):
        with pytest.raises((ValueError, OverflowError)):
            amqp.encode(1, amqp.Queue.Declare(arguments=wrap(value())))
        return
    with pytest.raises(EncodeError) as caught:
        amqp.encode(1, amqp.Queue.Declare(arguments=wrap(value)))
    assert caught.value.method == "queue.declare"
    assert str(caught.value.field).startswith("arguments")
    assert "arguments" in str(caught.value)
    error = header_error(headers=wrap(value))
    assert "headers" in str(error.field)


@pytest.mark.parametrize("key", [1, None, b"k", ("a",), 1.5, True])
def test_table_keys_are_text(key: Any) -> None:
    error = header_error(headers={key: 1})
    assert "headers" in str(error.field)


def test_table_keys_have_255_octets() -> None:
    for key in ("k" * 255, "é" * 127, ""):
        octets = amqp.encode(1, amqp.Queue.Declare(arguments={key: None}))
        assert octets == w.method_frame("queue.declare", arguments=w.table((key, b"V")))
    for key in ("k" * 256, "é" * 128):
        with pytest.raises(EncodeError) as caught:
            amqp.encode(1, amqp.Queue.Declare(arguments={"ok": {key: None}}))
        assert caught.value.method == "queue.declare"


def nest(depth: int, kind: str) -> dict[str, Any]:
    value: Any = 1
    for _ in range(depth):
        value = [value] if kind == "array" else {"k": value}
    return {"k": value}


@pytest.mark.parametrize("kind", ["array", "table"])
def test_nesting_is_bounded(kind: str) -> None:
    octets = amqp.encode(1, amqp.Queue.Declare(arguments=nest(100, kind)))
    assert amqp.decode(octets) is not None
    for depth in (200, 5000, 100_000):
        value = nest(depth, kind)
        with pytest.raises(EncodeError) as caught:
            amqp.encode(1, amqp.Queue.Declare(arguments=value))
        assert caught.value.method == "queue.declare"
        while isinstance(value, dict | list):  # taken apart here: its own dealloc may recurse
            value = value.popitem()[1] if isinstance(value, dict) else value.pop()


@pytest.mark.parametrize("kind", ["array", "table"])
def test_encoder_and_decoder_agree_on_the_depth(kind: str) -> None:
    for depth in range(100, 140):
        try:
            octets = amqp.encode(1, amqp.Queue.Declare(arguments=nest(depth, kind)))
        except EncodeError:
            break
        assert amqp.decode(octets) is not None
    else:
        pytest.fail("no limit met")
    raw = w.value_of(1)
    for _ in range(depth):
        raw = w.array(raw) if kind == "array" else w.nested(("k", raw))
    with pytest.raises(ValueError):
        amqp.decode(w.method_frame("queue.declare", arguments=w.table(("k", raw))))


def test_tables_that_contain_themselves() -> None:
    loop: dict[str, Any] = {}
    loop["self"] = loop
    ring: list[Any] = []
    ring.append(ring)
    for value in (loop, {"k": ring}):
        with pytest.raises(EncodeError):
            amqp.encode(1, amqp.Queue.Declare(arguments=value))


def test_timestamps_of_any_zone_are_floored_to_seconds() -> None:
    zone = timezone(timedelta(hours=5, minutes=30))
    moment = datetime(2024, 5, 6, 7, 8, 9, 999_999, tzinfo=zone)
    for field in ("property", "table"):
        properties = (
            amqp.Basic.Properties(timestamp=moment)
            if field == "property"
            else amqp.Basic.Properties(headers={"t": moment})
        )
        seconds = int(moment.timestamp())
        octets = amqp.encode(1, amqp.Header(0, properties))
        assert seconds.to_bytes(8, "big") in octets


def test_timestamp_property_is_refused_when_naive_or_early() -> None:
    for moment in (datetime(2024, 1, 1), BEFORE, datetime(1, 1, 1, tzinfo=UTC)):
        error = header_error(timestamp=moment)
        assert str(error.field).endswith("timestamp")


MARK = "correct-horse-battery"


@pytest.mark.parametrize(
    "frame",
    [
        amqp.Basic.Publish(exchange=MARK * 30),
        amqp.Basic.Publish(exchange=MARK.encode()),
        amqp.Basic.Publish(exchange="\ud800" + MARK),
        amqp.Basic.Ack(MARK),
        amqp.Connection.StartOk(response=[MARK]),
        amqp.Connection.UpdateSecret(new_secret=MARK + "\ud800"),
        amqp.Queue.Declare(arguments=MARK),
        amqp.Queue.Declare(arguments={"k": MARK + "\ud800"}),
        amqp.Queue.Declare(arguments={"k": {MARK}}),
        amqp.Header(0, amqp.Basic.Properties(user_id=MARK * 30)),
        amqp.Header(0, amqp.Basic.Properties(timestamp=MARK)),
        amqp.Body(MARK),
        amqp.Body([MARK]),
    ],
    ids=range(13),
)
def test_messages_hold_no_content(frame: Any) -> None:
    with pytest.raises((EncodeError, TypeError)) as caught:
        amqp.encode(1, frame)
    error: BaseException | None = caught.value
    while error is not None:
        assert MARK not in str(error)
        assert MARK not in repr(error)
        # A UnicodeEncodeError keeps the whole text: it must not be dragged along.
        assert MARK not in repr(error.args)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def test_an_error_leaves_the_frame_as_it_was() -> None:
    publish = amqp.Basic.Publish("orders", "k")
    publish.mandatory = "no"
    with pytest.raises(EncodeError):
        amqp.encode(1, publish)
    publish.mandatory = False
    assert amqp.encode(1, publish) == w.method_frame(
        "basic.publish", exchange="orders", routing_key="k"
    )


def test_a_header_above_frame_max_says_what_to_do() -> None:
    """A content header cannot be split, and its size is that of the headers mostly."""
    publish = amqp.Basic.Publish("", "q")
    large = amqp.Basic.Properties(headers={"k": "x" * 5000})
    with pytest.raises(EncodeError, match=r"the header with the properties.*shorten the headers"):
        amqp.encode_message(1, publish, large, b"b", frame_max=4096)
    with pytest.raises(EncodeError, match=r"100 bytes do not hold the method, which takes 2\d\d"):
        amqp.encode_message(1, amqp.Basic.Publish("", "q" * 200), None, b"b", frame_max=100)
