"""The parts of the stub of AMQP 1.0 that do not come from its table.

The docstrings are those of the compiled functions and classes, which a test holds them to.
"""

HEAD = '''\
# pyright: reportIncompatibleVariableOverride=false
"""AMQP 1.0: values, a class for each described type, frames, messages and decoders."""

from collections.abc import Sequence
from datetime import datetime
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, TypeAlias, final

from typing_extensions import Buffer

from . import _codec, _v1
from ._v1 import Composite as Composite
from ._v1 import Message as Message
from ._v1 import required_annotations as required_annotations
from .errors import DecodeError
from .v1_types import ABSENT as ABSENT
from .v1_types import Absent as Absent
from .v1_types import Array as Array
from .v1_types import Byte as Byte
from .v1_types import Char as Char
from .v1_types import Decimal32 as Decimal32
from .v1_types import Decimal64 as Decimal64
from .v1_types import Decimal128 as Decimal128
from .v1_types import Described as Described
from .v1_types import Double as Double
from .v1_types import Float as Float
from .v1_types import Int as Int
from .v1_types import Long as Long
from .v1_types import Map as Map
from .v1_types import Short as Short
from .v1_types import Symbol as Symbol
from .v1_types import Timestamp as Timestamp
from .v1_types import UByte as UByte
from .v1_types import UInt as UInt
from .v1_types import ULong as ULong
from .v1_types import UShort as UShort

_Types: TypeAlias = Literal["plain", "typed"]
_Errors: TypeAlias = Literal["strict", "frame"]
_Bytes: TypeAlias = bytes | bytearray | memoryview
_Symbols: TypeAlias = str | Sequence[str] | Array
_Map: TypeAlias = dict[Any, Any] | Map
'''

FRAMES = '''\
# ---- frames ----

@final
class ProtocolHeader(_codec.Frame):
    """The eight bytes that open a layer: "AMQP" and these four.

    Args:
        protocol_id: 0 for AMQP, 2 for TLS, 3 for SASL.
        major: first number of the version.
        minor: second number of the version.
        revision: third number of the version.
    """

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
        protocol_id: int = 0,
        major: int = 1,
        minor: int = 0,
        revision: int = 0,
    ) -> None: ...

@final
class Heartbeat(_codec.Frame):
    """A frame without a body: nothing but a sign of life."""

    FIELDS: ClassVar[tuple[()]]
    __match_args__ = ()
    def __init__(self) -> None: ...

@final
class BadFrame(_codec.Frame):
    """A frame that could not be read: the error, and its bytes.

    Args:
        error: the DecodeError.
        raw: the bytes.
    """

    FIELDS: ClassVar[tuple[Literal["error"], Literal["raw"]]]
    __match_args__ = ("error", "raw")
    error: DecodeError
    raw: bytes
    def __init__(self, error: DecodeError | None = None, raw: bytes = b"") -> None: ...

@final
class Delivery(_codec.Frame):
    """A delivery, whole.

    Args:
        transfer: the first of its transfers.
        message: for message format 0; read on first use.
        payload: the bytes of all its transfers.
        settled: whether any of them said so.
        state: the last that any of them gave.
        position: where it resumes inside of a section, the Received that says where; then
            there is no message.
    """

    FIELDS: ClassVar[
        tuple[
            Literal["transfer"],
            Literal["message"],
            Literal["payload"],
            Literal["settled"],
            Literal["state"],
            Literal["position"],
        ]
    ]
    __match_args__ = ("transfer", "message", "payload", "settled", "state", "position")
    transfer: Transfer
    message: Message | None
    payload: bytes | memoryview
    settled: bool
    state: Any
    position: Received | None
    def __init__(
        self,
        transfer: Transfer | None = None,
        message: Message | None = None,
        payload: bytes | memoryview = b"",
        settled: bool = False,
        state: Any = None,
        position: Received | None = None,
    ) -> None: ...
'''

FUNCTIONS = '''\
# ---- functions ----

def encode_value(value: Any, *, incomplete: bool = False) -> bytes:
    """Encode one value as the type that its Python type stands for.

    An int is a long always, a float a double, a str a string, bytes a binary, a Decimal a
    decimal128, a datetime a timestamp in ms, a list or tuple a list, a dict a map. Other types
    by amqpcodec's own classes (Symbol, ULong, Array, ...). The encoding is the smallest.

    Args:
        incomplete: True writes composites without their mandatory fields, too.

    Raises:
        EncodeError: the value, or one inside of it, has no encoding; or a mandatory field is
            not set.

    Spec: 1.0 Part 1 §1.6.
    """

def decode_value(data: Buffer, offset: int = 0, *, types: _Types = "plain") -> tuple[Any, int]:
    """Decode the value at offset of any C-contiguous buffer.

    Args:
        types: "plain" gives Python's own types where there are any, "typed" keeps the type of
            each number (UByte ... Long, Float, Double, Decimal32/64/128, Timestamp).

    Returns:
        (value, consumed), consumed counted from offset.

    Raises:
        DecodeError: with its place, counted from the start of data.

    Spec: 1.0 Part 1.
    """

def encode(
    channel: int,
    performative: Composite | Heartbeat | ProtocolHeader,
    payload: Buffer = b"",
    *,
    validate: bool = False,
    incomplete: bool = False,
) -> bytes:
    """Encode one frame: a performative, a SASL performative, Heartbeat or ProtocolHeader.

    Args:
        payload: what a transfer carries; if there is none, the performative's own payload.
        validate: check the rules of the specification first, as performative.validate() does.
        incomplete: True writes it without its mandatory fields, too.

    Returns:
        bytes. What was decoded and not changed gives the bytes it came as.

    Raises:
        EncodeError: names the performative and field that cannot be encoded, or is mandatory
            and not set.

    Spec: 1.0 Part 2 §2.3.
    """

def encode_into(
    buffer: Buffer,
    offset: int,
    channel: int,
    performative: Composite | Heartbeat | ProtocolHeader,
    payload: Buffer = b"",
    *,
    validate: bool = False,
    incomplete: bool = False,
) -> int:
    """Encode one frame into a writable buffer at offset; the number of bytes written.

    Raises:
        EncodeError: as encode, or the buffer is too small (it is then untouched).
    """

def encode_message(
    channel: int,
    transfer: Transfer | Delivery,
    message: Message | Buffer | None = None,
    frame_max: int = 131072,
    *,
    validate: bool = False,
    incomplete: bool = False,
) -> bytes:
    """Encode a delivery as one transfer, or as several where it does not fit one frame.

    Args:
        transfer: what the first transfer says: handle, delivery_id, delivery_tag, settled, ...;
            `more` is set as needed. Or a Delivery, as MessageDecoder gives it, and no message.
        message: a Message, the payload as any C-contiguous buffer, or None for the
            transfer's own payload.
        frame_max: bytes a frame may take, its head of 8 included (the peer's
            max-frame-size, 512 at least); 0 for no limit.
        validate, incomplete: as for encode.

    Returns:
        bytes, one frame after another.

    Raises:
        EncodeError: as encode; or frame_max is too small.

    Spec: 1.0 Part 2 §2.6.14, §2.7.5.
    """

def decode(
    data: Buffer,
    offset: int = 0,
    *,
    types: _Types = "plain",
    copy: bool = True,
) -> tuple[int, int, Any] | None:
    """Decode the frame at offset of any C-contiguous buffer.

    Args:
        types: "plain" or "typed" values, as for decode_value.
        copy: False gives payloads as memoryviews that borrow data where it is bytes.

    Returns:
        (consumed, channel, frame), consumed counted from offset; or None while the frame is
        incomplete. frame: a performative with its payload, a SASL performative, Heartbeat or
        ProtocolHeader. An extended header goes with it, and back by encode while nothing else
        changes.

    Raises:
        DecodeError: with its place, counted from the start of data.

    Spec: 1.0 Part 2 §2.3.
    """
'''

DECODERS = '''\
# ---- decoders ----

class Decoder(_v1.V1Decoder):
    """Bytes of one stream in, frames out.

    Args:
        frame_max: bytes a frame may take, its head of 8 included, 0 for no limit: the
            max-frame-size that was sent to the peer. Before the first frame of type AMQP the
            limit is 512, as for everybody.
        errors: "strict" raises DecodeError at its place; "frame" yields
            BadFrame(error, raw) instead and goes on while the framing is intact.
        types: "plain" or "typed" values, as for decode_value.
        copy: False gives payloads as memoryviews of an immutable chunk.
        opened: True where the stream is joined after its open.

    ``for channel, frame in decoder.feed(chunk)``: frame is a performative with its payload, a
    SASL performative, Heartbeat or ProtocolHeader. Spec: 1.0 Part 2 §2.3.
    """

    def __init__(
        self,
        frame_max: int = 131072,
        *,
        errors: _Errors = "strict",
        types: _Types = "plain",
        copy: bool = True,
        opened: bool = False,
    ) -> None: ...

class MessageDecoder(_v1.V1MessageDecoder):
    """Bytes of one stream in, whole deliveries and all other performatives out.

    Args:
        max_message_size: bytes a delivery may have, None for no limit. Memory grows with the
            bytes that came.
        max_open: deliveries that may be open at once, on as many links, None for no limit; one
            more is a ResourceLimitError, and the decoder skips it.
        eager: read all sections of a message at once; else each on first use.
        frame_max, errors, types, copy, opened: as for Decoder.

    ``for channel, event in decoder.feed(chunk)``: event is a Delivery (its transfers joined by
    link), or any performative that is no transfer, Heartbeat or ProtocolHeader. What was aborted,
    or cut off by detach, end or close, gives no event. Spec: 1.0 Part 2 §2.6.14.
    """

    def __init__(
        self,
        frame_max: int = 131072,
        max_message_size: int | None = None,
        *,
        max_open: int | None = 65536,
        errors: _Errors = "strict",
        types: _Types = "plain",
        copy: bool = True,
        opened: bool = False,
        eager: bool = False,
    ) -> None: ...
'''
