"""What the compiled core offers to the facade. Users meet it through the protocol modules.

Left out: names that only the core itself needs (its owners of C memory, pickling helpers).
"""

from collections.abc import Callable, Iterable, Iterator
from types import MappingProxyType, ModuleType
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar, final

from typing_extensions import Buffer

from .v1_types import ABSENT, Map, Symbol

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
    def __init__(self, table: dict[str, Any], hot: bool = True) -> None: ...

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
    kept alive; nothing else is borrowed. Its memory is shared by all who took it, and goes back to
    the decoder's pool when the last of them, this object included, lets go of it.
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

class ArrowColumn:
    """One column in Arrow's C Data Interface; nothing of the input is borrowed.

    pyarrow.array(column), polars.Series(column) and the like take it without a copy. Its memory is
    shared by all who took it, and goes back to the pool when the last of them lets go of it.
    """

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object:
        """The Arrow type in a PyCapsule."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """The Arrow type and array in two PyCapsules; as often as one likes.

        requested_schema is not followed: there is one type.
        """

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A stream of this one array, in a PyCapsule, for those who take nothing else."""

@final
class Encoded(ArrowColumn):
    """Messages as octets: a binary column in Arrow's C Data Interface, one value a row.

    A row that could not be encoded is null here, and its error is in ``errors``. Nothing of the
    input is borrowed; memory is shared by all who took it, and goes back to the pool at the end.
    """

    @property
    def error_count(self) -> int:
        """How many rows could not be encoded."""

    @property
    def errors(self) -> ArrowColumn:
        """Why a row could not be encoded: a utf8 column of as many rows, null where all is well."""

def encode_columns(
    protocol: Protocol | V1Core,
    columns: object,
    frame_max: int,
    mode: str,
    dialect: str | None,
    limit: int = ...,
) -> Encoded:
    """See amqpcodec.batch.encode. limit: octets that the array may have (tests lower it)."""

def columns_schema(
    protocol: Protocol | V1Core,
    fields: Iterable[str] | None,
    level: str = "frame",
    layout: str = "plain",
    tables: str = "json",
) -> Schema:
    """See amqpcodec.batch.schema."""

def decode_columns(
    protocol: Protocol | V1Core,
    data: object,
    fields: Iterable[str] | None,
    mode: str,
    dialect: str,
    limit: int = 0x7FFFFFFF,
    level: str = "frame",
    layout: str = "plain",
    tables: str = "json",
) -> Columns:
    """See amqpcodec.batch.decode. limit: octets that a column may have (tests lower it)."""

def release_memory() -> int:
    """See amqpcodec.batch.release_memory."""

def limit_memory(limit: int) -> int:
    """See amqpcodec.batch.limit_memory."""

def kept_memory() -> int:
    """See amqpcodec.batch.kept_memory."""

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

def capture_schema(
    protocol: Protocol | V1Core,
    fields: Iterable[str] | None,
    level: str = "frame",
    tables: str = "json",
) -> Schema:
    """See amqpcodec.capture.schema."""

@final
class CaptureReader:
    """See amqpcodec.capture. One thread at a time."""

    def __init__(
        self,
        protocol: Protocol | V1Core,
        fields: Iterable[str] | None,
        ports: Iterable[int],
        redact: bool,
        forced: bool,
        batch_rows: int,
        level: str = "frame",
        reorder_octets: int = ...,
        reorder_total: int = ...,
        others: tuple[Protocol | V1Core, ...] = (),
        tables: str = "json",
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

    def feed(self, data: bytes | memoryview) -> None:
        """The next octets of the file, a C-contiguous buffer; advance() reads them."""

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

# ---- drop-ins (amqpcodec.compat) ----

@final
class ClientProfile:
    """How one client reads and writes values: field tables, arguments, properties.

    read: tag -> name of READ_KINDS. Options for reading:
        bad_names, bad_text: what a table's name, or a shortstr, that is not UTF-8 becomes:
            "bytes" or "refused".
        longstr: of LONGSTR_POLICIES. signed: longlong is signed.
        timestamp: of the property; "int" or one of READ_KINDS.
        surrogates: text that is not UTF-8 only for its lone surrogates is text.
        int_class: that of "long" values; it is also written with tag l.
    Options for writing:
        ints, decimals: names of their policies.
        float_tag, bytes_tag, bytearray_tag: what that type is in a table, or None where the client
            refuses it.
        tuples: whether a tuple is an array.
        longest_name: octets; a longer name is left to the client.
        bytes_names: whether names may be bytes. in_order: names sorted, not as the table has them.
        bytes_text: text may be bytes. none_text: or None, which is empty.
        any_bits: a bit may be None or any int, else bool, 0 or 1. empty_absent: properties that
            are empty text are left out.
    """

    def __init__(
        self,
        read: dict[str, str],
        *,
        bad_names: str,
        bad_text: str,
        longstr: str,
        signed: bool,
        timestamp: str,
        ints: str,
        decimals: str,
        float_tag: str | None,
        bytes_tag: str | None,
        bytearray_tag: str | None,
        tuples: bool,
        longest_name: int,
        bytes_names: bool,
        in_order: bool,
        bytes_text: bool,
        none_text: bool,
        any_bits: bool,
        empty_absent: bool,
        int_class: type | None = ...,
        surrogates: bool = ...,
    ) -> None: ...

@final
class BoundClass:
    """A class of a client: what its instances are made of, in the order their parts are set.

    cls: the class. names: its attributes, in the order in which `__init__` sets them.
    guard: called with the class when it, or a class above it, was changed since; True while it is
        still as the client shipped it.
    """

    cls: type
    names: tuple[str, ...]
    def __init__(
        self, cls: type, names: tuple[str, ...], guard: Callable[[type], bool]
    ) -> None: ...
    def learn(self, instance: object) -> None:
        """Find out where instances keep their attributes, from a new one that the client made.

        Nobody may have asked for its `__dict__`. What is found is used if it stands a trial.
        """

@final
class BoundMethod:
    """A method, or the property list of a class, and the client's class for it.

    cls: None where the client has no class, but a list or dict of values.
    fields: (name, wire type, flags) in wire order, as a lowered table has them.
    absent: what the properties that are not there are.
    """

    cls: BoundClass | None
    key: int
    def __init__(
        self,
        cls: BoundClass | None,
        class_id: int,
        method_id: int,
        fields: tuple[tuple[str, int, int], ...],
        absent: tuple[object, ...] = ...,
    ) -> None: ...

class DropIn:
    """Calls, classes and stock functions of one client.

    stock: name -> the client's own function. registry: the client's dict of method classes by
    key, which its users may change; a class that is not in it any more is not made.
    """

    lenient: bool
    profile: ClientProfile
    calls: int
    fallbacks: int

@final
class PikaCodec(DropIn):
    """What `pika.frame` and `pika.data` do.

    frames: the bound classes of pika.frame.Method, Header, Body and Heartbeat.
    properties: that of pika.spec.BasicProperties; contents: pika's dict of them by class id.
    module: pika.frame. marshals: what stands for `marshal` of frames' Method, Header and Body.
    """

    marshals: tuple[Callable[..., Any], ...]
    def __init__(
        self,
        profile: ClientProfile,
        stock: dict[str, Any],
        registry: dict[int, type],
        methods: list[BoundMethod],
        lenient: bool,
        frames: tuple[BoundClass, BoundClass, BoundClass, BoundClass],
        properties: BoundMethod,
        contents: dict[int, type],
        module: ModuleType,
    ) -> None: ...
    def decode_frame(self, data_in: bytes, offset: int = ...) -> tuple[int, Any]:
        """As pika.frame.decode_frame: (octets consumed, frame), or (0, None) while incomplete."""

    def receive(self, connection: Any, data_in: bytes) -> None:
        """As pika's Connection._on_data_available, which copies its rest for every frame."""

    def marshal_method(self, frame: Any) -> bytes:
        """As pika.frame.Method.marshal."""
    def marshal_header(self, frame: Any) -> bytes:
        """As pika.frame.Header.marshal."""
    def marshal_body(self, frame: Any) -> bytes:
        """As pika.frame.Body.marshal."""
    def marshal_heartbeat(self, frame: Any) -> bytes:
        """As pika.frame.Heartbeat.marshal."""
    def send_message(
        self,
        connection: Any,
        channel_number: int,
        method_frame: Any,
        content: tuple[Any, bytes],
    ) -> None:
        """As pika's Connection._send_message, which makes an object of each frame."""
    def encode_short_string(self, pieces: list[bytes], value: str | bytes) -> int:
        """As pika.data.encode_short_string: appends two pieces, returns their length."""
    def encode_table(self, pieces: list[bytes], table: dict[Any, Any] | None) -> int:
        """As pika.data.encode_table: appends the octets as one piece, returns their length."""
    def encode_value(self, pieces: list[bytes], value: Any) -> int:
        """As pika.data.encode_value: appends the octets as one piece, returns their length."""
    def decode_short_string(self, encoded: bytes, offset: int) -> tuple[str | bytes, int]:
        """As pika.data.decode_short_string: (text, offset behind it)."""
    def decode_table(self, encoded: bytes, offset: int) -> tuple[dict[Any, Any], int]:
        """As pika.data.decode_table: (dict, offset behind it)."""
    def decode_value(self, encoded: bytes, offset: int) -> tuple[Any, int]:
        """As pika.data.decode_value: (value, offset behind it)."""

@final
class CheckedMethod:
    """A method of pamqp and what its `validate` asks, field by field (names of CHECKS).

    defaults: the values of a new instance.
    """

    def __init__(
        self, method: BoundMethod, checks: tuple[str, ...], defaults: tuple[object, ...]
    ) -> None: ...

@final
class PamqpCodec(DropIn):
    """What `pamqp.frame`, `pamqp.encode` and `pamqp.decode` do.

    deprecated: the profile while support_deprecated_rabbitmq() is on.
    checks: of the methods, in their order. properties: of Basic.Properties.
    classes: the bound classes of ContentHeader, ContentBody and Heartbeat; modules: where pamqp
    finds them, and then its modules encode, exceptions and frame.
    """

    def __init__(
        self,
        profile: ClientProfile,
        deprecated: ClientProfile,
        stock: dict[str, Any],
        registry: dict[int, type],
        methods: list[BoundMethod],
        lenient: bool,
        checks: list[CheckedMethod],
        properties: BoundMethod,
        classes: tuple[BoundClass, BoundClass, BoundClass],
        modules: tuple[ModuleType, ...],
        namespace: type,
    ) -> None: ...
    def unmarshal(self, data_in: bytes) -> tuple[int, int, Any]:
        """As pamqp.frame.unmarshal: (octets consumed, channel, frame)."""
    def marshal(self, frame_value: Any, channel_id: int) -> bytes:
        """As pamqp.frame.marshal: the frame's octets."""

@final
class AmqpCodec(DropIn):
    """What `amqp.serialization` and `amqp.method_framing` do.

    properties: the property list, without a class. names: py-amqp's names of the properties.
    message: the bound class of amqp.basic_message.Message, slots in the order of MESSAGE_METHOD
    and on. property_list: Message.PROPERTIES as it was shipped. framing: amqp.method_framing.
    contents: its methods with content, by class and method id in one number. readers: the `_read`
    of transports whose work is known. again: reads a frame by py-amqp's own code, from octets that
    were taken of a socket already, and what it said then (octets or an exception).
    """

    serializer: object
    def __init__(
        self,
        profile: ClientProfile,
        stock: dict[str, Any],
        lenient: bool,
        properties: BoundMethod,
        names: tuple[str, ...],
        message: BoundClass,
        property_list: list[tuple[str, str]],
        framing: ModuleType,
        contents: dict[int, tuple[int, int]],
        readers: frozenset[Any],
        again: Callable[[Any, bytes, Any], Any],
    ) -> None: ...
    def loads(self, format: str | bytes, buf: bytes, offset: int) -> tuple[list[Any], int]:
        """As amqp.serialization.loads: (list of arguments, offset behind them)."""
    def dumps(self, format: str | bytes, values: Any) -> bytes:
        """As amqp.serialization.dumps: the octets of arguments."""
    def read_item(self, buf: bytes, offset: int) -> tuple[Any, int]:
        """As amqp.serialization._read_item: (value, offset behind it)."""
    def write_table(self, d: Any, write: Callable[[bytes], object], bits: Any) -> None:
        """As amqp.serialization._write_table: the octets, their length before them, are written."""
    def write_item(self, v: Any, write: Callable[[bytes], object], bits: Any) -> None:
        """As amqp.serialization._write_item."""
    def write_array(self, list_: Any, write: Callable[[bytes], object], bits: Any) -> None:
        """As amqp.serialization._write_array."""
    def decode_properties_basic(self, buf: bytes, offset: int) -> tuple[dict[str, Any], int]:
        """As amqp.serialization.decode_properties_basic: (dict, offset behind them)."""
    def serialize_properties(self, content: Any) -> bytes:
        """As amqp.serialization.GenericContent._serialize_properties."""

@final
class AzureTuple:
    """A client's NamedTuple whose fields are None where they are not given. name: what its module
    calls it; names: that module's dict."""

    cls: type[Any]
    def __init__(self, names: dict[str, Any], name: str) -> None: ...

class AzureReading:
    """A client's own way with octets, as its modules say it.

    deepest, most: levels and items of a compound it takes at most, 0 for no limit. wrappers: what
    it calls with a described value, by constructor. states: names of delivery states, by
    descriptor. absent: values of a performative's fields that are not there, by its code; or None.
    decimal128: its own function, or None.
    """

    def __init__(
        self,
        *,
        deepest: int,
        most: int,
        wrappers: dict[int, Any] | None,
        states: dict[int, str],
        absent: dict[int, list[Any]] | None,
        decimal128: Callable[[memoryview], tuple[memoryview, Any]] | None,
        message: AzureTuple,
        header: AzureTuple,
        properties: AzureTuple,
    ) -> None: ...

@final
class AzureDefinition:
    """How a class's instances are written: its descriptor, and a way for each field."""

    def __init__(self, code: int, definition: Any, ways: bytes) -> None: ...

class AzureWriting:
    """A client's own way to write values, as its modules say it.

    types: numbers of its type names. define: makes an AzureDefinition of a class. decimal128: its
    own function, or None. wide_ints: an int beyond 32 bits is a long.
    """

    def __init__(
        self,
        *,
        types: dict[str, int],
        define: Callable[[Any], AzureDefinition],
        decimal128: Callable[..., None] | None,
        wide_ints: bool,
        joins_data: bool,
    ) -> None: ...

@final
class AzureCodec:
    """What `_pyamqp._encode` and `_pyamqp._decode` of one client do.

    stock: name -> the client's own function. transfer: its TransferFrame.
    """

    lenient: bool
    calls: int
    fallbacks: int
    def __init__(
        self,
        reading: AzureReading,
        writing: AzureWriting,
        stock: dict[str, Any],
        transfer: type[Any],
    ) -> None: ...
    def decode_frame(self, data: memoryview) -> tuple[int, list[Any]]:
        """As _decode.decode_frame: (code, fields) of a performative."""
    def decode_payload(self, buffer: memoryview) -> Any:
        """As _decode.decode_payload: the Message."""
    def decode_empty_frame(self, header: memoryview) -> tuple[int, bytes]:
        """As _decode.decode_empty_frame: (0, octets) of a protocol header, (1, b"EMPTY")."""
    def encode_frame(
        self, frame: Any, frame_type: bytes = b"\x00"
    ) -> tuple[bytes, bytearray | None]:
        """As _encode.encode_frame: (the first six octets, the rest without the channel)."""
    def encode_payload(self, output: bytearray, payload: Any) -> bytearray:
        """As _encode.encode_payload: output, with the message's sections at its end."""

@final
class FrameHandler:
    """What frame_handler of py-amqp makes: it joins frames to messages."""

    def __init__(self, codec: AmqpCodec, connection: Any, callback: Callable[..., Any]) -> None: ...
    def on_frame(self, frame: Any) -> bool:
        """Take a frame, which is (type, channel, payload). True: something was handed over."""

@final
class FrameWriter:
    """What frame_writer of py-amqp makes: it cuts messages to frames, one at a time."""

    def __init__(self, codec: AmqpCodec, connection: Any, transport: Any) -> None: ...
    def write_frame(
        self,
        type_: int,
        channel: int,
        method_sig: tuple[int, int],
        args: bytes | str,
        content: Any,
    ) -> None:
        """Write the frames of a method and its content to the transport."""

def pyamqp_reader(codec: AmqpCodec) -> Callable[..., Any]:
    """A function for amqp.transport._AbstractTransport.read_frame."""

def pamqp_reader(
    codec: PamqpCodec, name: str, kind: str | None, stock: Callable[..., Any]
) -> Callable[[bytes], tuple[int, Any]]:
    """A function of pamqp.decode: octets to (octets consumed, value).

    kind: of the values that profiles know; None: a tag says it; "short text": a shortstr.
    """

def pamqp_writer(codec: PamqpCodec, name: str, stock: Callable[..., Any]) -> Callable[[Any], bytes]:
    """A function of pamqp.encode: a value to its octets."""

def as_method(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function for a class's attribute that hands its instance on to `function`.

    With no keyword arguments: these methods are for the client's own code.
    """

# ---- AMQP 1.0 ----

class Composite(metaclass=KindMeta):
    """Base of the classes of described types."""

    NAME: ClassVar[str]
    DESCRIPTOR: ClassVar[int]
    SYMBOL: ClassVar[Symbol]
    PROVIDES: ClassVar[tuple[str, ...]]
    FIELDS: ClassVar[tuple[str, ...]]
    MANDATORY: ClassVar[tuple[str, ...]]
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def validate(self) -> None:
        """Check what the specification demands of the values beyond their types.

        Encoding by itself refuses only what cannot be encoded, and decoding keeps what came.

        Raises:
            ValidationError: names the type and the field.
            EncodeError: a value cannot be encoded at all.
        """

    def is_set(self, name: str) -> bool:
        """Whether a field has a value of its own, and not just its default.

        Raises:
            AttributeError: there is no such field.
        """

class V1Core:
    """The classes and enums of AMQP 1.0. Made from a lowered table."""

    # Read-only, all of them.
    name: str
    module: str
    table: dict[str, Any]
    classes: dict[str, Any]
    TYPES: MappingProxyType[int, type[Composite]]
    ProtocolHeader: Any
    Heartbeat: Any
    BadFrame: Any
    Delivery: Any

class V1Protocol(V1Core):
    """AMQP 1.0, ready to encode and decode. Made from a lowered table."""

    # The stub of its module has their types and texts.
    encode_value: Any
    decode_value: Any
    encode: Any
    encode_into: Any
    encode_message: Any
    decode: Any
    def __init__(self, table: dict[str, Any]) -> None: ...

class V1Decoder(Stream[tuple[int, Any]]):
    """Frames of one stream of AMQP 1.0."""

    opened: bool
    def __init__(
        self,
        protocol: V1Core,
        frame_max: int = 131072,
        *,
        errors: Literal["strict", "frame"] = "strict",
        types: Literal["plain", "typed"] = "plain",
        copy: bool = True,
        opened: bool = False,
    ) -> None: ...
    def reset(self) -> None:
        """Forget everything, for a new stream; settings stay."""

    def eof(self) -> None:
        """Say that no more octets come.

        Raises:
            IncompleteError: the stream ended inside a frame.
        """

class V1MessageDecoder(V1Decoder):
    """Deliveries and all other performatives of one stream of AMQP 1.0."""

    def __init__(
        self,
        protocol: V1Core,
        frame_max: int = 131072,
        max_message_size: int | None = None,
        *,
        errors: Literal["strict", "frame"] = "strict",
        types: Literal["plain", "typed"] = "plain",
        copy: bool = True,
        opened: bool = False,
        eager: bool = False,
    ) -> None: ...
    @property
    def max_message_size(self) -> int | None:
        """Octets a delivery may have, or None for no limit."""

    def discard(self, channel: int, handle: int) -> bool:
        """Give up the delivery that is open on a link; the rest of it is passed over in silence.

        Returns:
            True if something was open.
        """

    def reset(self) -> None:
        """Forget everything, for a new stream; settings stay."""

    def eof(self) -> None:
        """Say that no more octets come.

        Raises:
            IncompleteError: the stream ended inside a frame or a delivery.
        """

@final
class Message:
    """A message of AMQP 1.0: its sections, read when they are asked for.

    Args:
        body: bytes (or another buffer) for a data section, an instance of Data, AmqpSequence or
            AmqpValue, anything else for an amqp-value section; None for no body.
        header, properties: whole sections; or their fields by name, such as durable and to.
        delivery_annotations, message_annotations, application_properties, footer: dict or Map.
        data, sequences: several body sections of a kind; value: an amqp-value, None included.

    Spec: 1.0 Part 3 §3.2.
    """

    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __init__(
        self,
        body: Any = None,
        *,
        header: Any = None,
        delivery_annotations: dict[Any, Any] | Map | None = None,
        message_annotations: dict[Any, Any] | Map | None = None,
        properties: Any = None,
        application_properties: dict[Any, Any] | Map | None = None,
        data: Buffer | Iterable[Buffer] = (),
        sequences: Iterable[list[Any]] = (),
        value: Any = ABSENT,
        footer: dict[Any, Any] | Map | None = None,
        **fields: Any,
    ) -> None: ...
    @staticmethod
    def decode(
        data: Buffer,
        *,
        eager: bool = False,
        copy: bool = True,
        types: Literal["plain", "typed"] = "plain",
    ) -> Message:
        """A message from the octets of its sections, as a delivery carries them.

        Args:
            eager: read all sections now; else each on first use, which may raise then.
            copy: False gives data sections as memoryviews of the octets.
            types: "plain" or "typed" values.

        Raises:
            DecodeError: sections are unknown, out of order, there twice or cut off; with
                eager=True, whatever is wrong in any of them.
        """

    @property
    def header(self) -> Any:
        """The Header, None where there is none."""

    @header.setter
    def header(self, value: Any) -> None: ...
    @property
    def delivery_annotations(self) -> dict[Any, Any] | Map | None:
        """dict (or Map), None where there are none."""

    @delivery_annotations.setter
    def delivery_annotations(self, value: dict[Any, Any] | Map | None) -> None: ...
    @property
    def message_annotations(self) -> dict[Any, Any] | Map | None:
        """dict (or Map), None where there are none."""

    @message_annotations.setter
    def message_annotations(self, value: dict[Any, Any] | Map | None) -> None: ...
    @property
    def properties(self) -> Any:
        """The Properties, None where there are none."""

    @properties.setter
    def properties(self, value: Any) -> None: ...
    @property
    def application_properties(self) -> dict[Any, Any] | Map | None:
        """dict (or Map), None where there are none."""

    @application_properties.setter
    def application_properties(self, value: dict[Any, Any] | Map | None) -> None: ...
    @property
    def data(self) -> tuple[bytes | memoryview, ...]:
        """The data sections: a tuple of bytes, empty where there is none."""

    @data.setter
    def data(self, value: Buffer | Iterable[Buffer]) -> None: ...
    @property
    def sequences(self) -> tuple[list[Any], ...]:
        """The amqp-sequence sections: a tuple of lists, empty where there is none."""

    @sequences.setter
    def sequences(self, value: Iterable[list[Any]]) -> None: ...
    @property
    def value(self) -> Any:
        """The value of the amqp-value section, ABSENT where there is none."""

    @value.setter
    def value(self, value: Any) -> None: ...
    @property
    def footer(self) -> dict[Any, Any] | Map | None:
        """dict (or Map), None where there is none."""

    @footer.setter
    def footer(self, value: dict[Any, Any] | Map | None) -> None: ...
    @property
    def body(self) -> Any:
        """The octets of all data sections, the items of all sequences, or the value; else None."""

    @body.setter
    def body(self, value: Any) -> None: ...
    @property
    def body_kind(self) -> Literal["data", "sequence", "value"] | None:
        """\"data", "sequence", "value", or None without a body."""

    def encode(self, *, validate: bool = False) -> bytes:
        """The octets of all sections. Those that were decoded and not changed are as they came.

        Raises:
            EncodeError: names the section and field that cannot be encoded.
        """

    @property
    def bare(self) -> bytes:
        """The octets of the bare message: properties, application properties and body.

        Header, annotations and footer can change without any change to these.
        """

    def sections(self) -> list[tuple[int, int, int, int]]:
        """The sections as encode() writes them: a list of (number, descriptor, offset, length).

        number: from 0 on in order, as Received counts them. offset: octets from the start of the
        message to the section's own, descriptor included; length: in octets.
        """

    def validate(self) -> None:
        """Check what the specification demands beyond what decode does.

        Raises:
            ValidationError: names the section and what is wrong in it.
            EncodeError: a value cannot be encoded at all.
        """

def required_annotations(annotations: dict[Any, Any] | Map | None) -> list[Any]:
    """The keys of annotations that a receiver must understand, or else detach the link: all but
    those that begin with "x-opt-".

    Spec: 1.0 Part 3 §3.2.10.
    """
