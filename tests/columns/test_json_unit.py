"""JSON text of arguments and headers: the rules of the contract, one by one."""

from __future__ import annotations

import base64
import json
import math
import struct
from decimal import Decimal
from random import Random

import pytest

from tests.columns.batch_rows import expected_arguments, json_table, rows
from tests.reference import Method, encode_table
from tests.support import amqp091_wire as w


def headers(table: bytes) -> str:
    """The JSON of a header table; the same must come of it as an argument."""
    (row,) = rows(w.header_frame(headers=table), fields=["properties", "error"])
    assert row["error"] is None
    text = row["properties"]["headers"]
    (row,) = rows(w.method_frame("connection.start-ok", client_properties=table))
    assert json.loads(row["arguments"])["client_properties"] == json.loads(text)
    assert text in row["arguments"]
    return str(text)


def value(octets: bytes) -> str:
    text = headers(w.table(("k", octets)))
    assert text.startswith('{"k":')
    return text[5:-1]


@pytest.mark.parametrize(
    ("octets", "text"),
    [
        (b"t\0", "false"),
        (b"t\1", "true"),
        (b"t\xff", "true"),
        (b"b\x80", "-128"),
        (b"B\xff", "255"),
        (b"s\x80\0", "-32768"),
        (b"U\xff\xff", "-1"),
        (b"u\xff\xff", "65535"),
        (b"I\x80\0\0\0", "-2147483648"),
        (b"I\0\0\0\0", "0"),
        (b"i\xff\xff\xff\xff", "4294967295"),
        (b"l\x80" + b"\0" * 7, "-9223372036854775808"),
        (b"l\x7f" + b"\xff" * 7, "9223372036854775807"),
        (b"L" + b"\xff" * 8, "-1"),
        (b"V", "null"),
        (b"T" + b"\0" * 8, '{"$timestamp":0}'),
        (b"T" + b"\xff" * 8, '{"$timestamp":18446744073709551615}'),
        (b"D\2\0\0\0\x96", '{"$decimal":"1.50"}'),
        (b"D\0\xff\xff\xff\xff", '{"$decimal":"-1"}'),
        (b"D\3\xff\xff\xff\xff", '{"$decimal":"-0.001"}'),
        (b"D\2\0\0\0\0", '{"$decimal":"0.00"}'),
        (b"D\1\x80\0\0\0", '{"$decimal":"-214748364.8"}'),
        (b"S\0\0\0\0", '""'),
        (b"S\0\0\0\2\xc3\xa9", '"é"'),
        (b"S\0\0\0\2\xff\0", '{"$binary":"/wA="}'),
        (b"S\0\0\0\3\xed\xa0\x80", '{"$binary":"7aCA"}'),  # a surrogate is no UTF-8
        (b"x\0\0\0\0", '{"$binary":""}'),
        (b"x\0\0\0\1a", '{"$binary":"YQ=="}'),
        (b"x\0\0\0\2ab", '{"$binary":"YWI="}'),
        (b"x\0\0\0\3abc", '{"$binary":"YWJj"}'),
        (b"A\0\0\0\0", "[]"),
        (b"A\0\0\0\4VVt\1", "[null,null,true]"),
        (b"F\0\0\0\0", "{}"),
    ],
)
def test_values(octets: bytes, text: str) -> None:
    assert value(octets) == text


def test_escapes() -> None:
    every = bytes(range(128))
    text = value(b"S" + w.longstr(every))
    assert text == json.dumps(every.decode(), ensure_ascii=False)
    assert not [c for c in text if c < " "]
    assert json.loads(text) == every.decode()


def test_text_beyond_ascii_stays_as_it_is() -> None:
    odd = "\u2028\u2029\ufeff\ufffd\U0001f407\U0010ffff\x7f\x80"
    assert value(b"S" + w.longstr(odd.encode())) == f'"{odd}"'


DOUBLES = [
    0.0, -0.0, 1.0, -1.0, 0.1, 1.5, 100.0, 1e15, 1e16, 1e17, 1e22, 1e23, 9.5e-5,
    123456789012345680.0, 1e-4, 1e-5, 5e-324, 2.2250738585072014e-308, 2.225073858507201e-308,
    1.7976931348623157e308,
    9007199254740991.0, 9007199254740992.0, 9007199254740994.0, 4503599627370496.5, 2.0**-1074,
    2.0**1023, 0.3, 2 / 3, 9.999999999999999e22, 1.2345e-300, 8.41e21, 2.0**70, 1 - 2**-53,
]  # fmt: skip


def check_doubles(numbers: list[float]) -> None:
    for start in range(0, len(numbers), 500):
        some = numbers[start : start + 500]
        items = b"".join(b"d" + struct.pack(">d", number) for number in some)
        assert value(b"A" + w.longstr(items)) == "[" + ",".join(map(repr, some)) + "]"


def test_doubles() -> None:
    """As Python's repr: the shortest that reads back, and always told from an integer."""
    check_doubles(DOUBLES + [-number for number in DOUBLES])
    check_doubles([2.0**n for n in range(-1074, 1024)])
    check_doubles([float(f"1e{n}") for n in range(-323, 309)])
    neighbours = [math.nextafter(2.0**n, to) for n in range(-1073, 1024) for to in (0, math.inf)]
    check_doubles([number for number in neighbours if math.isfinite(number)])


def test_random_doubles() -> None:
    rng = Random(12)
    numbers = [struct.unpack(">d", rng.randbytes(8))[0] for _ in range(20000)]
    numbers += [round(rng.uniform(-1e6, 1e6), rng.randrange(9)) for _ in range(10000)]
    numbers += [float(rng.getrandbits(rng.randrange(1, 64))) for _ in range(5000)]
    check_doubles([number for number in numbers if math.isfinite(number)])


@pytest.mark.parametrize(
    ("octets", "text"),
    [
        ("7ff8000000000000", '{"$double":"NaN"}'),
        ("fff8000000000001", '{"$double":"NaN"}'),
        ("7ff0000000000000", '{"$double":"Infinity"}'),
        ("fff0000000000000", '{"$double":"-Infinity"}'),
    ],
)
def test_doubles_that_json_lacks(octets: str, text: str) -> None:
    assert value(b"d" + bytes.fromhex(octets)) == text


@pytest.mark.parametrize("number", [0.1, 1.0, -2.5, 3.4028234663852886e38, 1e-45, 16777216.0])
def test_floats_as_doubles(number: float) -> None:
    octets = struct.pack(">f", number)
    assert value(b"f" + octets) == repr(struct.unpack(">f", octets)[0])


def test_float_that_is_no_number() -> None:
    assert value(b"f\x7f\xc0\0\0") == '{"$double":"NaN"}'
    assert value(b"f\xff\x80\0\0") == '{"$double":"-Infinity"}'


@pytest.mark.parametrize("scale", [0, 1, 5, 9, 10, 11, 28, 255])
@pytest.mark.parametrize("unscaled", [0, 7, -7, 1234567890, 2147483647, -2147483648])
def test_decimals_keep_every_digit(scale: int, unscaled: int) -> None:
    text = json.loads(value(struct.pack(">cBi", b"D", scale, unscaled)))["$decimal"]
    sign, digits, exponent = Decimal(text).as_tuple()
    assert (sign, exponent) == (unscaled < 0, -scale)
    assert int("".join(map(str, digits))) == abs(unscaled)
    assert "E" not in text


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (b"", ""),
        (b"k", "k"),
        (b"$", "$$"),
        (b"$k", "$$k"),
        (b"$$", "$$$"),
        (b"$binary", "$$binary"),
        (b"$key:a", "$$key:a"),
        (b"k$", "k$"),
        ("é".encode(), "é"),
        ("$é".encode(), "$$é"),
        (b"\xff", "$key:/w=="),
        (b"$\xff", "$key:JP8="),
        (b'"\\\n', '"\\\n'),
        (b'$"\\', '$$"\\'),
        (b"\0", "\0"),
        (b"k" * 255, "k" * 255),
        (b"\xff" * 255, "$key:" + base64.b64encode(b"\xff" * 255).decode()),
    ],
)
def test_keys(key: bytes, text: str) -> None:
    assert headers(w.table((key, b"b\1"))) == "{" + json.dumps(text, ensure_ascii=False) + ":1}"
    # the same in the form for duplicates
    twice = json.loads(headers(w.table((key, b"b\1"), (key, b"b\2"))))
    assert twice == {"$table": [[text, 1], [text, 2]]}


def test_duplicates_of_empty_keys() -> None:
    """Their tag stands where their first byte would."""
    assert headers(w.table(("", b"V"), ("", b"t\1"))) == '{"$table":[["",null],["",true]]}'


@pytest.mark.parametrize("count", [1, 2, 7, 23, 24, 25, 26, 60, 500])
@pytest.mark.parametrize("length", [0, 1, 2, 3, 6, 7, 8, 30])
def test_duplicates_among_many_keys(count: int, length: int) -> None:
    """The fast look for a few keys and the sorted one for many agree with a set."""
    rng = Random(count * 100 + length)
    for _ in range(4):
        keys = [rng.choice("ab").encode() * length + b"%d" % n for n in range(count)]
        rng.shuffle(keys)
        for twice in (False, True):
            if twice and count > 1:
                keys[rng.randrange(count)] = keys[0]
            table = [(key, ("b", number % 100)) for number, key in enumerate(keys)]
            assert headers(encode_table(table)) == json_table(table)


def test_duplicates_deep_inside_cost_no_more() -> None:
    """Each level is looked through once: 100 levels that all end in a duplicate are quick."""
    inner = w.nested(("k", b"V"), ("k", b"V"))
    for _ in range(100):
        inner = w.nested(("k", inner), ("k", b"V"))
    text = value(inner)
    assert text.count("$table") == 101


def test_nesting_to_the_limit() -> None:
    inner = w.nested(("k", b"V"))
    for _ in range(126):
        inner = w.nested(("k", inner))
    text = value(inner)
    assert text == '{"k":' * 127 + "null" + "}" * 127
    (row,) = rows(w.header_frame(headers=w.table(("k", w.nested(("k", inner))))))
    assert row["properties"] is None
    assert "nested deeper" in row["error"]


def test_arrays_in_tables_in_arrays() -> None:
    octets = w.array(w.nested(("a", w.array(b"V", w.nested(("$b", b"b\1"))))), b"b\2")
    assert value(octets) == '[{"a":[null,{"$$b":1}]},2]'


def test_growth() -> None:
    """Text that takes much more in JSON than on the wire."""
    octets = b"S" + w.longstr(b"\1" * 100_000)
    assert value(octets) == '"' + "\\u0001" * 100_000 + '"'
    nulls = w.array(*[b"V"] * 50_000)
    assert value(nulls) == "[" + ",".join(["null"] * 50_000) + "]"
    tiny = w.array(*[b"D\xff\0\0\0\1"] * 3000)
    assert json.loads(value(tiny)) == [{"$decimal": "0." + "0" * 254 + "1"}] * 3000


# ---- arguments ----


def arguments(name: str, **values: object) -> str:
    (row,) = rows(w.method_frame(name, **values), fields=["arguments"])
    return str(row["arguments"])


def test_no_arguments() -> None:
    assert arguments("channel.close-ok") == "{}"


def test_reserved_arguments_only_where_they_say_something() -> None:
    assert arguments("queue.purge", queue="q") == '{"queue":"q","no_wait":false}'
    text = '{"reserved_1":7,"queue":"q","no_wait":true}'
    assert arguments("queue.purge", reserved_1=7, queue="q", no_wait=True) == text
    assert arguments("channel.open") == "{}"
    assert arguments("channel.open", reserved_1="x") == '{"reserved_1":"x"}'
    assert arguments("channel.open-ok", reserved_1=b"x") == '{"reserved_1":"x"}'


def test_names_are_those_of_python() -> None:
    assert arguments("basic.qos") == '{"prefetch_size":0,"prefetch_count":0,"global_":false}'
    assert arguments("confirm.select", nowait=True) == '{"no_wait":true}'


def test_long_strings() -> None:
    text = '{"challenge":"PLAIN"}'
    assert arguments("connection.secure", challenge=b"PLAIN") == text
    text = '{"challenge":{"$binary":"AP8="}}'
    assert arguments("connection.secure", challenge=b"\0\xff") == text


def test_whole_range_of_integers() -> None:
    text = '{"delivery_tag":18446744073709551615,"multiple":true}'
    assert arguments("basic.ack", delivery_tag=(1 << 64) - 1, multiple=True) == text


def test_no_row_of_the_oracle_is_empty_by_mistake() -> None:
    """The expectation of the other tests says something."""
    method = Method("basic.ack", {"delivery-tag": 3, "multiple": 1})
    assert expected_arguments(method) == ('{"delivery_tag":3,"multiple":true}', None)
