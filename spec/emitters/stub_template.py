"""The parts of a protocol's stub that are the same for every protocol.

Texts in capitals between percent signs are filled in by ``stubs.py``. The docstrings are those of
the compiled functions and classes, which a test holds them to.
"""

HEAD = '''\
# Class constants are narrower in each class than in its base; nobody assigns them.
# pyright: reportIncompatibleVariableOverride=false
"""AMQP %VERSION%: classes, one-shot functions and decoders, with their exact types."""

import builtins
from datetime import datetime
from types import MappingProxyType
from typing import Any, ClassVar, Final, Generic, Literal, TypeAlias, final, overload

from typing_extensions import Buffer, TypeVar%DEPRECATED%

from . import _codec
from ._codec import ContentProperties as ContentProperties
from ._codec import Frame as Frame
from ._codec import Method as Method
from .errors import DecodeError
'''

FRAMES = '''\
# ---- frames ----

#: Bytes of a body: bytes, or memoryview from a decoder with copy=False.
_BytesT = TypeVar("_BytesT", bound=Buffer, default=bytes)

%ANY_PROPERTIES%@final
class Header(Frame):
    """A content header frame: body_size in bytes, and the properties of the content."""

    FIELDS: ClassVar[
        tuple[
            Literal["body_size"],
            Literal["properties"],
            Literal["class_id"],
            Literal["weight"],
        ]
    ]
    __match_args__ = ("body_size", "properties", "class_id", "weight")
    body_size: int
    properties: %PROPERTIES%
    class_id: int
    weight: int
    def __init__(
        self,
        body_size: int = 0,
        properties: %PROPERTIES% | None = None,
        class_id: int = %CLASS_ID%,
        weight: int = 0,
    ) -> None: ...

@final
class Body(Frame, Generic[_BytesT]):
    """A body frame: a piece of content."""

    FIELDS: ClassVar[tuple[Literal["payload"]]]
    __match_args__ = ("payload",)
    payload: _BytesT
    @overload
    def __init__(self: Body[bytes], payload: bytes = b"") -> None: ...
    @overload
    def __init__(self, payload: _BytesT) -> None: ...

@final
class Heartbeat(Frame):
    """A heartbeat frame: nothing but a sign of life."""

    FIELDS: ClassVar[tuple[()]]
    __match_args__ = ()
    def __init__(self) -> None: ...

@final
class ProtocolHeader(Frame):
    """The eight bytes that open a connection: "AMQP" and these four."""

    FIELDS: ClassVar[
        tuple[
            Literal["protocol_id"],
            Literal["major"],
            Literal["minor"],
            Literal["revision"],
        ]
    ]
    __match_args__ = ("protocol_id", "major", "minor", "revision")
    protocol_id: int
    major: int
    minor: int
    revision: int
    def __init__(
        self,
        protocol_id: int = %HEADER_0%,
        major: int = %HEADER_1%,
        minor: int = %HEADER_2%,
        revision: int = %HEADER_3%,
    ) -> None: ...

@final
class Message(Frame, Generic[_BytesT]):
    """A method with its content, whole."""

    FIELDS: ClassVar[tuple[Literal["method"], Literal["properties"], Literal["body"]]]
    __match_args__ = ("method", "properties", "body")
%SHARED%    method: ContentMethod
    properties: %PROPERTIES%
    body: _BytesT
    @overload
    def __init__(
        self: Message[bytes],
        method: ContentMethod | None = None,
        properties: %PROPERTIES% | None = None,
        body: bytes = b"",
    ) -> None: ...
    @overload
    def __init__(
        self,
        method: ContentMethod | None,
        properties: %PROPERTIES% | None,
        body: _BytesT,
    ) -> None: ...
    @overload
    def __init__(
        self,
        method: ContentMethod | None = None,
        properties: %PROPERTIES% | None = None,
        *,
        body: _BytesT,
    ) -> None: ...

@final
class BadFrame(Frame):
    """A frame that could not be read: the error, and its bytes."""

    FIELDS: ClassVar[tuple[Literal["error"], Literal["raw"]]]
    __match_args__ = ("error", "raw")
    error: DecodeError
    raw: bytes
    def __init__(self, error: DecodeError | None = None, raw: bytes = b"") -> None: ...

# Names for annotations. What holds views is what comes with copy=False.

ContentMethod: TypeAlias = %CONTENT_METHODS%
AnyFrame: TypeAlias = Method | Header | Body | Heartbeat | ProtocolHeader
AnyEvent: TypeAlias = Method | Message | Heartbeat | ProtocolHeader
_FrameWithView: TypeAlias = Method | Header | Body[memoryview] | Heartbeat | ProtocolHeader
_EventWithView: TypeAlias = Method | Message[memoryview] | Heartbeat | ProtocolHeader

METHODS: Final[MappingProxyType[tuple[int, int], type[Method]]]
PROTOCOL: Final[_codec.Protocol]

# ---- one-shot functions ----

_Dialect: TypeAlias = Literal["rabbitmq", "0-9-1", "0-9", "0-8"]
_Tables: TypeAlias = Literal["plain", "typed"]
_Trailing: TypeAlias = Literal["error", "keep"]

def encode(
    channel: int,
    frame: Method | Header | Body[Any] | Heartbeat | ProtocolHeader,
    *,
    dialect: _Dialect | None = None,
    validate: bool = False,
) -> bytes:
    """Encode one frame: a method, Header, Body, Heartbeat or ProtocolHeader.

    A frame that was decoded and not changed gives the bytes it came from.

    Args:
        channel: 0 to 65535; of a Heartbeat 0. A ProtocolHeader has none.
        dialect: types of field tables, "rabbitmq", "0-9-1" (the letter), "0-9" or "0-8";
            None: the protocol's own, "rabbitmq" for 0-9-1.

    Returns:
        bytes, the envelope (8 bytes) included.

    Raises:
        EncodeError: names the method and field that cannot be encoded; with
            validate=True also a ValidationError where an assert is broken.

    Spec: 0-9-1 §4.2.3.
    """

def encode_into(
    buffer: Buffer,
    offset: int,
    channel: int,
    frame: Method | Header | Body[Any] | Heartbeat | ProtocolHeader,
    *,
    dialect: _Dialect | None = None,
    validate: bool = False,
) -> int:
    """Encode one frame into a writable buffer at offset; the number of bytes written.

    Raises:
        EncodeError: as encode, or the buffer is too small (it is then untouched).
    """

def encode_message(
    channel: int,
    method: ContentMethod | Message[Any],
    properties: %PROPERTIES% | None = None,
    body: Buffer = b"",
    frame_max: int = 131072,
    *,
    dialect: _Dialect | None = None,
    validate: bool = False,
) -> bytes:
    """Encode a method with content: its method, header and body frames as one bytes.

    Args:
        method: one that carries content; or a Message, as MessageDecoder gives it, without
            properties and body.
        properties: None for none.
        body: bytes or any C-contiguous buffer.
        frame_max: bytes a frame may take, its envelope of 8 included; 0 for no limit.

    Raises:
        EncodeError: as encode; or the method carries no content, or frame_max is too
            small for the method or header frame, which cannot be split.

    Spec: 0-9-1 §4.2.6.
    """

def encode_parts(
    channel: int,
    method: ContentMethod | Message[Any],
    properties: %PROPERTIES% | None = None,
    body: Buffer = b"",
    frame_max: int = 131072,
    *,
    dialect: _Dialect | None = None,
    validate: bool = False,
) -> list[bytes | memoryview]:
    """As encode_message, but a list of buffers for writelines or sendmsg.

    The body is not copied: its pieces are memoryviews that borrow the given buffer.
    """

@overload
def decode(
    data: Buffer,
    offset: int = 0,
    *,
    dialect: _Dialect = "rabbitmq",
    tables: _Tables = "plain",
    copy: Literal[True] = True,
    trailing: _Trailing = "error",
) -> tuple[int, int, AnyFrame] | None:
    """Decode the frame at offset of any C-contiguous buffer.

    Args:
        dialect: "rabbitmq" or "0-9-1", what the tags of field tables mean; all types of
            "rabbitmq" are read for "0-9" and "0-8" as well.
        tables: "plain" or "typed" values (amqpcodec.types).
        copy: False gives bodies as memoryviews that borrow data where it is bytes.
        trailing: "error", or "keep" bytes after the last field (they encode again).

    Returns:
        (consumed, channel, frame), consumed counted from offset; or None while the
        frame is incomplete.

    Raises:
        DecodeError: with its place, counted from the start of data.
    """

@overload
def decode(
    data: Buffer,
    offset: int = 0,
    *,
    dialect: _Dialect = "rabbitmq",
    tables: _Tables = "plain",
    copy: Literal[False],
    trailing: _Trailing = "error",
) -> tuple[int, int, _FrameWithView] | None: ...
@overload
def decode(
    data: Buffer,
    offset: int = 0,
    *,
    dialect: _Dialect = "rabbitmq",
    tables: _Tables = "plain",
    copy: bool = True,
    trailing: _Trailing = "error",
) -> tuple[int, int, AnyFrame | _FrameWithView] | None: ...

# ---- decoders ----

_FrameT_co = TypeVar("_FrameT_co", covariant=True, default=AnyFrame)
_EventT_co = TypeVar("_EventT_co", covariant=True, default=AnyEvent)

class Decoder(_codec.Decoder[_FrameT_co]):
    """Bytes of one stream in, frames out.

    Args:
        frame_max: bytes a frame may take, its envelope of 8 included; 0 for no limit.
            Can be set again after tune.
        max_header_frame: bytes a method or content header frame may take, likewise; 0 for no
            limit, None for 16 times frame_max. RabbitMQ sends content headers above frame_max:
            it splits bodies only. Never less than frame_max.
        errors: "strict" raises DecodeError at its place; "frame" yields
            BadFrame(error, raw) instead and goes on while the framing is intact.
        dialect: "rabbitmq" or "0-9-1", what the tags of field tables mean.
        tables: "plain" or "typed" values (amqpcodec.types).
        copy: False gives bodies as memoryviews of an immutable chunk.
        trailing: "error", or "keep" bytes after the last field of a frame.

    ``for channel, frame in decoder.feed(chunk)``: frame is a method, Header, Body,
    Heartbeat or ProtocolHeader. Spec: 0-9-1 §4.2.3.
    """

%DECODER_INITS%
class MessageDecoder(_codec.MessageDecoder[_EventT_co]):
    """Bytes of one stream in, methods and whole messages out.

    Args:
        frame_max: bytes a frame may take, its envelope of 8 included; 0 for no limit.
        max_body_size: bytes a body may have, None for no limit. Memory grows with the
            bytes that came, never with those that a header announces.
        max_open: contents that may be open at once, on as many channels, None for no limit.
        max_header_frame, errors, dialect, tables, copy, trailing: as for Decoder.

    ``for channel, event in decoder.feed(chunk)``: event is a method without content,
    Message(method, properties, body), Heartbeat or ProtocolHeader.
    Frames out of order give UnexpectedFrameError (505), a body over max_body_size
    ContentTooLargeError (311), a content over max_open ResourceLimitError (506); the decoder
    skips the rest of that content. Spec: 0-9-1 §4.2.6.
    """

%MESSAGE_DECODER_INITS%'''

#: One __init__ of a decoder: what it yields depends on errors and copy.
DECODER_INIT = """\
    @overload
    def __init__(
        self: %CLASS%[%ITEM%],
        frame_max: int = 131072,
%LIMITS%        errors: %ERRORS%,
        dialect: _Dialect = "rabbitmq",
        tables: _Tables = "plain",
        copy: %COPY%,
        trailing: _Trailing = "error",
        max_header_frame: int | None = None,
    ) -> None: ...
"""
