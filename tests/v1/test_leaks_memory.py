"""What is made and dropped gives memory and references back, on good paths and on bad ones."""

from __future__ import annotations

import copy
import gc
import pickle
import random
import sys
from typing import Any

import pytest

from amqpcodec import AMQPCodecError
from amqpcodec import v1_0 as amqp
from tests.support.samples_v1 import every_frame
from tests.v1.mutation import mutated

SEEDS = every_frame()
STREAM = b"".join(SEEDS)


def damaged(count: int) -> list[bytes]:
    source = random.Random(count)
    return [mutated(source.choice(SEEDS), source) for _ in range(count)]


DAMAGED = damaged(300)


def frames() -> None:
    for types in ("plain", "typed"):
        for octets in [*SEEDS, *DAMAGED]:
            try:
                result = amqp.decode(octets, types=types)
            except AMQPCodecError:
                continue
            assert result is not None
            _, channel, frame = result
            amqp.encode(channel, frame)
            repr(frame)
            assert frame == copy.copy(frame)
            pickle.loads(pickle.dumps(frame))


def messages() -> None:
    for octets in SEEDS[-3:]:
        result = amqp.decode(octets)
        assert result is not None
        message = amqp.Message.decode(result[2].payload)
        assert message == amqp.Message.decode(message.encode(), eager=True)
        message.header = amqp.Header(ttl=1)
        message.footer = {amqp.Symbol("f"): [1]}
        message.encode()
        message.sections()
        message.body = "other"
        copy.deepcopy(message)


def streams() -> None:
    for copied in (True, False):
        decoder = amqp.MessageDecoder(opened=True, errors="frame", copy=copied)
        for n in range(0, len(STREAM), 100):
            list(decoder.feed(STREAM[n : n + 100]))
        decoder.feed(STREAM[:333])
    strict = amqp.Decoder(opened=True)
    for octets in DAMAGED[:50]:
        try:
            list(strict.feed(octets))
        except AMQPCodecError:
            strict.reset()
            strict.opened = True


def refused() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    wrong: list[Any] = [
        object(),
        {"k": {1, 2}},
        cycle,
        amqp.Header(ttl="x"),
        amqp.Array("int", [1, "x"]),
        amqp.Array("list", [[1], [object()]]),
        amqp.Described(1, object()),
    ]
    for value in wrong:
        for act in (amqp.encode_value, lambda value: amqp.Message(value).encode()):
            with pytest.raises((AMQPCodecError, TypeError)):
                act(value)
    error = amqp.Error("e")
    error.info = {amqp.Symbol("self"): error}
    with pytest.raises(AMQPCodecError):
        amqp.encode_value(error)


@pytest.mark.parametrize("act", [frames, messages, streams, refused])
def test_nothing_is_kept(act: Any) -> None:
    def count() -> tuple[int, int, int]:
        while gc.collect():  # what others left may take several rounds
            pass
        none = sys.getrefcount(None)
        return sys.getallocatedblocks(), none, sys.getrefcount(amqp.Role.SENDER)

    for _ in range(3 if act is frames else 60):  # until freelists and caches are full
        act()
    grown: tuple[int, ...] = ()
    for _ in range(3):  # caches fill up in the end; what is lost is lost again each time
        before = count()
        for _ in range(10):
            act()
        grown = tuple(abs(new - old) for new, old in zip(count(), before, strict=True))
        if grown[0] < 200 and grown[1] < 50 and grown[2] < 10:
            return
    raise AssertionError(f"(blocks, references to None, to a role) more: {grown}")
