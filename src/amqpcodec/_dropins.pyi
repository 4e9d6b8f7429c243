"""What the compiled drop-ins of AMQP 0-9-1 clients offer to amqpcodec.compat."""

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, NotRequired, TypedDict, Unpack, final

class _ProfileOptions(TypedDict):
    bad_names: str
    bad_text: str
    longstr: str
    signed: bool
    timestamp: str
    ints: str
    decimals: str
    float_tag: str | None
    bytes_tag: str | None
    bytearray_tag: str | None
    tuples: bool
    longest_name: int
    bytes_names: bool
    in_order: bool
    bytes_text: bool
    none_text: bool
    any_bits: bool
    empty_absent: bool
    int_class: NotRequired[type | None]
    surrogates: NotRequired[bool]
    negative_bytes: NotRequired[bool]
    datetimes: NotRequired[bool]

@final
class ClientProfile:
    """How one client reads and writes values: field tables, arguments, properties.

    read: tag -> name of CONVERSIONS. Options for reading:
        bad_names, bad_text: what a table's name, or a shortstr, that is not UTF-8 becomes:
            "bytes" or "refused".
        longstr: of LONGSTR_POLICIES. signed: longlong is signed.
        timestamp: of the property, one of TIMES.
        surrogates: text that is not UTF-8 only for its lone surrogates is text.
        int_class: that of "long" values; it is also written, with tag l or as `ints` says of 64
            bits.
    Options for writing:
        ints, decimals: names of their policies; "client" leaves them to the client.
        negative_bytes: whether -128 to -1 are written as one byte, or left to the client.
        datetimes: whether they are written, or left to the client.
        float_tag, bytes_tag, bytearray_tag: what that type is in a table, or None where the client
            refuses it.
        tuples: whether a tuple is an array.
        longest_name: bytes; a longer name is left to the client.
        bytes_names: whether names may be bytes. in_order: names sorted, not as the table has them.
        bytes_text: text may be bytes. none_text: or None, which is empty.
        any_bits: a bit may be None or any int, else bool, 0 or 1. empty_absent: properties that
            are empty text are written as absent.
    """

    def __init__(
        self,
        read: dict[str, str],
        **options: Unpack[_ProfileOptions],
    ) -> None: ...

@final
class Guard:
    """What a binding rests on, as it is now; `watch.h` says how a later change is noticed.

    cls: a class, whose slots and bases are compared, and the namespaces of it and of the classes
    above it: under `names` as far as the first that has one, under `every`, which may call each
    other, in all of them. None: no class.
    """

    def __init__(
        self, cls: type | None = ..., names: Iterable[str] = ..., every: Iterable[str] = ...
    ) -> None: ...
    def add(self, names: dict[Any, Any], keys: Iterable[Any], counted: bool = ...) -> None:
        """Take entries of a namespace as they are now, and the functions among them; an entry that
        is not there may not come. counted: the namespace is a module's that counts what is set."""
    def add_list(self, items: list[Any]) -> None:
        """Take the items of a list as they are now."""
    def add_function(self, function: object) -> None:
        """Take a function's code and defaults as they are now; all else is left alone."""
    def expect(self, names: dict[Any, Any], key: object, value: object) -> None:
        """What an entry that was taken is from now on."""

def namespace_of(cls: type) -> dict[str, Any]:
    """A class's own names: the dict itself."""

def guards_call_back() -> bool:
    """Whether changes are called back, so that a guard costs nothing while there are none."""

def count_change() -> None:
    """A module that guards rest on was changed, says its class."""

def compare_at_every_call(wanted: bool) -> bool:
    """For tests: compare at every call, as CPython 3.11 has to. True: so it was."""

@final
class BoundClass:
    """A class of a client: what its instances are made of, in the order their parts are set.

    cls: the class. names: its attributes, in the order in which `__init__` sets them.
    making, taking: what making instances and reading them rest on; None: the class is not as its
        client shipped it, and all that concerns it is left to the client's code.
    """

    cls: type
    names: tuple[str, ...]
    def __init__(
        self, cls: type, names: tuple[str, ...], making: Guard | None, taking: Guard | None
    ) -> None: ...

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

class FallBack(Exception):
    """Not ours: the client's own code does this; its argument is the reason."""

class Fallbacks:
    """How often a drop-in was entered and left the work to the client's own code, by reason.

    raises: an error that is our own is raised, as in tests; else it is counted, and served by the
    client's code.
    """

    calls: int
    fallbacks: int
    reasons: dict[str, int]
    raises: bool
    def fell_back(self) -> None:
        """Count one, for the reason that was remembered."""
    def forget_calls(self) -> None:
        """Count from nothing again: what was called until now was a comparison."""

@final
class ClientBinding:
    """What a drop-in rests on, whatever the client.

    stock: name -> the client's own function. reading, writing: what both ways rest on beside the
    classes. methods: those that are bound. lenient: RawValue for what cannot be read in a table.
    """

    def __init__(
        self,
        profile: ClientProfile,
        stock: dict[str, Any],
        reading: Guard,
        writing: Guard,
        methods: list[BoundMethod],
        lenient: bool,
    ) -> None: ...

class DropIn(Fallbacks):
    """Calls, classes and stock functions of one client: see ClientBinding."""

    lenient: bool
    profile: ClientProfile

@final
class PikaCodec(DropIn):
    """What `pika.frame` and `pika.data` do.

    frames: the bound classes of pika.frame.Method, Header, Body and Heartbeat.
    properties: that of pika.spec.BasicProperties. module: pika.frame. sends: whether frames are
    marshalled here, so that those of a message need not be made.
    """

    sends: bool
    def __init__(
        self,
        binding: ClientBinding,
        frames: tuple[BoundClass, BoundClass, BoundClass, BoundClass],
        properties: BoundMethod,
        module: ModuleType,
    ) -> None: ...
    def decode_frame(self, data_in: bytes, offset: int = ...) -> tuple[int, Any]:
        """As pika.frame.decode_frame: (bytes consumed, frame), or (0, None) while incomplete."""

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
        """As pika.data.encode_table: appends the bytes as one piece, returns their length."""
    def encode_value(self, pieces: list[bytes], value: Any) -> int:
        """As pika.data.encode_value: appends the bytes as one piece, returns their length."""
    def decode_short_string(self, encoded: bytes, offset: int) -> tuple[str | bytes, int]:
        """As pika.data.decode_short_string: (text, offset after it)."""
    def decode_table(self, encoded: bytes, offset: int) -> tuple[dict[Any, Any], int]:
        """As pika.data.decode_table: (dict, offset after it)."""
    def decode_value(self, encoded: bytes, offset: int) -> tuple[Any, int]:
        """As pika.data.decode_value: (value, offset after it)."""

@final
class CheckedMethod:
    """A method of pamqp and what its `validate` asks, field by field (names of CHECKS).

    defaults: the values of a new instance. name_table: one byte for each of 256, not 0 if names
    may have it.
    """

    def __init__(
        self,
        method: BoundMethod,
        checks: tuple[str, ...],
        defaults: tuple[object, ...],
        name_table: bytes,
    ) -> None: ...

@final
class PamqpCodec(DropIn):
    """What `pamqp.frame`, `pamqp.encode` and `pamqp.decode` do.

    deprecated: the profile while support_deprecated_rabbitmq() is on.
    checks: of the methods, in their order. properties: of Basic.Properties.
    classes: the bound classes of ContentHeader, ContentBody and Heartbeat. encode, exceptions:
    modules of pamqp.
    """

    def __init__(
        self,
        binding: ClientBinding,
        deprecated: ClientProfile,
        checks: list[CheckedMethod],
        properties: BoundMethod,
        classes: tuple[BoundClass, BoundClass, BoundClass],
        encode: ModuleType,
        exceptions: ModuleType,
    ) -> None: ...
    def unmarshal(self, data_in: bytes) -> tuple[int, int, Any]:
        """As pamqp.frame.unmarshal: (bytes consumed, channel, frame)."""
    def marshal(self, frame_value: Any, channel_id: int) -> bytes:
        """As pamqp.frame.marshal: the frame's bytes."""

@final
class AmqpMessages:
    """How py-amqp makes messages of frames.

    cls: the bound class of amqp.basic_message.Message, slots in the order of MESSAGE_METHOD and on.
    heading, filling: what messages rest on when a header and when a body comes. property_list:
    Message.PROPERTIES as it was shipped. framing: amqp.method_framing. contents: its methods with
    content, by class and method id in one number.
    """

    def __init__(
        self,
        cls: BoundClass,
        heading: Guard | None,
        filling: Guard | None,
        property_list: list[tuple[str, str]],
        framing: ModuleType,
        contents: dict[int, tuple[int, int]],
    ) -> None: ...

@final
class AmqpTransports:
    """How py-amqp reads frames of sockets.

    module: amqp.transport. judge: called with a class of transports, gives a guard of it, and its
    slot `_read_buffer` and the numbers of the errors that it takes for nothing to read; None for
    both if its work is not known. again: reads a frame by py-amqp's own code, from bytes that were
    taken of a socket already, and what it said then (bytes or an exception).
    """

    def __init__(
        self,
        module: ModuleType,
        judge: Callable[[type], tuple[Guard, Any, tuple[int, ...] | None]],
        again: Callable[[Any, bytes, Any], Any],
    ) -> None: ...

@final
class AmqpCodec(DropIn):
    """What `amqp.serialization` and `amqp.method_framing` do.

    properties: the property list, without a class. names: py-amqp's names of the properties.
    headers: what serialization rests on when a header comes.
    locks: whether frame_writer has a lock. empty_bodies: whether it writes the header of an empty
    body that does not fit one frame.
    """

    def __init__(
        self,
        binding: ClientBinding,
        properties: BoundMethod,
        names: tuple[str, ...],
        headers: Guard,
        messages: AmqpMessages,
        transports: AmqpTransports,
        locks: bool = ...,
        empty_bodies: bool = ...,
    ) -> None: ...
    def loads(self, format: str | bytes, buf: bytes, offset: int) -> tuple[list[Any], int]:
        """As amqp.serialization.loads: (list of arguments, offset after them)."""
    def dumps(self, format: str | bytes, values: Any) -> bytes:
        """As amqp.serialization.dumps: the bytes of arguments."""
    def read_item(self, buf: bytes, offset: int) -> tuple[Any, int]:
        """As amqp.serialization._read_item: (value, offset after it)."""
    def write_table(self, d: Any, write: Callable[[bytes], object], bits: Any) -> None:
        """As amqp.serialization._write_table: the bytes, their length before them, are written."""
    def write_item(self, v: Any, write: Callable[[bytes], object], bits: Any) -> None:
        """As amqp.serialization._write_item."""
    def write_array(self, list_: Any, write: Callable[[bytes], object], bits: Any) -> None:
        """As amqp.serialization._write_array."""
    def decode_properties_basic(self, buf: bytes, offset: int) -> tuple[dict[str, Any], int]:
        """As amqp.serialization.decode_properties_basic: (dict, offset after them)."""
    def serialize_properties(self, content: Any) -> bytes:
        """As amqp.serialization.GenericContent._serialize_properties."""

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
    codec: PamqpCodec, name: str, conversion: str | None, stock: Callable[..., Any]
) -> Callable[[bytes], tuple[int, Any]]:
    """A function of pamqp.decode: bytes to (bytes consumed, value).

    conversion: of the values that profiles know; None: a tag says it.
    """

def pamqp_writer(codec: PamqpCodec, name: str, stock: Callable[..., Any]) -> Callable[[Any], bytes]:
    """A function of pamqp.encode: a value to its bytes."""

def as_method(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function for a class's attribute that hands its instance on to `function`.

    With no keyword arguments: these methods are for the client's own code.
    """

# ---- AMQP 1.0 ----
