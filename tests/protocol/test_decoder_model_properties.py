"""A decoder under any order of its operations behaves as a plain buffer of bytes would."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings

from amqpcodec import v0_9_1 as amqp
from tests.support import amqp091_gen as gen
from tests.support import amqp091_strategies as some
from tests.support.amqp091_same import key_of


class Model:
    """The bytes that came and were not yet read, and the frames one call of decode finds."""

    def __init__(self) -> None:
        self.octets = b""

    def take(self) -> Any:
        result = amqp.decode(self.octets)
        if result is None:
            return None
        self.octets = self.octets[result[0] :]
        return (result[1], key_of(result[2]))


class Play:
    """One random play: the decoder, the model and the iterators that are still open."""

    def __init__(self, rng: Random, *, copy: bool) -> None:
        self.rng = rng
        self.model = Model()
        self.decoder = amqp.Decoder(0, copy=copy)
        self.open: list[Iterator[Any]] = []
        self.frames_with_keys: list[tuple[Any, Any]] = []
        self.unsent = b""

    def piece(self) -> bytes:
        """The next bytes of an endless valid stream."""
        if not self.unsent:
            self.unsent = gen.stream(self.rng, self.rng.randrange(1, 4))
        size = self.rng.choice((0, 1, 7, 8, 30, len(self.unsent)))
        piece, self.unsent = self.unsent[:size], self.unsent[size:]
        self.model.octets += piece
        return piece

    def feed(self) -> None:
        piece = self.piece()
        if self.rng.random() < 0.5:
            self.open.append(self.decoder.feed(piece))
            return
        buffer = bytearray(piece)
        self.open.append(self.decoder.feed(buffer))
        buffer[:] = b"\xee" * len(buffer)
        buffer.clear()

    def push(self) -> None:
        piece = self.piece()
        view = memoryview(self.decoder.get_buffer(self.rng.choice((-1, 0, 1, len(piece) + 1))))
        while piece:
            size = min(view.nbytes, len(piece))
            view[:size] = piece[:size]
            view.release()
            self.decoder.buffer_updated(size)
            piece = piece[size:]
            view = memoryview(self.decoder.get_buffer(-1))
        view.release()

    def read(self) -> None:
        if not self.open:
            return
        frames = self.rng.choice(self.open)
        for _ in range(self.rng.randrange(1, 6)):
            item = next(frames, None)
            expected = self.model.take()
            if item is None:
                assert expected is None
                self.open.remove(frames)
                return
            assert (item[0], key_of(item[1])) == expected
            self.frames_with_keys.append((item[1], expected[1]))

    def reset(self) -> None:
        """Starts over at a frame's first byte, for both."""
        if self.rng.random() < 0.2:
            self.decoder.reset()
            self.model.octets = self.unsent = b""

    def forget(self) -> None:
        if self.open:
            self.open.pop(self.rng.randrange(len(self.open)))

    def run(self, steps: int) -> None:
        ways = (self.feed, self.feed, self.push, self.read, self.read, self.reset, self.forget)
        for _ in range(steps):
            self.rng.choice(ways)()
            assert self.decoder.pending == len(self.model.octets)
        for channel, frame in self.decoder.feed(b""):
            assert (channel, key_of(frame)) == self.model.take()
        assert self.model.take() is None
        for frame, key in self.frames_with_keys:  # what was given out never changes
            assert key_of(frame) == key


@pytest.mark.parametrize("copy", [True, False])
def test_any_order_of_operations(copy: bool) -> None:
    @settings(max_examples=300)
    @given(some.seeds)
    def check(rng: Random) -> None:
        Play(rng, copy=copy).run(30)

    check()
