"""What is named like a secret in the properties of a connection is hidden, however deep it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from amqpcodec import v0_9_1
from amqpcodec import v1_0 as v1
from tests.capture.rows import rows
from tests.support import amqp091_wire as wire
from tests.support import recording as make
from tests.support.amqp10_wire import ARRAY32, LIST32, MAP32, compound, open_with

SECRET = b"hunter2-is-the-secret"
TEXT = SECRET.decode()

#: Properties that hold SECRET where a secret's name leads to it, and "shown" where none does.
NESTED: dict[str, dict[str, Any]] = {
    "a table in an array": {"a": [{"password": TEXT}, {"k": "shown"}]},
    "an array": {"password": [SECRET, TEXT, 5], "k": "shown"},
    "a table": {"password": {"x": SECRET, "y": {"z": TEXT}}, "k": "shown"},
    "arrays in arrays": {"a": [[[{"token": [[SECRET]]}]], "shown"]},
    "an array in a table": {"secret": {"a": [{"b": TEXT}]}, "k": ["shown"]},
    "a name in a table": {"credentials": {TEXT: 1}, "k": "shown"},
    "a table in tables": {"k": {"a": {"Authorization": SECRET}, "b": "shown"}},
    "after other values": {"passwd": {}, "a": [], "k": "shown", "client-secret": [True, SECRET]},
}


def start_of(properties: dict[str, Any]) -> bytes:
    connection = v0_9_1.Connection
    start = connection.StartOk(properties, mechanism="EXTERNAL", response=b"")
    return v0_9_1.PROTOCOL_HEADER + v0_9_1.encode(0, start)


def open_of(properties: dict[str, Any]) -> bytes:
    return v1.PROTOCOL_HEADER + v1.encode(0, v1.Open("c", properties=properties))


def read(client: bytes, **how: Any) -> list[dict[str, Any]]:
    packets = [make.client(1001 + at, client[at : at + 1400]) for at in range(0, len(client), 1400)]
    return rows(make.pcap([*make.opening(), *packets]), **{"redact": True, **how})


def shown(client: bytes, **how: Any) -> bytes:
    """All text and bytes of all columns."""
    return repr(read(client, **how)).encode()


@pytest.mark.parametrize("field_tables", ["json", "variant", "map"])
@pytest.mark.parametrize("start", [start_of, open_of])
@pytest.mark.parametrize("properties", NESTED.values(), ids=NESTED)
def test_secrets_in_tables_and_arrays(
    properties: dict[str, Any], start: Callable[[dict[str, Any]], bytes], field_tables: str
) -> None:
    """The frame is as good as before, and what is beside them is shown."""
    rows = read(start(properties), field_tables=field_tables)
    assert SECRET not in repr(rows).encode()
    assert b"shown" in repr(rows).encode()
    assert [row["error"] for row in rows if row["error"]] == []
    assert SECRET in shown(start(properties), field_tables=field_tables, redact=False)


@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize("start", [start_of, open_of])
@pytest.mark.parametrize("properties", NESTED.values(), ids=NESTED)
def test_secrets_in_frames_that_are_cut_off(
    properties: dict[str, Any], start: Callable[[dict[str, Any]], bytes], level: str
) -> None:
    data = start(properties)
    for end in range(9, len(data), 3):
        output = shown(data[:end], level=level)
        assert not [n for n in range(0, len(SECRET) - 7, 7) if SECRET[n : n + 7] in output]


def start_frame(table: bytes) -> bytes:
    name = "connection.start-ok"
    return wire.method_frame(name, 0, client_properties=table, mechanism="EXTERNAL")


def frame_of(client: bytes) -> bytes:
    """The frame after the protocol header, as a redacted capture has it."""
    frame: bytes = read(client)[1]["frame"]
    return frame


#: Bytes of a value -> its tags in RabbitMQ's dialect.
SCALARS = {0: "V", 1: "tbB", 2: "Uus", 4: "Iif", 5: "D", 8: "lLdT"}


@pytest.mark.parametrize(("size", "tag"), [(n, tag) for n, tags in SCALARS.items() for tag in tags])
def test_what_is_no_text_becomes_zeros(size: int, tag: str) -> None:
    def table(hidden: bytes, name: bytes) -> bytes:
        value, public_value = tag.encode() + hidden * size, tag.encode() + b"w" * size
        entries = ("n", public_value), ("token", value), ("tokens", wire.array(value, value))
        return wire.table(
            *entries, ("secrets", wire.nested((name, value))), ("a", wire.array(public_value))
        )

    sent, expected = table(b"w", b"name"), table(b"\0", b"****")
    assert frame_of(v0_9_1.PROTOCOL_HEADER + start_frame(sent)) == start_frame(expected)


def test_tables_that_cannot_be_read() -> None:
    """All that follows in such a table is hidden; what follows the table is shown."""
    password = wire.shortstr("password")
    for tag in (b"z", b"\0", b"S\0\0\1\0", b"F\xff\xff\xff\xff", b"A\0\0\1"):
        for broken in (
            password + tag + SECRET,
            wire.shortstr("k") + tag + password + b"S" + SECRET,
        ):
            bad = b"F" + wire.longstr(broken)
            table = wire.table(
                ("a", bad), ("array", wire.array(bad)), ("k", b"S" + wire.longstr(b"shown"))
            )
            frame = frame_of(v0_9_1.PROTOCOL_HEADER + start_frame(table))
            assert SECRET[:8] not in frame
            assert SECRET[-8:] not in frame
            assert broken[: broken.index(tag) + 1] in frame
            assert b"shown" in frame


def test_names_that_are_longer_than_their_table() -> None:
    """They are hidden, as what follows them would be; what stands before them is shown."""
    for size in (len(SECRET), len(SECRET) + 1, 255):
        before = wire.shortstr("n") + b"S" + wire.longstr(b"shown-before")
        bad = b"F" + wire.longstr(before + bytes([size]) + SECRET)
        table = wire.table(("a", bad), ("k", b"S" + wire.longstr(b"shown-after")))
        frame = frame_of(v0_9_1.PROTOCOL_HEADER + start_frame(table))
        assert frame == start_frame(table.replace(SECRET, b"*" * len(SECRET)))


@pytest.mark.parametrize("depth", [1, 126, 127, 128, 129, 5000])
def test_tables_too_deep_to_be_read(depth: int) -> None:
    tables = wire.shortstr("password") + b"S" + wire.longstr(SECRET)
    arrays = b"F" + wire.longstr(tables)
    for _ in range(depth):
        tables = b"\1aF" + wire.longstr(tables)
        arrays = b"A" + wire.longstr(arrays)
    for pairs in (tables, b"\1a" + arrays):
        data = v0_9_1.PROTOCOL_HEADER + start_frame(wire.longstr(pairs))
        assert SECRET not in shown(data)
        assert SECRET in shown(data, redact=False)


TRUE, FALSE = 0x41, 0x42

#: Bytes of a value -> constructors.
FIXED = {
    0: "404142434445",
    1: "50515253545556",
    2: "6061",
    4: "7071727374",
    8: "8081828384",
    16: "9498",
}


@pytest.mark.parametrize(
    ("size", "code"), [(n, code) for n, codes in FIXED.items() for code in bytes.fromhex(codes)]
)
def test_what_is_no_text_of_1_0_becomes_zeros(size: int, code: int) -> None:
    """And true, which has no bytes, becomes false."""

    def frame(code: int, content: bytes, name: bytes, public_value: bytes) -> bytes:
        value = bytes([code]) + content * size
        array = compound(ARRAY32, bytes([code]) + content * size * 2, 2)
        nested = compound(MAP32, b"\xa3\4" + name + value, 2)
        described = b"\0\xa3\4" + name + value
        values = (value, array, nested, described, compound(LIST32, value))
        entries = b"".join(b"\xa1\5token" + hidden_value for hidden_value in values)
        return open_with(compound(MAP32, b"\xa1\1n" + public_value + entries, 12))

    public_value = bytes([code]) + b"w" * size
    expected = frame(FALSE if code == TRUE else code, b"\0", b"****", public_value)
    assert frame_of(v1.PROTOCOL_HEADER + frame(code, b"w", b"name", public_value)) == expected


#: Values of 1.0 that hold SECRET.
VALUES = [
    v1.Described(v1.Symbol("d"), SECRET),
    v1.Described(v1.Symbol(TEXT), ["x"]),
    [v1.Described(5, {"a": [SECRET]})],
    v1.Array("string", [TEXT, TEXT]),
    v1.Array("list", [[SECRET], [{"x": v1.Symbol(TEXT)}]]),
    v1.Array("binary", [SECRET], descriptors=[v1.Symbol(TEXT), 5]),
    v1.Map([(SECRET, SECRET), (5, v1.Symbol(TEXT)), ({TEXT: 1}, None)]),
]


@pytest.mark.parametrize("field_tables", ["json", "variant"])
@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_secrets_of_1_0_of_any_type(value: Any, field_tables: str) -> None:
    password_map = {"password": value, "k": "shown"}
    described = v1.Map([(v1.Described(5, v1.Symbol("password")), value), ({"token": value}, 1)])
    inside = {
        "a": v1.Array("map", [password_map], descriptors=[5]),
        "b": v1.Described(5, [described]),
    }
    for properties in (password_map, described, inside):
        rows = read(open_of(properties), field_tables=field_tables)
        assert SECRET not in repr(rows).encode()
        assert [row["error"] for row in rows if row["error"]] == []
        assert SECRET in shown(open_of(properties), field_tables=field_tables, redact=False)
    assert b"shown" in shown(open_of(inside), field_tables=field_tables)


def test_an_open_that_cannot_be_read() -> None:
    """Its properties are hidden as those of one that can be."""
    field = v1.encode(0, v1.Open("c", properties={"k": "shown", "password": [SECRET]}))
    bad_type = field.replace(b"\xa1\1c", b"\x52\5\x40")  # a number, and a field more
    assert bad_type != field
    output = shown(v1.PROTOCOL_HEADER + bad_type)
    assert SECRET not in output
    assert b"shown" in output


#: What an array of 1.0 holds that cannot be read to its end -> what is left of it.
ARRAYS = {
    "a descriptor alone": (b"\0\x53\5", b"\0\x53\5"),
    "a constructor that is none": (b"\x3f" + SECRET, b"\x3f" + b"*" * len(SECRET)),
    "an item that is cut": (b"\xa0\2ok\xff" + SECRET, b"\xa0\2ok" + b"*" * (1 + len(SECRET))),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_1_0_that_cannot_be_read(name: str) -> None:
    """What follows where that ends is hidden, and what stands after the array is read on."""

    def sent(content: bytes, password: bytes) -> bytes:
        array = b"\xa1\1k" + compound(ARRAY32, content, 2)
        return open_with(
            compound(MAP32, array + b"\xa1\x08password\xa1\x15" + password + b"\xa1\1n\x54\7", 6)
        )

    content, masked_content = ARRAYS[name]
    expected = sent(masked_content, b"*" * len(SECRET))
    assert frame_of(v1.PROTOCOL_HEADER + sent(content, SECRET)) == expected


@pytest.mark.parametrize("depth", [1, 61, 62, 63, 64, 124, 125, 126, 127, 128, 5000])
def test_values_of_1_0_too_deep_to_be_read(depth: int) -> None:
    lists = described = compound(MAP32, b"\xa1\x08password\xa1\x15" + SECRET, 2)
    arrays = compound(ARRAY32, lists)
    for _ in range(depth):
        lists = compound(LIST32, lists)
        described = b"\0\x53\5" + described
        arrays = compound(ARRAY32, arrays)
    for value in (lists, described, arrays):
        data = v1.PROTOCOL_HEADER + open_with(compound(MAP32, b"\xa1\1k" + value, 2))
        assert SECRET not in shown(data)
        assert SECRET in shown(data, redact=False)
