"""The errors of the codec: one base, one class per cause, data in attributes.

This module imports nothing of the codec, so that the compiled core, the spec loader and the
facade can all raise the same classes.
"""

from __future__ import annotations

from typing import Literal

from ._facade.public import listing

__all__ = [
    "AMQPCodecError",
    "ChannelError",
    "ContentTooLargeError",
    "DecodeError",
    "DepthError",
    "EncodeError",
    "FieldError",
    "FrameEndError",
    "FrameTooLargeError",
    "FrameTypeError",
    "FramingError",
    "HeaderError",
    "HeartbeatError",
    "IncompleteError",
    "ResourceLimitError",
    "SectionError",
    "SizeError",
    "TextError",
    "TrailingError",
    "TruncatedError",
    "UnexpectedFrameError",
    "UnknownMethodError",
    "UnknownTagError",
    "ValidationError",
]

__dir__ = listing(__name__)

Scope = Literal["frame", "channel", "connection"]


class AMQPCodecError(Exception):
    """Base of everything that amqpcodec raises about data."""


class DecodeError(AMQPCodecError, ValueError):
    """Bytes that are not what the protocol says.

    Attributes:
        offset: byte at which the fault was seen, counted from the start of the
            data given (``decode``) or of the stream (decoders).
        frame_type: the frame's type byte, or None.
        channel: the frame's channel, or None.
        method: name of the method ("basic.deliver") or property list
            ("basic.properties"), or None.
        field: name of the argument or property, or None.
        reply_code: the code that the specification assigns (501, 502, 503, ...).
        scope: how far the damage reaches. "frame": the framing is intact and the next
            frame can be read; "channel": the content of one channel is lost;
            "connection": where the next frame starts is not known.
        row: index of the input value, where ``batch.decode`` raised it; else None.
        condition: of AMQP 1.0 the error condition that the specification assigns
            ("amqp:decode-error"); None outside of it.
    """

    reply_code: int = 502
    scope: Scope = "frame"
    row: int | None = None
    condition: str | None = None

    def __init__(
        self,
        message: str = "",
        *,
        offset: int | None = None,
        frame_type: int | None = None,
        channel: int | None = None,
        method: str | None = None,
        field: str | None = None,
        reply_code: int | None = None,
        scope: Scope | None = None,
        condition: str | None = None,
    ) -> None:
        super().__init__(message)
        self.offset = offset
        self.frame_type = frame_type
        self.channel = channel
        self.method = method
        self.field = field
        if reply_code is not None:
            self.reply_code = reply_code
        if scope is not None:
            self.scope = scope
        if condition is not None:
            self.condition = condition

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle with all attributes, as errors cross process borders on Spark."""
        return (_restore, (type(self), self.args, self.__dict__))


class TruncatedError(DecodeError):
    """A field runs past the end of its frame or table (502)."""


class TrailingError(DecodeError):
    """Bytes are left after the last field of a frame (502)."""


class UnknownTagError(DecodeError):
    """A field table holds a type tag whose length nobody knows (502)."""


class DepthError(DecodeError):
    """Tables and arrays are nested deeper than the limit (502)."""


class SizeError(DecodeError):
    """AMQP 1.0: size and count of a list, map or array do not fit what it holds."""


class TextError(DecodeError):
    """AMQP 1.0: a string that is not UTF-8, a symbol that is not ASCII, a char that is none."""


class FieldError(DecodeError):
    """AMQP 1.0: a field whose value has the wrong type or is no choice, or a field too many."""


class SectionError(DecodeError):
    """AMQP 1.0: sections of a message that are unknown, out of order or there twice."""


class FramingError(DecodeError):
    """AMQP 1.0: a frame or protocol header whose first bytes cannot be right."""

    reply_code = 501
    scope: Scope = "connection"


class FrameEndError(DecodeError):
    """The byte after the payload is not 206 (501): the framing is lost."""

    reply_code = 501
    scope: Scope = "connection"


class FrameTooLargeError(DecodeError):
    """A frame claims more bytes than frame_max allows (501)."""

    reply_code = 501
    scope: Scope = "connection"


class FrameTypeError(DecodeError):
    """A frame type that the protocol does not define (501)."""

    reply_code = 501


class HeartbeatError(DecodeError):
    """A heartbeat with a payload, or on a channel other than 0 (501)."""

    reply_code = 501


class UnknownMethodError(DecodeError):
    """A class and method id that the protocol does not define (503)."""

    reply_code = 503


class HeaderError(DecodeError):
    """A content header for a class that carries no content (505)."""

    reply_code = 505


class UnexpectedFrameError(DecodeError):
    """A frame that the order of method, header and body forbids (505)."""

    reply_code = 505
    scope: Scope = "channel"


class ChannelError(DecodeError):
    """Content on channel 0 (504)."""

    reply_code = 504
    scope: Scope = "channel"


class ContentTooLargeError(DecodeError):
    """A content header announces a body over max_body_size (311)."""

    reply_code = 311
    scope: Scope = "channel"


class ResourceLimitError(DecodeError):
    """More contents or deliveries are open at once than max_open (506)."""

    reply_code = 506
    scope: Scope = "channel"


class IncompleteError(DecodeError):
    """The stream ended inside a frame or a message (501)."""

    reply_code = 501
    scope: Scope = "connection"


class EncodeError(AMQPCodecError, ValueError):
    """A value that cannot be put on the wire.

    Attributes:
        method: name of the method or property list, or None.
        field: name of the argument or property, or None.
        row: index of the row, where columns were encoded (``batch.encode``), or None.
        column: name of the column of that row, or None.
    """

    def __init__(
        self,
        message: str = "",
        *,
        method: str | None = None,
        field: str | None = None,
        row: int | None = None,
        column: str | None = None,
    ) -> None:
        super().__init__(message)
        self.method = method
        self.field = field
        self.row = row
        self.column = column

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle with all attributes."""
        return (_restore, (type(self), self.args, self.__dict__))


class ValidationError(EncodeError):
    """A value that an assert of the specification forbids, although it could be encoded."""


def _restore(
    cls: type[AMQPCodecError], args: tuple[object, ...], state: dict[str, object]
) -> AMQPCodecError:
    error = cls(*args)
    error.__dict__.update(state)
    return error
