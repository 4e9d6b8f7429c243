"""The one error of the reference: what is wrong, where, and the reply code the spec gives it."""

from __future__ import annotations

# Reply codes of AMQP 0-9-1 1.2: frame-error, syntax-error, command-invalid, unexpected-frame.
REPLY_CODES = {
    "TruncatedError": 502,
    "TrailingError": 502,
    "UnknownTagError": 502,
    "DepthError": 502,
    "FrameEndError": 501,
    "FrameTypeError": 501,
    "HeartbeatError": 501,
    "UnknownMethodError": 503,
    "HeaderError": 505,
}


class Malformed(Exception):
    """Bytes that are not a frame. ``kind`` is the name of the package's error class.

    ``offset`` is where the bytes that are missing or wrong begin: for a string or table that is
    too long that is behind its length word.
    """

    def __init__(self, kind: str, offset: int, text: str) -> None:
        super().__init__(f"{kind} at {offset}: {text}")
        self.kind = kind
        self.reply_code = REPLY_CODES[kind]
        self.offset = offset
        self.method: str | None = None
        self.field: str | None = None
