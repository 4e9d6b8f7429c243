"""An error of encoding names the path inside of a table, a map, a list or an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from amqpcodec import EncodeError
from amqpcodec import v0_9_1 as amqp
from amqpcodec import v1_0 as v1
from tests.support import amqp091_wire as w

BAD = object()


def with_headers(headers: Any) -> Callable[[], bytes]:
    header = amqp.Header(0, amqp.Basic.Properties(headers=headers))
    return lambda: amqp.encode(1, header)


def changed(change: Callable[[dict[str, Any]], None]) -> Callable[[], bytes]:
    """A header that came from the wire, and whose table was changed."""
    table = w.table_of({"n": 1, "deep": {"list": [1, {"x": 2}]}})
    decoded = amqp.decode(w.header_frame(headers=table))
    assert decoded is not None
    change(decoded[2].properties.headers)
    return lambda: amqp.encode(1, decoded[2])


def set_item(container: Any, key: Any) -> None:
    container[key] = BAD


PLACES: dict[str, tuple[Callable[[], bytes], str]] = {
    "name": (with_headers({"a": 1, "tenant": BAD}), "basic.properties.headers['tenant']"),
    "nested": (
        with_headers({"a": {"b": [1, "x", {"c": BAD}]}}),
        "basic.properties.headers['a']['b'][2]['c']",
    ),
    "after nested": (
        with_headers({"a": {"b": [[]]}, "c": [{}, BAD]}),
        "basic.properties.headers['c'][1]",
    ),
    "a name in a table": (
        with_headers({"a": {"k" * 256: 1}}),
        "basic.properties.headers['a']",
    ),
    "long name": (
        with_headers({"k" * 100: BAD}),
        f"basic.properties.headers['{'k' * 64}'...]",
    ),
    "deep": (
        with_headers({"a": [[[[[[[[[[[[[[[[[BAD]]]]]]]]]]]]]]]]]}),
        f"basic.properties.headers[...]{'[0]' * 16}",
    ),
    "argument": (
        lambda: amqp.encode(1, amqp.Queue.Declare(arguments={"x-max-length": [2**70]})),
        "queue.declare.arguments['x-max-length'][0]",
    ),
    "changed": (changed(lambda t: set_item(t, "n")), "basic.properties.headers['n']"),
    "new": (changed(lambda t: set_item(t, "m")), "basic.properties.headers['m']"),
    "changed item": (
        changed(lambda t: set_item(t["deep"]["list"], 0)),
        "basic.properties.headers['deep']['list'][0]",
    ),
    "changed inside": (
        changed(lambda t: set_item(t["deep"]["list"][1], "x")),
        "basic.properties.headers['deep']['list'][1]['x']",
    ),
    "value of 1.0": (lambda: v1.encode_value({"a": [1, {"b": 2**80}]}), "['a'][1]['b']"),
    "map's number": (lambda: v1.encode_value({7: {True: BAD}}), "[7][True]"),
    "Map": (lambda: v1.encode_value(v1.Map([(1.5, BAD)])), "[<float>]"),
    "array": (lambda: v1.encode_value([v1.Array("string", ["a", 5])]), "[0][1]"),
    "array of numbers": (lambda: v1.encode_value(v1.Array("ubyte", [1, 256])), "[1]"),
    "array of lists": (lambda: v1.encode_value(v1.Array("list", [[], [1, BAD]])), "[1][1]"),
    "field of 1.0": (
        lambda: v1.encode(0, v1.Open("c", properties={v1.Symbol("p"): [1, BAD]})),
        "open.properties['p'][1]",
    ),
    "several symbols": (
        lambda: v1.encode(0, v1.Open("c", offered_capabilities=["a", "é"])),
        "open.offered_capabilities[1]",
    ),
    "section": (
        lambda: v1.Message(b"", application_properties={"tenant": BAD}).encode(),
        "application-properties['tenant']",
    ),
}


@pytest.mark.parametrize(("encode", "place"), PLACES.values(), ids=PLACES)
def test_place_of_an_error(encode: Callable[[], bytes], place: str) -> None:
    with pytest.raises(EncodeError) as caught:
        encode()
    assert str(caught.value).startswith(f"{place}: ")
    method = getattr(caught.value, "method", None)
    assert method is None or place.startswith(method)


class Shouting(str):
    """A str whose own repr must not run."""

    def __repr__(self) -> str:
        raise AssertionError


def test_a_subclass_shows_its_text() -> None:
    with pytest.raises(EncodeError, match=r"headers\['loud'\]: a table cannot hold object"):
        with_headers({Shouting("loud"): BAD})()
