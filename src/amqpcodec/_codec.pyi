"""What the compiled core offers to the facade. Users meet it through the protocol modules.

Left out: names that only the core itself needs (its owners of C memory, pickling helpers).
"""

from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Literal, Self, TypeAlias, TypeVar, final

from typing_extensions import Buffer

_Dialect: TypeAlias = Literal["rabbitmq", "0-9-1", "0-9", "0-8"]

#: What a decoder yields beside the channel.
_ItemT_co = TypeVar("_ItemT_co", covariant=True)

def get_max_nesting() -> int:
    """See amqpcodec.limits."""

def set_max_nesting(limit: int) -> None:
    """See amqpcodec.limits."""

def table_forms() -> tuple[tuple[str, int, int], ...]:
    """For tests: (tag, number of its form, shape) of each line of tables/tags.h."""

def check_forms(lines: tuple[tuple[str, int, int], ...]) -> None:
    """Refuse forms whose functions take other bytes than their shape says.

    The module does so when it is loaded.

    lines: as table_forms() has them. Raises ImportError.
    """

@final
class MessageMeta(type):
    """Type of the generated classes."""

# The upper-case attributes are those of the concrete classes; the bases below declare them only.

class Frame(metaclass=MessageMeta):
    """Base of everything that a frame can be."""

    FIELDS: ClassVar[tuple[str, ...]]
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def _repr_html_(self) -> str:
        """A table of the fields that have another value than their default, for notebooks."""

    def __replace__(self, /, **changes: Any) -> Self:
        """A copy with other values in some fields: copy.replace() and amqpcodec.replace() call it.

        What does not change keeps its bytes.

        Raises:
            TypeError: there is no such field.
        """

class Method(Frame):
    """Base of all methods."""

    NAME: ClassVar[str]
    CLASS_ID: ClassVar[int]
    METHOD_ID: ClassVar[int]
    SYNCHRONOUS: ClassVar[bool]
    HAS_CONTENT: ClassVar[bool]
    DEPRECATED: ClassVar[bool]
    EXTENSION: ClassVar[str | None]
    SENT_BY: ClassVar[tuple[Literal["client", "server"], ...]]
    RESPONSES: ClassVar[tuple[type[Method], ...]]
    def validate(self, *others: Method) -> None:
        """Check the asserts of the specification on every field.

        They are: not null (text that is not empty), null (empty), length in bytes, pattern, one of
        the choices of an enum, and comparison with a value or another argument. Numbers are never
        null on the wire; a rule of syntax that the specification only names is not checked.
        Encoding by itself refuses only what cannot be encoded.

        Args:
            others: methods that were exchanged before. An assert that compares with an argument of
                another method (connection.tune-ok.channel-max with connection.tune's) is checked
                where that method is among them, and left unchecked otherwise.

        Raises:
            ValidationError: an assert is broken; names the method and the field.
            EncodeError: a value cannot be encoded at all.
        """

class ContentProperties(Frame):
    """Base of all property lists."""

    NAME: ClassVar[str]
    CLASS_ID: ClassVar[int]
    def validate(self, *others: Method) -> None:
        """Check the asserts of the specification on every field.

        They are: not null (text that is not empty), null (empty), length in bytes, pattern, one of
        the choices of an enum, and comparison with a value or another argument. Numbers are never
        null on the wire; a rule of syntax that the specification only names is not checked.
        Encoding by itself refuses only what cannot be encoded.

        Args:
            others: methods that were exchanged before. An assert that compares with an argument of
                another method (connection.tune-ok.channel-max with connection.tune's) is checked
                where that method is among them, and left unchecked otherwise.

        Raises:
            ValidationError: an assert is broken; names the method and the field.
            EncodeError: a value cannot be encoded at all.
        """

class ProtocolCore:
    """The classes of a protocol version. Made from a lowered table."""

    # Read-only, all of them.
    name: str
    module: str
    table: dict[str, Any]
    namespaces: dict[str, type]
    METHODS: MappingProxyType[tuple[int, int], type[Method]]
    # These differ from protocol to protocol: the stub of its module has their types.
    Header: Any
    Body: Any
    Heartbeat: Any
    ProtocolHeader: Any
    Message: Any
    BadFrame: Any
    def __init__(self, table: dict[str, Any], fast: bool = True) -> None: ...

class Protocol(ProtocolCore):
    """A protocol version, ready to encode and decode. Made from a lowered table."""

    def encode(
        self,
        channel: int,
        frame: Frame,
        *,
        dialect: _Dialect | None = None,
        validate: bool = False,
    ) -> bytes: ...
    def encode_into(
        self,
        buffer: Buffer,
        offset: int,
        channel: int,
        frame: Frame,
        *,
        dialect: _Dialect | None = None,
        validate: bool = False,
    ) -> int: ...
    def encode_message(
        self,
        channel: int,
        method: Frame,
        properties: ContentProperties | None = None,
        body: Buffer = b"",
        frame_max: int = 131072,
        *,
        dialect: _Dialect | None = None,
        validate: bool = False,
    ) -> bytes: ...
    def encode_parts(
        self,
        channel: int,
        method: Frame,
        properties: ContentProperties | None = None,
        body: Buffer = b"",
        frame_max: int = 131072,
        *,
        dialect: _Dialect | None = None,
        validate: bool = False,
    ) -> list[bytes | memoryview]: ...
    def decode(
        self,
        data: Buffer,
        offset: int = 0,
        *,
        dialect: _Dialect = "rabbitmq",
        tables: Literal["plain", "typed"] = "plain",
        copy: bool = True,
        trailing: Literal["error", "keep"] = "error",
    ) -> tuple[int, int, Frame] | None: ...

def decode_function(protocol: Protocol) -> Callable[..., tuple[int, int, Frame] | None]:
    """Protocol.decode as the protocol modules offer it: the same, with the shortest way to a plain
    call."""

def foreign_protocol_name(data: Buffer) -> str | None:
    """Name of the protocol that a stream begins with in place of AMQP.

    Returns:
        "HTTP", "TLS", "MQTT", "STOMP" or "SSH"; None for any other, and for fewer than 7 bytes.
    """

class Stream(Generic[_ItemT_co]):
    """Base of the decoders. Not for use by itself."""

    @property
    def frame_max(self) -> int:
        """Bytes a frame may take, its envelope of 8 included; 0 for no limit.

        Set it after tune.
        """

    @frame_max.setter
    def frame_max(self, value: int) -> None: ...
    @property
    def pending(self) -> int:
        """Bytes that were fed and not read yet."""

    @property
    def offset(self) -> int:
        """Bytes read since the stream began (or reset): where the next frame starts."""

    def feed(self, data: Buffer = b"") -> Iterator[tuple[int, _ItemT_co]]:
        """Take bytes, in any chunking; an iterator over what is whole by now.

        Keeps no reference to data once it is read, and none at all unless it is bytes.
        What the iterator was not asked for stays for the next call.

        Raises (from the iterator, at the place in the stream, after the frames before it):
            DecodeError: with scope "frame" or "channel" the next call goes on after it;
                with scope "connection" the stream is lost, and it is raised again.
            RuntimeError: another thread has fed the decoder since, or is using it.
        """

    def get_buffer(self, sizehint: int = -1) -> memoryview:
        """A writable buffer to receive into, as asyncio.BufferedProtocol asks for."""

    def buffer_updated(self, nbytes: int) -> Iterator[tuple[int, _ItemT_co]]:
        """Feed what was received into get_buffer(); an iterator, as feed()."""

    def reset(self) -> None:
        """Forget everything, for a new stream; settings stay."""

    def eof(self) -> None:
        """Say that no more bytes come.

        Raises:
            IncompleteError: the stream ended inside a frame, a message or a delivery.
        """

class Decoder(Stream[_ItemT_co]):
    """Frames of one stream. See amqpcodec._facade.decoder."""

    def __init__(
        self,
        protocol: Protocol,
        frame_max: int = 131072,
        *,
        errors: Literal["strict", "frame"] = "strict",
        dialect: _Dialect = "rabbitmq",
        tables: Literal["plain", "typed"] = "plain",
        copy: bool = True,
        trailing: Literal["error", "keep"] = "error",
        max_header_frame: int | None = None,
    ) -> None: ...
    @property
    def max_header_frame(self) -> int:
        """Bytes a method or content header frame may take, its envelope included; 0: no limit."""

class MessageDecoder(Stream[_ItemT_co]):
    """Methods and messages of one stream. See amqpcodec._facade.decoder."""

    def __init__(
        self,
        protocol: Protocol,
        frame_max: int = 131072,
        max_body_size: int | None = None,
        *,
        max_open: int | None = 65536,
        errors: Literal["strict", "frame"] = "strict",
        dialect: _Dialect = "rabbitmq",
        tables: Literal["plain", "typed"] = "plain",
        copy: bool = True,
        trailing: Literal["error", "keep"] = "error",
        max_header_frame: int | None = None,
    ) -> None: ...
    @property
    def max_header_frame(self) -> int:
        """Bytes a method or content header frame may take, its envelope included; 0: no limit."""

    @property
    def max_body_size(self) -> int | None:
        """Bytes a body may have, or None for no limit."""

    @property
    def max_open(self) -> int | None:
        """Contents that may be open at once, or None for no limit."""

    def discard(self, channel: int) -> bool:
        """Discard what is open on a channel; the decoder skips the rest of its content in silence.

        Returns:
            True if something was open.
        """
