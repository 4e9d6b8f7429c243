"""The lazy dict of decoded headers and the strict walk when it is encoded again.

An untouched table gives its own bytes. A changed one keeps the bytes of every entry that is
still the same value of the same type, and encodes the others by value.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from amqpcodec import v0_9_1 as amqp
from tests.support import amqp091_wire as w
from tests.support.amqp091_same import same

NAN = b"d\x7f\xf8\0\0\0\0\x12\x34"
# Entries that encoding by value would write otherwise: their bytes show that they were kept.
ODD: tuple[tuple[str, bytes], ...] = (
    ("int8", b"b\x05"),
    ("bool", b"t\x07"),
    ("short", b"s\0\5"),
    ("U", b"U\0\6"),
    ("L", b"L" + b"\0" * 7 + b"\7"),
    ("u", b"u\0\x08"),
    ("i", b"i\0\0\0\x09"),
    ("l", b"l" + b"\0" * 7 + b"\x0a"),
    ("f", b"f" + struct.pack(">f", 1.5)),
    ("nan", NAN),
    ("bytes", b"S\0\0\0\1\xff"),
    ("late", b"T" + b"\xff" * 8),
    (
        "deep",
        w.nested(("b", b"b\1"), ("list", w.array(b"b\2", w.nested(("t", b"t\x02")), b"s\0\1"))),
    ),
    ("last", b"B\x0b"),
)
CARRIERS = ["headers", "arguments"]


class Carried:
    """A table in a header's properties or in a method's arguments, seen the same way."""

    def __init__(self, where: str, table: bytes) -> None:
        self.where = where
        if where == "headers":
            self.data = w.header_frame(headers=table, priority=1)
        else:
            self.data = w.method_frame("queue.declare", queue="q", arguments=table)
        self.frame = amqp.decode(self.data)[2]
        self.holder = self.frame.properties if where == "headers" else self.frame

    @property
    def dict(self) -> Any:
        return getattr(self.holder, self.where)

    @dict.setter
    def dict(self, value: Any) -> None:
        setattr(self.holder, self.where, value)

    def table(self) -> bytes:
        """The table's bytes as the frame is encoded now."""
        octets = amqp.encode(1, self.frame)
        # Behind the flags word, or behind queue.declare's "q" and its byte of bits.
        start = 21 if self.where == "headers" else 16
        (size,) = struct.unpack_from(">I", octets, start)
        return octets[start : start + 4 + size]


@pytest.fixture(params=CARRIERS)
def odd(request: pytest.FixtureRequest) -> Carried:
    return Carried(request.param, w.table(*ODD))


def replaced(name: str, raw: bytes) -> bytes:
    return w.table(*((n, raw if n == name else r) for n, r in ODD))


def test_untouched_table_keeps_its_octets(odd: Carried) -> None:
    assert amqp.encode(1, odd.frame) == odd.data


def test_read_table_keeps_its_octets(odd: Carried) -> None:
    first = odd.dict
    assert odd.dict is first
    assert list(first) == [name for name, _ in ODD]
    assert odd.table() == w.table(*ODD)
    assert amqp.encode(1, odd.frame) == odd.data
    assert odd.dict is first


def test_same_dict_after_encode(odd: Carried) -> None:
    first = odd.dict
    first["new"] = 1
    amqp.encode(1, odd.frame)
    assert odd.dict is first
    assert first["new"] == 1


def test_raw_headers_are_the_untouched_octets() -> None:
    table = w.table(*ODD)
    frame = amqp.decode(w.header_frame(headers=table))[2]
    raw = frame.properties.raw_headers
    assert type(raw) is bytes
    assert raw in (table, table[4:])  # with or without the length in front
    frame.properties.headers["deep"]["b"] = 99
    assert frame.properties.raw_headers == raw


def test_raw_headers_of_absent_headers() -> None:
    frame = amqp.decode(w.header_frame(priority=1))[2]
    assert frame.properties.raw_headers is None
    assert frame.properties.headers is None
    assert amqp.Basic.Properties().raw_headers is None


def test_empty_table_is_not_an_absent_one() -> None:
    data = w.header_frame(headers=b"\0\0\0\0")
    frame = amqp.decode(data)[2]
    assert frame.properties.headers == {}
    assert amqp.encode(1, frame) == data
    frame.properties.headers = None
    assert amqp.encode(1, frame) == w.header_frame()


@pytest.mark.parametrize("name", [name for name, _ in ODD if name != "deep"])
def test_changed_entry_alone_is_encoded_by_value(odd: Carried, name: str) -> None:
    odd.dict[name] = "changed"
    assert odd.table() == replaced(name, b"S\0\0\0\7changed")


def test_nested_changes(odd: Carried) -> None:
    odd.dict["deep"]["list"][1]["t"] = False
    deep = w.nested(("b", b"b\1"), ("list", w.array(b"b\2", w.nested(("t", b"t\0")), b"s\0\1")))
    assert odd.table() == replaced("deep", deep)


def test_nested_addition_and_deletion(odd: Carried) -> None:
    odd.dict["deep"]["list"][1]["new"] = None
    del odd.dict["deep"]["b"]
    deep = w.nested(("list", w.array(b"b\2", w.nested(("t", b"t\x02"), ("new", b"V")), b"s\0\1")))
    assert odd.table() == replaced("deep", deep)


def test_array_grows_and_shrinks(odd: Carried) -> None:
    odd.dict["deep"]["list"].append(5)
    inner = [b"b\2", w.nested(("t", b"t\x02")), b"s\0\1"]
    deep = w.nested(("b", b"b\1"), ("list", w.array(*inner, b"I\0\0\0\5")))
    assert odd.table() == replaced("deep", deep)
    del odd.dict["deep"]["list"][2:]
    deep = w.nested(("b", b"b\1"), ("list", w.array(*inner[:2])))
    assert odd.table() == replaced("deep", deep)
    odd.dict["deep"]["list"].clear()
    assert odd.table() == replaced("deep", w.nested(("b", b"b\1"), ("list", w.array())))


@pytest.mark.parametrize("name", [name for name, _ in ODD])
def test_deletion_keeps_the_octets_of_the_rest(odd: Carried, name: str) -> None:
    del odd.dict[name]
    assert odd.table() == w.table(*(entry for entry in ODD if entry[0] != name))


def test_addition_comes_last(odd: Carried) -> None:
    odd.dict["new"] = True
    assert odd.table() == w.table(*ODD, ("new", b"t\1"))


def test_all_deleted(odd: Carried) -> None:
    odd.dict.clear()
    assert odd.table() == w.table()
    odd.dict["x"] = 1
    assert odd.table() == w.table(("x", b"I\0\0\0\1"))


def test_change_and_change_back(odd: Carried) -> None:
    before = odd.dict["int8"]
    odd.dict["int8"] = 6
    assert odd.table() == replaced("int8", b"I\0\0\0\6")
    odd.dict["int8"] = before
    assert odd.table() == w.table(*ODD)


def test_reordered_entries_say_the_new_order(odd: Carried) -> None:
    del odd.dict["late"]  # an int beyond int64 that moved may not be encodable by value
    items = list(odd.dict.items())[::-1]
    odd.dict.clear()
    odd.dict.update(items)
    assert same(Carried(odd.where, odd.table()).dict, dict(items))


def test_one_entry_moved_to_the_end(odd: Carried) -> None:
    odd.dict["bool"] = odd.dict.pop("bool")
    again = Carried(odd.where, odd.table()).dict
    assert list(again) == [n for n, _ in ODD if n != "bool"] + ["bool"]
    assert again["bool"] is True


def test_replaced_dict(odd: Carried) -> None:
    other = {"only": 1}
    odd.dict = other
    assert odd.dict is other
    assert odd.table() == w.table(("only", b"I\0\0\0\1"))
    other["more"] = None
    assert odd.table() == w.table(("only", b"I\0\0\0\1"), ("more", b"V"))


def test_replaced_by_an_equal_dict_says_the_same(odd: Carried) -> None:
    del odd.dict["late"]  # beyond int64: only its own bytes can say it
    odd.dict = dict(odd.dict)
    again = Carried(odd.where, odd.table()).dict
    assert same(again, odd.dict)


def test_replaced_before_first_use(odd: Carried) -> None:
    odd.dict = {"x": None}
    assert odd.table() == w.table(("x", b"V"))


def test_headers_none_removes_them() -> None:
    frame = amqp.decode(w.header_frame(headers=w.table(*ODD), priority=1))[2]
    frame.properties.headers = None
    assert amqp.encode(1, frame) == w.header_frame(priority=1)


def test_other_property_changes_and_headers_stay() -> None:
    frame = amqp.decode(w.header_frame(headers=w.table(*ODD), priority=1))[2]
    frame.properties.priority = 2
    frame.properties.user_id = "u"
    assert amqp.encode(1, frame) == w.header_frame(headers=w.table(*ODD), priority=2, user_id="u")


def test_properties_move_to_another_frame_with_their_octets() -> None:
    properties = amqp.decode(w.header_frame(3, headers=w.table(*ODD)))[2].properties
    octets = amqp.encode(9, amqp.Header(11, properties))
    assert octets == w.header_frame(11, 9, headers=w.table(*ODD))
    message = amqp.encode_message(2, amqp.Basic.Publish(), properties, b"x")
    assert message == w.method_frame("basic.publish", 2) + w.content(2, b"x", headers=w.table(*ODD))


# bytes, the value that replaces it, what must come out
TYPE_CHANGES: dict[str, tuple[bytes, Any, bytes]] = {
    "True to 1": (b"t\1", 1, b"I\0\0\0\1"),
    "False to 0": (b"t\0", 0, b"I\0\0\0\0"),
    "odd True to 1": (b"t\7", 1, b"I\0\0\0\1"),
    "1 to True": (b"b\1", True, b"t\1"),
    "0 to False": (b"I\0\0\0\0", False, b"t\0"),
    "1 to 1.0": (b"b\1", 1.0, b"d" + struct.pack(">d", 1.0)),
    "1.0 to 1": (b"d" + struct.pack(">d", 1.0), 1, b"I\0\0\0\1"),
    "float32 1.0 to 1": (b"f" + struct.pack(">f", 1.0), 1, b"I\0\0\0\1"),
    "True to 1.0": (b"t\1", 1.0, b"d" + struct.pack(">d", 1.0)),
    "0.0 to -0.0": (b"d" + b"\0" * 8, -0.0, b"d\x80" + b"\0" * 7),
    "-0.0 to 0.0": (b"d\x80" + b"\0" * 7, 0.0, b"d" + b"\0" * 8),
    "float32 0.0 to -0.0": (b"f\0\0\0\0", -0.0, b"d\x80" + b"\0" * 7),
    "1.0 to 1.00": (b"D\1\0\0\0\x0a", Decimal("1.00"), b"D\2\0\0\0\x64"),
    "1.00 to 1": (b"D\2\0\0\0\x64", Decimal("1"), b"D\0\0\0\0\1"),
    "decimal 1 to 1": (b"D\0\0\0\0\1", 1, b"I\0\0\0\1"),
    "1 to decimal 1": (b"b\1", Decimal(1), b"D\0\0\0\0\1"),
    "void to 0": (b"V", 0, b"I\0\0\0\0"),
    "void to empty": (b"V", "", b"S\0\0\0\0"),
    "empty to void": (b"S\0\0\0\0", None, b"V"),
    "bytes to text": (b"x\0\0\0\1a", "a", b"S\0\0\0\1a"),
    "text to bytes": (b"S\0\0\0\1a", b"a", b"x\0\0\0\1a"),
    "list to dict": (b"A\0\0\0\0", {}, b"F\0\0\0\0"),
    "dict to list": (b"F\0\0\0\0", [], b"A\0\0\0\0"),
    "late time to the int": (b"T" + b"\0" * 7 + b"\1", 1, b"I\0\0\0\1"),
    "int to time": (b"b\1", datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), b"T" + b"\0" * 7 + b"\1"),
    "in an array": (w.array(b"t\1", b"b\1"), [1, 1], w.array(b"I\0\0\0\1", b"b\1")),
    "in an array, floats": (
        w.array(b"b\1", b"b\1"),
        [1, 1.0],
        w.array(b"b\1", b"d" + struct.pack(">d", 1.0)),
    ),
    "in a table": (
        w.nested(("a", b"t\1"), ("b", b"b\1")),
        {"a": 1, "b": 1},
        w.nested(("a", b"I\0\0\0\1"), ("b", b"b\1")),
    ),
}


@pytest.mark.parametrize("where", CARRIERS)
@pytest.mark.parametrize(("raw", "value", "out"), TYPE_CHANGES.values(), ids=TYPE_CHANGES.keys())
def test_type_changes_are_changes(where: str, raw: bytes, value: Any, out: bytes) -> None:
    carrier = Carried(where, w.table(("a", b"b\1"), ("k", raw), ("z", b"b\2")))
    carrier.dict["k"] = value
    assert carrier.table() == w.table(("a", b"b\1"), ("k", out), ("z", b"b\2"))


@pytest.mark.parametrize("where", CARRIERS)
@pytest.mark.parametrize("raw", [NAN, b"f\x7f\x80\0\1", b"f\xff\xc0\0\0", b"d\xff\xf8" + b"\0" * 6])
def test_nan_that_nobody_touched(where: str, raw: bytes) -> None:
    carrier = Carried(where, w.table(("nan", raw), ("k", b"b\1"), ("a", w.array(raw))))
    carrier.dict["k"] = 5
    assert carrier.table() == w.table(("nan", raw), ("k", b"I\0\0\0\5"), ("a", w.array(raw)))


def test_nan_of_other_bits_is_a_change() -> None:
    carrier = Carried("headers", w.table(("nan", NAN)))
    carrier.dict["nan"] = struct.unpack(">d", b"\x7f\xf8\0\0\0\0\0\1")[0]
    assert carrier.table() == w.table(("nan", b"d\x7f\xf8\0\0\0\0\0\1"))


@pytest.mark.parametrize("where", CARRIERS)
def test_duplicate_names(where: str) -> None:
    entries = [("k", b"b\1"), ("x", b"t\x05"), ("k", b"b\2"), ("y", b"b\3")]
    carrier = Carried(where, w.table(*entries))
    assert amqp.encode(1, carrier.frame) == carrier.data
    assert set(carrier.dict) == {"k", "x", "y"}
    assert carrier.dict["k"] in (1, 2)
    assert amqp.encode(1, carrier.frame) == carrier.data
    carrier.dict["y"] = "changed"
    table = carrier.table()
    again = Carried(where, table)
    assert same(again.dict, carrier.dict)
    assert b"\1xt\x05" in table  # what did not change keeps its bytes
    carrier.dict["k"] = "new"
    assert same(Carried(where, carrier.table()).dict, carrier.dict)
    del carrier.dict["k"]
    assert same(Carried(where, carrier.table()).dict, carrier.dict)
    assert "k" not in Carried(where, carrier.table()).dict


def test_names_that_are_not_utf8() -> None:
    carrier = Carried("headers", w.table((b"\xff", b"b\1"), (b"k\xc3", b"b\2"), ("z", b"b\3")))
    assert list(carrier.dict) == ["\udcff", "k\udcc3", "z"]
    carrier.dict["z"] = 1.0
    carrier.dict["k\udcc3"] = None
    assert carrier.table() == w.table(
        (b"\xff", b"b\1"), (b"k\xc3", b"V"), ("z", b"d" + struct.pack(">d", 1.0))
    )


CHANGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "update": lambda d: d.update(n=[1, {"m": 2}]),
    "setdefault": lambda d: d.setdefault("new", []).append(1),
    "pop": lambda d: d.pop("n"),
    "popitem": lambda d: d.popitem(),
    "nested list sort": lambda d: d["list"].sort(),
    "nested extend": lambda d: d["list"].extend([None, b"x"]),
    "nested clear": lambda d: d["n"].clear(),
    "swap": lambda d: d.update(n=d["list"], list=d["n"]),
    "shared twice": lambda d: d.update(again=d["list"]),
    "rename": lambda d: d.update(m=d.pop("n")),
}


@pytest.mark.parametrize("where", CARRIERS)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_any_change_says_what_the_dict_says(where: str, change: Any) -> None:
    table = w.table_of({"n": {"a": 1, "b": 2.5}, "list": [3, 1, 2], "s": "text"})
    carrier = Carried(where, table)
    change(carrier.dict)
    assert same(Carried(where, carrier.table()).dict, carrier.dict)


def test_two_decodes_share_nothing() -> None:
    data = w.header_frame(headers=w.table_of({"n": {"a": [1]}}))
    one, other = amqp.decode(data)[2], amqp.decode(data)[2]
    one.properties.headers["n"]["a"].append(2)
    assert other.properties.headers == {"n": {"a": [1]}}
    assert one.properties.raw_headers == other.properties.raw_headers


def test_instances_used_again_keep_nothing_of_the_table_before() -> None:
    """Sizes around the memory that an instance keeps, one after the other in the same instance."""
    sizes = [0, 1, 111, 112, 113, 1023, 1024, 1025, 70_000, 3, 0, 5000, 2]
    for size in sizes:
        table = w.table(("k", b"S" + size.to_bytes(4, "big") + bytes([size % 251]) * size))
        data = w.header_frame(headers=table)
        frame = amqp.decode(data)[2]
        assert frame.properties.raw_headers == table[4:]
        assert amqp.encode(1, frame) == data
        assert frame.properties == amqp.decode(data)[2].properties
        del frame
        none = amqp.decode(w.header_frame(priority=1))[2].properties
        assert (none.headers, none.raw_headers) == (None, None)
        assert amqp.Basic.Properties().raw_headers is None
        assert amqp.Queue.Declare().raw_arguments is None


def test_raw_bytes_stay_as_they_were_once_taken() -> None:
    properties = amqp.decode(w.header_frame(headers=w.table_of({"n": 1})))[2].properties
    raw = properties.raw_headers
    del properties
    amqp.decode(w.header_frame(headers=w.table_of({"m": 2})))
    assert raw == w.table_of({"n": 1})[4:]


def test_comparison_does_not_depend_on_what_was_read() -> None:
    data = w.header_frame(headers=w.table(*ODD[:8]))
    one, other = amqp.decode(data)[2], amqp.decode(data)[2]
    assert one == other
    assert one.properties.headers is not None
    assert one == other
    one.properties.headers["int8"] = 6
    assert one != other
    one.properties.headers["int8"] = 5
    assert one == other


def test_changes_encode_in_the_dialect_of_the_call() -> None:
    carrier = Carried("headers", w.table(("a", b"b\1"), ("k", b"b\2")))
    carrier.dict["k"] = 1 << 40
    rabbit = amqp.encode(1, carrier.frame, dialect="rabbitmq")
    pdf = amqp.encode(1, carrier.frame, dialect="0-9-1")
    number = (1 << 40).to_bytes(8, "big")
    assert rabbit == w.header_frame(
        headers=w.table(("a", b"b\1"), ("k", b"l" + number)), priority=1
    )
    assert pdf == w.header_frame(headers=w.table(("a", b"b\1"), ("k", b"L" + number)), priority=1)


@pytest.mark.parametrize("value", [1 << 63, datetime(2024, 1, 1), object(), "\ud800"])
def test_a_change_that_cannot_be_encoded_is_an_error(value: Any) -> None:
    carrier = Carried("headers", w.table(*ODD))
    carrier.dict["deep"]["list"].append(value)
    with pytest.raises(ValueError):
        amqp.encode(1, carrier.frame)
    carrier.dict["deep"]["list"].pop()
    assert amqp.encode(1, carrier.frame) == carrier.data


def test_a_new_name_that_is_no_text_is_an_error() -> None:
    carrier = Carried("headers", w.table(*ODD))
    carrier.dict["deep"][5] = 1
    with pytest.raises(ValueError, match="a table name is a str, not int"):
        amqp.encode(1, carrier.frame)
    del carrier.dict["deep"][5]
    assert amqp.encode(1, carrier.frame) == carrier.data
