"""What every frame and every stream has to keep, whatever its bytes: used by the fuzzers."""

from __future__ import annotations

import copy
import pickle
from collections import Counter
from collections.abc import Callable
from typing import Any

import amqpcodec
from tests.support.amqp091_same import key_of

CODES = (311, 501, 502, 503, 504, 505)


def check_error(error: amqpcodec.DecodeError, start: int, stop: int) -> None:
    """It says where, and what a peer of 0-x has to be told."""
    assert start <= error.offset <= stop, error.offset
    assert error.reply_code in CODES
    assert error.scope in ("frame", "channel", "connection")
    assert f"(offset {error.offset})" in str(error)


def check_frames(amqp: Any, data: bytes, options: dict[str, Any], counts: Counter[str]) -> None:
    """Frame by frame of 0-x: the very bytes back, also after reading, copying and pickling.

    options: of decode, dialect, tables and copy. counts: how often each result occurred.
    """
    offset = 0
    while True:
        try:
            result = amqp.decode(data, offset, **options)
        except amqpcodec.DecodeError as error:
            counts[type(error).__name__] += 1
            check_error(error, offset, len(data))
            return
        if result is None:
            counts["need more"] += 1
            return
        consumed, channel, frame = result
        raw = data[offset : offset + consumed]
        counts[type(frame).__name__] += 1
        for other in (frame, copy.copy(frame)):
            assert amqp.encode(channel, other, dialect=options["dialect"]) == raw
            assert key_of(other) == key_of(frame)
            repr(other)
            assert isinstance(frame == other, bool)  # of equal NaNs it may be either
            assert amqp.encode(channel, other, dialect=options["dialect"]) == raw
        if not options["copy"] and isinstance(frame, amqp.Body):
            assert bytes(frame.payload) == raw[7:-1]
        else:
            other = pickle.loads(pickle.dumps(frame))
            assert amqp.encode(channel, other, dialect=options["dialect"]) == raw
        offset += consumed


def shown(frame: Any) -> Any:
    """What a decoder of 0-x gave, to compare."""
    error = getattr(frame, "error", None)
    if isinstance(error, amqpcodec.DecodeError):  # a BadFrame
        return str(error), bytes(frame.raw)
    return key_of(frame)


def outcome(decoder: Any, pieces: list[bytes], shown: Callable[[Any], Any] = shown) -> list[Any]:
    """Everything that a decoder says of a stream, errors caught and fed on from.

    Each piece is overwritten once it was fed, so that nothing may be kept of it.
    """
    events: list[Any] = []
    for piece in pieces:
        buffer = bytearray(piece)
        for _ in range(10_000):
            try:
                frames = decoder.feed(buffer)
                buffer[:] = b"\xee" * len(buffer)
                buffer.clear()
                for channel, frame in frames:
                    events.append((channel, shown(frame)))
                break
            except amqpcodec.DecodeError as error:
                condition = getattr(error, "condition", None)
                events.append((type(error), str(error), error.scope, condition))
                if error.scope == "connection":
                    return events
        else:
            raise AssertionError("no progress")
    return [*events, decoder.pending]
