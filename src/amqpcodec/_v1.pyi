"""What the compiled module of AMQP 1.0 offers to the facade."""

from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self, final

from typing_extensions import Buffer

from ._codec import MessageMeta, Stream
from .v1_types import ABSENT, Map, Symbol

class Composite(metaclass=MessageMeta):
    """Base of the classes of described types."""

    NAME: ClassVar[str]
    DESCRIPTOR: ClassVar[int]
    SYMBOL: ClassVar[Symbol]
    PROVIDES: ClassVar[tuple[str, ...]]
    FIELDS: ClassVar[tuple[str, ...]]
    MANDATORY: ClassVar[tuple[str, ...]]
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def _repr_html_(self) -> str:
        """A table of the fields that are set, for notebooks."""

    def __replace__(self, /, **changes: Any) -> Self:
        """A copy with other values in some fields: copy.replace() and amqpcodec.replace() call it.

        What does not change keeps its bytes.

        Raises:
            TypeError: there is no such field.
        """

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

def decode_function(protocol: V1Protocol) -> Callable[..., tuple[int, int, Any] | None]:
    """V1Protocol.decode as amqpcodec.v1_0 offers it: the same, with the shortest way to a plain
    call."""

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
        """Say that no more bytes come.

        Raises:
            IncompleteError: the stream ended inside a frame, a message or a delivery.
        """

class V1MessageDecoder(V1Decoder):
    """Deliveries and all other performatives of one stream of AMQP 1.0."""

    def __init__(
        self,
        protocol: V1Core,
        frame_max: int = 131072,
        max_message_size: int | None = None,
        *,
        max_open: int | None = 65536,
        errors: Literal["strict", "frame"] = "strict",
        types: Literal["plain", "typed"] = "plain",
        copy: bool = True,
        opened: bool = False,
        eager: bool = False,
    ) -> None: ...
    @property
    def max_message_size(self) -> int | None:
        """Bytes a delivery may have, or None for no limit."""

    @property
    def max_open(self) -> int | None:
        """Deliveries that may be open at once, or None for no limit."""

    def discard(self, channel: int, handle: int) -> bool:
        """Discard the delivery that is open on a link; the decoder skips the rest of it in silence.

        Returns:
            True if something was open.
        """

    def reset(self) -> None:
        """Forget everything, for a new stream; settings stay."""

    def eof(self) -> None:
        """Say that no more bytes come.

        Raises:
            IncompleteError: the stream ended inside a frame, a message or a delivery.
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
    def _repr_html_(self) -> str:
        """A table of the sections that are there, for notebooks."""

    def __replace__(self, /, **changes: Any) -> Message:
        """A copy with other sections, another body, or other fields of header and properties:
        copy.replace() and amqpcodec.replace() call it.

        Raises:
            TypeError: there is no such section or field, or a section and fields of it are given.
        """

    @staticmethod
    def decode(
        data: Buffer,
        *,
        eager: bool = False,
        copy: bool = True,
        types: Literal["plain", "typed"] = "plain",
    ) -> Message:
        """A message from the bytes of its sections, as a delivery carries them.

        Args:
            eager: read all sections now; else each on first use, which may raise then.
            copy: False gives data sections as memoryviews of the bytes.
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
    def effective_header(self) -> Any:
        """The Header that a receiver goes by: `header`, or one of defaults where there is none.

        A default one is not part of the message: changing it changes nothing.
        Spec: 1.0 Part 3 §3.2.1.
        """

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
        """The bytes of all data sections, the items of all sequences, or the value; else None."""

    @body.setter
    def body(self, value: Any) -> None: ...
    @property
    def body_kind(self) -> Literal["data", "sequence", "value"] | None:
        """\"data", "sequence", "value", or None without a body."""

    def encode(self, *, validate: bool = False) -> bytes:
        """The bytes of all sections. Those that were decoded and not changed are as they came.

        Raises:
            EncodeError: names the section and field that cannot be encoded.
        """

    @property
    def bare(self) -> bytes:
        """The bytes of the bare message: properties, application properties and body.

        Header, annotations and footer can change without any change to these.
        """

    def sections(self) -> list[tuple[int, int, int, int]]:
        """The sections as encode() writes them: a list of (number, descriptor, offset, length).

        number: from 0 on in order, as Received counts them. offset: bytes from the start of the
        message to the section's own, descriptor included; length: in bytes.
        """

    def validate(self) -> None:
        """Check what the specification demands beyond what decode does.

        Raises:
            ValidationError: names the section and what is wrong in it.
            EncodeError: a value cannot be encoded at all.
        """

def required_annotations(annotations: Message | dict[Any, Any] | Map | None) -> list[Any]:
    """The keys of annotations that a receiver must understand, or else detach the link with
    amqp:not-implemented: all but those that begin with "x-opt-".

    Args:
        annotations: a Message, for the keys of its delivery annotations, message annotations and
            footer, in this order; or one of these sections; None for one that is absent.

    The key "rejected" of delivery annotations, whose meaning the specification gives, is listed
    like any other. A key such as "x-optional" is listed too: the specification has the receiver
    ignore what begins with "x-opt-".

    Raises:
        DecodeError: a section of the message cannot be decoded.

    Spec: 1.0 Part 3 §3.2.10.
    """

def get_max_int_keys() -> int:
    """See amqpcodec.limits."""

def set_max_int_keys(limit: int) -> None:
    """See amqpcodec.limits."""

def get_max_empty_elements() -> int:
    """See amqpcodec.limits."""

def set_max_empty_elements(limit: int) -> None:
    """See amqpcodec.limits."""
