"""What the compiled core offers to the facade. Users meet it through the protocol modules.

Left out: names that only the core itself needs (its owners of C memory, pickling helpers).
"""

from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar, final

from typing_extensions import Buffer

_Dialect: TypeAlias = Literal["rabbitmq", "0-9-1", "0-9", "0-8"]

#: What a decoder yields beside the channel.
_ItemT_co = TypeVar("_ItemT_co", covariant=True)

@final
class KindMeta(type):
    """Type of the generated classes."""

# The upper-case attributes are those of the concrete classes; the bases below declare them only.

class Frame(metaclass=KindMeta):
    """Base of everything that a frame can be."""

    FIELDS: ClassVar[tuple[str, ...]]
    __hash__: ClassVar[None]  # type: ignore[assignment]

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
    def validate(self) -> None:
        """Check the asserts of the specification (pattern, length, not null) on every field.

        Encoding by itself refuses only what cannot be encoded.

        Raises:
            ValidationError: an assert is broken; names the method and the field.
            EncodeError: a value cannot be encoded at all.
        """

class ContentProperties(Frame):
    """Base of all property lists."""

    NAME: ClassVar[str]
    CLASS_ID: ClassVar[int]
    def validate(self) -> None:
        """Check the asserts of the specification (pattern, length, not null) on every field.

        Encoding by itself refuses only what cannot be encoded.

        Raises:
            ValidationError: an assert is broken; names the method and the field.
            EncodeError: a value cannot be encoded at all.
        """

class Protocol:
    """A protocol version, ready to encode and decode. Made from a lowered table."""

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
    def __init__(self, table: dict[str, Any], hot: bool = True) -> None: ...
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
        method: Method,
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
        method: Method,
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

class Stream(Generic[_ItemT_co]):
    """Base of the decoders. Not for use by itself."""

    @property
    def frame_max(self) -> int:
        """Octets a frame may take, its envelope of 8 included; 0 for no limit.

        Set it after tune.
        """

    @frame_max.setter
    def frame_max(self, value: int) -> None: ...
    @property
    def pending(self) -> int:
        """Octets that were fed and not read yet."""

    @property
    def offset(self) -> int:
        """Octets read since the stream began (or reset): where the next frame starts."""

    def feed(self, data: Buffer = b"") -> Iterator[tuple[int, _ItemT_co]]:
        """Take octets, in any chunking; an iterator over what is whole by now.

        Keeps no reference to data once it is read, and none at all unless it is bytes.
        What the iterator was not asked for stays for the next call.

        Raises (from the iterator, at the place in the stream, after the frames before it):
            DecodeError: with scope "frame" or "channel" the next call goes on behind it;
                with scope "connection" the stream is lost, and it is raised again.
        """

    def get_buffer(self, sizehint: int = -1) -> memoryview:
        """A writable buffer to receive into, as asyncio.BufferedProtocol asks for."""

    def buffer_updated(self, nbytes: int) -> Iterator[tuple[int, _ItemT_co]]:
        """Feed what was received into get_buffer(); an iterator, as feed()."""

    def reset(self) -> None:
        """Forget everything, for a new stream; settings stay."""

    def eof(self) -> None:
        """Say that no more octets come.

        Raises:
            IncompleteError: the stream ended inside a frame or a message.
        """

class Decoder(Stream[_ItemT_co]):
    """Frames of one stream. See amqpcodec.decoder."""

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
    ) -> None: ...

class MessageDecoder(Stream[_ItemT_co]):
    """Methods and messages of one stream. See amqpcodec.decoder."""

    def __init__(
        self,
        protocol: Protocol,
        frame_max: int = 131072,
        max_body_size: int | None = None,
        *,
        errors: Literal["strict", "frame"] = "strict",
        dialect: _Dialect = "rabbitmq",
        tables: Literal["plain", "typed"] = "plain",
        copy: bool = True,
        trailing: Literal["error", "keep"] = "error",
    ) -> None: ...
    @property
    def max_body_size(self) -> int | None:
        """Octets a body may have, or None for no limit."""

    def discard(self, channel: int) -> bool:
        """Give up what is open on a channel; the rest of its content is passed over in silence.

        Returns:
            True if something was open.
        """

@final
class Schema:
    """What columns there are, for pyarrow.schema() and the like."""

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""

    def __arrow_c_schema__(self) -> object:
        """The Arrow schema, of a struct, in a PyCapsule."""

@final
class Columns:
    """A struct array of columns, in Arrow's C Data Interface.

    pyarrow.record_batch(columns), polars.from_arrow(columns) and the like take it without a copy.
    The column `frame`, and views, may borrow the octets of bytes or an Arrow array, which are then
    kept alive; nothing else is borrowed. Its memory is shared by all who took it, and goes back to the
    decoder's pool when the last of them, this object included, lets go of it.
    """

    def __len__(self) -> int: ...
    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""

    def __arrow_c_schema__(self) -> object:
        """The Arrow schema, of a struct, in a PyCapsule."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """The Arrow schema and array, a struct, in two PyCapsules; as often as one likes.

        requested_schema is not followed: there is one type for each column.
        """

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A stream of this one batch, in a PyCapsule, for those who take nothing else."""

def columns_schema(
    protocol: Protocol,
    fields: Iterable[str] | None,
    level: str = "frame",
    layout: str = "plain",
) -> Schema:
    """See amqpcodec.batch.schema."""

def decode_columns(
    protocol: Protocol,
    data: object,
    fields: Iterable[str] | None,
    mode: str,
    dialect: str,
    limit: int = 0x7FFFFFFF,
    level: str = "frame",
    layout: str = "plain",
) -> Columns:
    """See amqpcodec.batch.decode. limit: octets that a column may have (tests lower it)."""

def column_pool(clear: bool = False) -> int:
    """Octets that the pool of released columns holds; clear=True gives them back first."""

@final
class CaptureBatch:
    """A struct array of the rows of a capture, in Arrow's C Data Interface.

    pyarrow.record_batch(batch), polars.from_arrow(batch) and the like take it without a copy.
    """

    def __len__(self) -> int: ...
    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""

    @property
    def errors(self) -> int:
        """Rows with an error, as far as the column error was asked for."""

    def __arrow_c_schema__(self) -> object:
        """The Arrow schema, of a struct, in a PyCapsule."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """The Arrow schema and array, a struct, in two PyCapsules; as often as one likes.

        requested_schema is not followed: there is one type for each column.
        """

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A stream of this one batch, in a PyCapsule, for those who take nothing else."""

def capture_schema(protocol: Protocol, fields: Iterable[str] | None) -> Schema:
    """See amqpcodec.capture.schema."""

@final
class CaptureReader:
    """See amqpcodec.capture. One thread at a time."""

    def __init__(
        self,
        protocol: Protocol,
        fields: Iterable[str] | None,
        ports: Iterable[int],
        redact: bool,
        forced: bool,
        batch_rows: int,
        reorder_octets: int = ...,
        reorder_total: int = ...,
    ) -> None: ...
    def begin(self, name: str, key: str) -> None:
        """The octets that follow are those of a file, the next one of the chain.

        key: what the first one's name adds to the names of connections.
        """

    def end(self) -> None:
        """No more octets of this file will come: those of another one may."""

    def peek(self) -> tuple[bool, int | None]:
        """(found, time) of the file's first packet, ns since 1970 or None, in what was fed.

        Not found yet: more octets are needed, unless `damaged` is set. Another reader reads it.
        """

    def release(self) -> None:
        """Give back what reading needs, when all connections have ended and all rows went out."""

    def feed(self, data: bytes) -> None:
        """The next octets of the file; advance() reads them."""

    def advance(self, last: bool = False) -> bool:
        """Read what was fed. True: a batch is full, take() it. last: end all connections."""

    def take(self) -> CaptureBatch | None:
        """The rows that wait, at most batch_rows; None where there are none."""

    def state(self) -> bytes:
        """What resume() of another reader needs to go on at `at`. No rows may wait."""

    def resume(self, state: bytes) -> None:
        """Go on where another reader was, which had the same arguments. Before anything is fed."""

    def stop_at(self, offset: int | None) -> None:
        """Records that begin at this offset of the file or behind it are left; None: none are."""

    def first(self, data: bytes, end: int, last: bool) -> int:
        """Where in these octets of the file a record begins, before `end`; or -1."""

    def counts(self) -> dict[str, Any]:
        """What was seen so far."""

    @property
    def name(self) -> str:
        """Name of the file that is read, or was last."""

    @property
    def first_index(self) -> int:
        """The connection_index of the first connection."""

    @first_index.setter
    def first_index(self, index: int) -> None: ...
    @property
    def between(self) -> bool:
        """Whether no file is open: the next one follows."""

    @property
    def last_time(self) -> int | None:
        """Time of the last packet, ns since 1970, or None."""

    @property
    def damaged(self) -> bool: ...  # what is at `at` is no record
    @property
    def at(self) -> int:
        """Offset in the file of the next record."""

    @property
    def waiting(self) -> int:
        """Octets that were fed and are part of no whole record yet."""

    @property
    def known(self) -> bool:
        """Whether the file was found to be a capture."""
