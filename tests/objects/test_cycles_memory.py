"""The collector knows every frame that can be part of a cycle, whatever field closes it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import amqpcodec
from amqpcodec import v0_8, v0_9, v0_9_1, v1_0
from amqpcodec.v0_9_1 import Basic


class Marker(dict[str, Any]):
    """A dict that counts how many of its kind live."""

    alive = 0

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        Marker.alive += 1

    def __del__(self) -> None:
        Marker.alive -= 1


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """What was there before is out of the collector's way, so that it has little to look at."""
    gc.collect()
    gc.freeze()
    Marker.alive = 0
    yield
    gc.unfreeze()


def left_after(make: Callable[[], Any]) -> int:
    """How many markers live after what was made is given up and collected."""
    make()
    gc.collect()
    return Marker.alive


def classes() -> list[tuple[str, Any]]:
    """Every class with fields of the built-in versions."""
    names = {
        module.__name__: "-".join(map(str, module.VERSION)) for module in (v0_8, v0_9, v0_9_1, v1_0)
    }
    metatype = type(Basic.Publish)
    pairs = []
    for cls in gc.get_objects():
        if isinstance(cls, metatype) and cls.__module__ in names and getattr(cls, "FIELDS", None):
            pairs.append((f"{names[cls.__module__]} {cls.__qualname__}", cls))
    return sorted(pairs, key=lambda pair: str(pair[0]))


CLASSES = classes()


def test_there_are_classes_of_every_version() -> None:
    assert len({cls.__module__ for _, cls in CLASSES}) == 4
    assert len(CLASSES) > 200


@pytest.mark.parametrize(("name", "cls"), CLASSES, ids=[name for name, _ in CLASSES])
def test_a_cycle_through_any_field_is_collected(name: str, cls: Any) -> None:
    for field in (*cls.FIELDS, *(("payload",) if hasattr(cls, "payload") else ())):

        def assign_field(field: str = field) -> None:
            frame = cls()
            setattr(frame, field, Marker({"me": frame}))

        def construct_with_field(field: str = field) -> None:
            if field == "payload" and field not in cls.FIELDS:
                return
            marker = Marker()
            marker["me"] = cls(**{field: marker})

        def create_without_init(field: str = field) -> None:
            frame = cls.__new__(cls)
            setattr(frame, field, Marker({"me": frame}))

        for way in (assign_field, construct_with_field, create_without_init):
            assert left_after(way) == 0, (field, way.__name__)


def deliver() -> bytes:
    return v0_9_1.encode_message(
        1, Basic.Deliver("tag", 1, False, "ex", "rk"), Basic.Properties(headers={"n": 1}), b"body"
    )


def frames(data: bytes) -> list[Any]:
    return [frame for _, frame in v0_9_1.Decoder().feed(data)]


def cycle_by_headers() -> None:
    _, header, _ = frames(deliver())
    header.properties.headers["m"] = Marker({"me": header})


def cycle_by_properties() -> None:
    _, header, _ = frames(deliver())
    header.properties.headers["m"] = Marker({"me": header.properties})


def cycle_by_method() -> None:
    method, _, _ = frames(deliver())
    method.exchange = Marker({"me": method})


def cycle_by_body() -> None:
    *_, body = frames(deliver())
    body.payload = Marker({"me": body})


def cycle_by_message() -> None:
    [(_, message)] = v0_9_1.MessageDecoder().feed(deliver())
    message.properties.headers["m"] = Marker({"me": message})


def cycle_by_message_in_pieces() -> None:
    decoder = v0_9_1.MessageDecoder()
    data = deliver()
    messages = [m for at in range(len(data)) for _, m in decoder.feed(data[at : at + 1])]
    messages[0].properties.headers["m"] = Marker({"me": messages[0]})


def cycle_by_message_method() -> None:
    [(_, message)] = v0_9_1.MessageDecoder().feed(deliver())
    message.method.routing_key = Marker({"me": message})


def cycle_by_table_of_a_method() -> None:
    _, _, declare = v0_9_1.decode(v0_9_1.encode(1, v0_9_1.Queue.Declare(arguments={"a": [{}]})))
    declare.arguments["a"][0]["m"] = Marker({"me": declare})


def transfer() -> bytes:
    message = v1_0.Message(b"data", application_properties={"a": 1})
    first = v1_0.Transfer(handle=0, delivery_id=0, delivery_tag=b"t")
    return v1_0.encode(0, first, message.encode())


def cycle_by_delivery() -> None:
    [(_, delivery)] = v1_0.MessageDecoder(opened=True).feed(transfer())
    delivery.message.application_properties["m"] = Marker({"me": delivery})


def cycle_by_v1_message() -> None:
    [(_, delivery)] = v1_0.MessageDecoder(opened=True).feed(transfer())
    delivery.message.value = Marker({"me": delivery.message})


def cycle_by_map_of_a_performative() -> None:
    _, _, opened = v1_0.decode(v1_0.encode(0, v1_0.Open("c", properties={v1_0.Symbol("a"): [1]})))
    opened.properties["m"] = Marker({"me": opened})


def cycle_by_source_of_an_attach() -> None:
    attach = v1_0.Attach("n", 0, False, source=v1_0.Source(filter={}))
    _, _, attach = v1_0.decode(v1_0.encode(0, attach))
    attach.source.address = Marker({"me": attach})


CYCLES = [value for name, value in sorted(globals().items()) if name.startswith("cycle_by_")]


@pytest.mark.parametrize("make", CYCLES, ids=[make.__name__ for make in CYCLES])
def test_a_cycle_through_what_was_decoded_is_collected(make: Callable[[], None]) -> None:
    assert left_after(make) == 0


def test_frames_of_numbers_and_text_are_not_tracked() -> None:
    method, _, body = frames(deliver())
    assert not gc.is_tracked(method)
    assert not gc.is_tracked(body)
    assert not gc.is_tracked(Basic.Publish("exchange", routing_key="key"))
    method.exchange = "other"
    assert not gc.is_tracked(method)
    method.exchange = []
    assert gc.is_tracked(method)


def test_a_class_is_collected_with_the_instances_that_it_keeps() -> None:
    """Released instances wait in their class for the next decode, and hold it."""
    pytest.importorskip("lxml")
    protocol: Any = amqpcodec.load_xml_spec(Path(__file__).parents[2] / "spec/amqp0-9-1.xml")
    deliver = weakref.ref(protocol.Basic.Deliver)
    raw = protocol.encode(1, protocol.Basic.Deliver("tag", 5, exchange="", routing_key="key"))
    frames = [protocol.decode(raw) for _ in range(100)]
    del protocol, frames
    for _ in range(3):
        gc.collect()
    assert deliver() is None
