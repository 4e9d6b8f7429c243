"""Bytes of a connection, cut into frames that have a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .. import v0_9_1 as amqp

__all__ = ["FRAME_NAMES", "Frame", "FrameCutter", "Sender"]

#: Who sent a frame.
Sender: TypeAlias = Literal["client", "server"]

_OTHERS = {2: "header", 3: "body", 8: "heartbeat"}
_METHODS = {ids: method.NAME for ids, method in amqp.METHODS.items()}
#: What a frame can be called.
FRAME_NAMES = frozenset({*_METHODS.values(), *_OTHERS.values(), "protocol-header", "unreadable"})

#: Type, channel, size before the payload, and the end after it.
_ENVELOPE = 8
_MOST = 16 * 1024 * 1024


@dataclass(eq=False, slots=True)
class Frame:
    """A frame, or what is none ("unreadable").

    Attributes:
        name: of its method, as "basic.publish", or "header", "body", "heartbeat",
            "protocol-header".
        channel: its channel number.
        raw: its bytes.
        passed: whether faults were asked about it already.
    """

    name: str
    channel: int
    raw: bytes
    passed: bool = False


class FrameCutter:
    """Cuts what one side sends; what makes no frame is handed on as it came."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._is_lost = False

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that these bytes complete."""
        if self._is_lost:
            return [Frame("unreadable", 0, data)]
        buffer = self._buffer
        buffer += data
        frames = []
        start = 0
        while len(buffer) - start >= _ENVELOPE:
            if buffer.startswith(b"AMQP", start):
                end, name, channel = start + 8, "protocol-header", 0
            else:
                kind = buffer[start]
                channel = int.from_bytes(buffer[start + 1 : start + 3], "big")
                size = int.from_bytes(buffer[start + 3 : start + 7], "big")
                if kind not in (1, 2, 3, 8) or size > _MOST:
                    self._is_lost = True
                    frames.append(Frame("unreadable", channel, bytes(buffer[start:])))
                    start = len(buffer)
                    break
                end = start + size + _ENVELOPE
                if end > len(buffer):
                    break
                name = _OTHERS.get(kind) or _method_name(buffer, start)
            frames.append(Frame(name, channel, bytes(buffer[start:end])))
            start = end
        del buffer[:start]
        return frames


def _method_name(buffer: bytearray, start: int) -> str:
    class_id = int.from_bytes(buffer[start + 7 : start + 9], "big")
    method_id = int.from_bytes(buffer[start + 9 : start + 11], "big")
    return _METHODS.get((class_id, method_id), "unreadable")
