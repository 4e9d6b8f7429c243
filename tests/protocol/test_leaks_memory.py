"""What is made and dropped gives its memory back, on the good paths and on the bad ones."""

from __future__ import annotations

import copy
import ctypes
import gc
import pickle
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

import amqpcodec
from amqpcodec import v0_9_1 as amqp
from tests.support import amqp091_wire as w

TABLE = {"n": 1, "list": [1, 2.5, "x", None], "deep": {"k": b"y" * 50}}
HEADER = w.header_frame(5, content_type="text/plain", headers=TABLE, user_id="someone")
DELIVER = w.method_frame("basic.deliver", 1, consumer_tag="some-tag", routing_key="some.key")
STREAM = DELIVER + HEADER + w.body_frame(1, b"hello") + w.HEARTBEAT
BAD = w.header_frame(user_id="someone", headers=w.table(("k", b"S\0\0\0\1a"), ("z", b"Z")))
BAD_METHOD = w.frame(1, 1, w.method_payload("basic.deliver", consumer_tag="t" * 50)[:-1])


def refused(act: Callable[[], Any]) -> None:
    try:
        act()
    except (amqpcodec.AMQPCodecError, TypeError):
        return
    raise AssertionError("no error")


def touch() -> None:
    frame = amqp.decode(HEADER)[2]
    frame.properties.headers["deep"]["new"] = ["x" * 30]
    amqp.encode(1, frame)
    repr(frame)
    assert frame == copy.deepcopy(frame)
    pickle.loads(pickle.dumps(frame))


def half_iterated() -> None:
    decoder = amqp.MessageDecoder()
    frames = decoder.feed(STREAM * 3 + DELIVER)
    next(frames)
    decoder.feed(STREAM[:40])


def bad_frames() -> None:
    decoder = amqp.Decoder(errors="frame")
    assert len(list(decoder.feed(BAD + DELIVER + BAD_METHOD))) == 3


def buffered() -> None:
    decoder = amqp.Decoder(copy=False)
    view = memoryview(decoder.get_buffer(1000))
    view[: len(STREAM)] = STREAM
    view.release()
    decoder.buffer_updated(len(STREAM))
    list(decoder.feed(STREAM))


WORK: dict[str, Callable[[], Any]] = {
    "decode": lambda: [amqp.decode(d) for d in (DELIVER, HEADER, w.HEARTBEAT)],
    "decode typed": lambda: amqp.decode(HEADER, tables="typed")[2].properties.headers,
    "touch": touch,
    "decoder": lambda: list(amqp.Decoder().feed(STREAM)),
    "message decoder": lambda: list(amqp.MessageDecoder().feed(STREAM)),
    "half iterated": half_iterated,
    "bad frames": bad_frames,
    "buffered": buffered,
    "bad header": lambda: refused(lambda: amqp.decode(BAD)),
    "bad method": lambda: refused(lambda: amqp.decode(BAD_METHOD)),
    "bad decoder": lambda: refused(lambda: list(amqp.Decoder().feed(STREAM + BAD))),
    "bad assembly": lambda: refused(lambda: list(amqp.MessageDecoder().feed(DELIVER * 2))),
    "encode": lambda: amqp.encode_message(
        1, amqp.Basic.Publish("e", "k"), amqp.Basic.Properties(headers=TABLE), b"x" * 500
    ),
    "encode parts": lambda: amqp.encode_parts(
        1, amqp.Basic.Publish("e", "k"), amqp.Basic.Properties(headers=TABLE), b"x" * 9000, 4096
    ),
    "encode bad table": lambda: refused(
        lambda: amqp.encode(1, amqp.Queue.Declare(arguments={**TABLE, "bad": [1 << 80]}))
    ),
    "encode bad field": lambda: refused(lambda: amqp.encode(1, amqp.Basic.Publish("x" * 300))),
    "bad keyword": lambda: refused(lambda: amqp.Basic.Publish("e" * 99, nothing=1)),
    "validate": lambda: refused(lambda: amqp.Queue.Declare(queue="a b").validate()),
    "cycle": lambda: amqp.Basic.Properties(headers=(h := {})) and h.update(self=h),
}


def settle() -> None:
    """Leave nothing to collect, nor in the cache of attributes: it keeps 4,096 names, or None."""
    gc.collect()
    ctypes.pythonapi.PyType_ClearCache()


def growth(work: Callable[[], Any]) -> int:
    """Bytes that are traced more after 300 rounds than before."""
    tracemalloc.start()
    try:
        for _ in range(20):
            work()
        settle()
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(300):
            work()
        settle()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return after - before


@pytest.mark.parametrize("work", WORK.values(), ids=WORK.keys())
def test_memory_does_not_grow(work: Callable[[], Any]) -> None:
    for _ in range(300):  # freelists, caches and the like fill here
        work()
    gc.collect()
    # One small object a round would be 300 times 50 bytes, every time. Others in the process may
    # add something once.
    assert any(growth(work) < 6000 for _ in range(3))


@pytest.mark.parametrize("work", WORK.values(), ids=WORK.keys())
def test_references_do_not_leak(work: Callable[[], Any]) -> None:
    """Singletons and classes are not traced by tracemalloc, but their counts tell."""
    watched = [None, True, amqp.Basic.Deliver, amqp.Header, amqp.Basic.Properties, TABLE, DELIVER]
    for _ in range(20):
        work()
    settle()
    before = [sys.getrefcount(item) for item in watched]
    for _ in range(300):
        work()
    settle()
    after = [sys.getrefcount(item) for item in watched]
    for old, new in zip(before, after, strict=True):
        assert abs(new - old) < 100
