"""``install(strict=False)``: a header value that cannot be read does not stop the consumer."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import pytest

from amqpcodec import limits, types
from tests.dropins.canon import canon, name_of
from tests.dropins.conftest import need
from tests.dropins.stock import Side, dropin, installed
from tests.support import amqp091_wire as w

GOOD = b"\x01aI\x00\x00\x00\x05"
AFTER = b"\x01zt\x01"
#: An entry that cannot be read, and the tag of what is left of it.
BROKEN = {
    "unknown tag": (b"\x01bZ\x00\x00", "Z"),
    "time out of range": (b"\x01bT" + b"\xff" * 8, "T"),
    "longer than the table": (b"\x01bS\x00\x00\x10\x00ab", "S"),
}
BEHIND = struct.pack(">BHIB", 8, 0, 0, 0xCE)


def frame(entries: bytes) -> Any:
    """A content header with a content type, such headers, and an application id."""
    return w.headers_frame(entries, 5, content_type="x", app_id="app")


def read(side: Side, data: bytes) -> tuple[Any, Any, Any]:
    """(content type, headers, application id) as the client gives them."""
    if side.package == "pamqp":
        consumed, _, header = side.frame.unmarshal(data + BEHIND)
        properties = header.properties
        headers = properties.headers
    elif side.package == "pika":
        consumed, header = side.frame.decode_frame(data + BEHIND)
        properties = header.properties
        headers = properties.headers
    else:
        message = side.basic_message.Message()
        message.inbound_header(data[7:-1])  # says 12, however much it reads
        consumed = len(data)
        properties = message
        headers = message.properties["application_headers"]
    assert consumed == len(data)
    return properties.content_type, headers, properties.app_id


@pytest.fixture
def loose(package: str) -> Iterator[tuple[Side, Side]]:
    with installed(package, strict=False) as both:
        yield both


@pytest.mark.parametrize("name", BROKEN)
def test_the_value_is_raw_and_the_rest_is_there(loose: tuple[Side, Side], name: str) -> None:
    stock, live = loose
    entry, tag = BROKEN[name]
    if stock.package == "pamqp" and tag == "S":
        pytest.skip("pamqp reads what there is")
    data = frame(GOOD + entry)
    content_type, headers, app_id = read(live, data)
    assert (content_type, app_id) == ("x", "app")
    assert list(headers) == ["a", "b"]
    assert headers["a"] == 5
    assert type(headers["b"]) is types.RawValue
    assert headers["b"].tag == tag
    assert headers["b"].octets == entry[3:]


def test_what_follows_a_value_of_known_length(loose: tuple[Side, Side]) -> None:
    _, headers, _ = read(loose[1], frame(GOOD + BROKEN["time out of range"][0] + AFTER))
    assert headers["a"] == 5
    assert type(headers["b"]) is types.RawValue
    assert headers["z"] is True


def test_inside_of_tables_and_arrays(loose: tuple[Side, Side]) -> None:
    inner = BROKEN["unknown tag"][0]
    table = b"\x01tF" + struct.pack(">I", len(GOOD + inner)) + GOOD + inner
    array = b"\x01rA" + struct.pack(">I", 3) + b"VZ\x00"
    _, headers, app_id = read(loose[1], frame(table + array + AFTER))
    assert headers["t"]["a"] == 5
    assert type(headers["t"]["b"]) is types.RawValue
    assert headers["r"][0] is None
    assert type(headers["r"][1]) is types.RawValue
    assert headers["z"] is True
    assert app_id == "app"


def test_what_is_good_stays_the_same(loose: tuple[Side, Side]) -> None:
    stock, live = loose
    data = frame(GOOD + AFTER)
    assert canon(read(live, data)) == canon(read(stock, data))


def test_the_default_is_the_clients_error(package: str) -> None:
    entries = GOOD + BROKEN["unknown tag"][0]
    with installed(package) as (stock, live):
        errors = []
        for side in (stock, live):
            with pytest.raises(Exception) as info:
                read(side, frame(entries))
            errors.append(name_of(info.type))
        assert errors[0] == errors[1]


def test_strict_again_after_loose(package: str) -> None:
    module = dropin(package)
    data = frame(GOOD + BROKEN["unknown tag"][0])
    with installed(package, strict=False) as (_, live):
        read(live, data)
        module.install(strict=True)
        with pytest.raises(Exception):  # noqa: B017 - test above names it
            read(live, data)


def test_a_stream_goes_on() -> None:
    """pika's consumer: a poisoned message between two good ones."""
    need("pika")
    data = frame(GOOD) + frame(GOOD + BROKEN["unknown tag"][0]) + frame(AFTER)
    with installed("pika", strict=False) as (_, live):
        tables = []
        while data:
            consumed, header = live.frame.decode_frame(data)
            tables.append(header.properties.headers)
            data = data[consumed:]
        assert [list(headers) for headers in tables] == [["a"], ["a", "b"], ["z"]]


def test_names_that_are_no_text(loose: tuple[Side, Side]) -> None:
    """What a client makes of them it makes here, too, beside a value that cannot be read."""
    stock, live = loose
    entry = b"\x02\xff\xfet\1"
    _, headers, _ = read(live, frame(entry + BROKEN["unknown tag"][0]))
    if stock.package == "pamqp":
        assert list(headers)[1] == "b"
    else:
        assert list(headers) == [*read(stock, frame(entry))[1], "b"]


def test_tables_deeper_than_there_may_be(loose: tuple[Side, Side]) -> None:
    """The innermost of them are raw."""
    inside = GOOD
    for _ in range(200):
        inside = b"\1kF" + struct.pack(">I", len(inside)) + inside
    _, headers, _ = read(loose[1], frame(inside))
    levels = 0
    while isinstance(headers, dict):
        headers = headers["k"]
        levels += 1
    assert levels == limits.get_max_nesting()
    assert type(headers) is types.RawValue
    assert headers.tag == "F"
    assert headers.octets.endswith(GOOD)
