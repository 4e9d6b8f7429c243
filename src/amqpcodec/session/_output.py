"""What a connection of 0-x has to send: frames in order, and how many bytes they are."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ._face import Connection
from ._heartbeats import Heartbeats
from ._model import Model

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["Output"]

#: A body of this many bytes and more is sent as it lies, others are copied into their frames.
_VIEW_BYTES = 16384


class Output(Connection):
    """The sending half of an engine of 0-x.

    Attributes:
        model: the rules of the protocol.
        frame_max: bytes a frame may take, the 8 of its envelope included; 0 for no limit.
    """

    __slots__ = (
        "_beats",
        "_encode_message",
        "_encode_parts",
        "_out",
        "_waiting",
        "encode",
        "frame_max",
        "model",
    )

    model: Model
    frame_max: int
    encode: Any

    def _start_output(self, model: Model, frame_max: int, validate: bool) -> None:
        """validate: whether what is sent is held against the asserts of the specification."""
        self.model = model
        self.frame_max = frame_max
        module = model.module
        self.encode = module.encode
        self._encode_message = module.encode_message
        self._encode_parts = module.encode_parts
        if validate:
            self.encode = partial(module.encode, validate=True)
            self._encode_message = partial(module.encode_message, validate=True)
            self._encode_parts = partial(module.encode_parts, validate=True)
        self._out: list[bytes | memoryview] = []
        self._waiting = 0
        self._beats = Heartbeats()

    def buffers_to_send(self) -> list[bytes | memoryview]:
        """What waits to be sent, as buffers; see `Connection.buffers_to_send`."""
        out = self._out
        if out:
            self._out = []
            self._waiting = 0
            self._beats.sent = True
        return out

    @property
    def bytes_to_send(self) -> int:
        """How many bytes wait to be sent."""
        return self._waiting

    def drop_output(self) -> None:
        """Forget what waits: nobody would read it."""
        self._out.clear()
        self._waiting = 0

    def queue_bytes(self, raw: bytes) -> None:
        """Queue bytes as they are."""
        self._out.append(raw)
        self._waiting += len(raw)

    def _frames_of(
        self, number: int, method: Any, properties: Any, body: Buffer
    ) -> list[bytes | memoryview]:
        """The frames of a method, with its content if it carries one."""
        if not getattr(method, "HAS_CONTENT", False):
            return [self.encode(number, method)]
        if type(body) is bytes and len(body) >= _VIEW_BYTES:
            parts: list[bytes | memoryview] = self._encode_parts(
                number, method, properties, body, self.frame_max
            )
            return parts
        return [self._encode_message(number, method, properties, body, self.frame_max)]

    def _queue_frames(self, frames: list[bytes | memoryview]) -> None:
        """Queue frames as they are."""
        self._out += frames
        self._waiting += sum(map(len, frames))

    def queue(self, number: int, method: Any, properties: Any = None, body: Buffer = b"") -> None:
        """Queue a method, with its content if it carries one."""
        self._queue_frames(self._frames_of(number, method, properties, body))

    def queue_content(self, number: int, method: Any, properties: Any, body: Buffer) -> None:
        """Queue a method and its content: the shortest way for a body that is copied."""
        if type(body) is bytes and len(body) >= _VIEW_BYTES:
            self._queue_frames(self._frames_of(number, method, properties, body))
            return
        raw = self._encode_message(number, method, properties, body, self.frame_max)
        self._out.append(raw)
        self._waiting += len(raw)
