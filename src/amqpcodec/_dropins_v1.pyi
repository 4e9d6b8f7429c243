"""What the compiled drop-in of AMQP 1.0 clients offers to amqpcodec.compat."""

from collections.abc import Callable
from typing import Any, final

from ._dropins import Fallbacks, Guard

#: Numbers of the types that the drop-in writes, by AMQP's names, and of ways to write fields that
#: have no type.
TYPES: dict[str, int]
WAYS: dict[str, int]

@final
class AzureTuple:
    """A client's NamedTuple whose fields are None where they are not given. name: what its module
    calls it; names: that module's dict."""

    cls: type[Any]
    def __init__(self, names: dict[str, Any], name: str) -> None: ...

class AzureReading:
    """A client's own way with bytes, as its modules say it.

    deepest, most: levels and items of a compound it takes at most, 0 for no limit. wrappers: what
    it calls with a described value, by constructor. states: names of delivery states, by
    descriptor. absent: values of a performative's fields that are not there, by its code; or None.
    decimal128: its own function, or None. classes: Message, Header and Properties.
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
        classes: tuple[AzureTuple, AzureTuple, AzureTuple],
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
class AzureCodec(Fallbacks):
    """What `_pyamqp._encode` and `_pyamqp._decode` of one client do.

    stock: name -> the client's own function. transfer: its TransferFrame. decode, encode: guards of
    what the two rest on.
    """

    lenient: bool
    def __init__(
        self,
        reading: AzureReading,
        writing: AzureWriting,
        stock: dict[str, Any],
        transfer: type[Any],
        decode: Guard,
        encode: Guard,
    ) -> None: ...
    def decode_frame(self, data: memoryview) -> tuple[int, list[Any]]:
        """As _decode.decode_frame: (code, fields) of a performative."""
    def decode_payload(self, buffer: memoryview) -> Any:
        """As _decode.decode_payload: the Message."""
    def decode_empty_frame(self, header: memoryview) -> tuple[int, bytes]:
        """As _decode.decode_empty_frame: (0, bytes) of a protocol header, (1, b"EMPTY")."""
    def encode_frame(
        self, frame: Any, frame_type: bytes = b"\x00"
    ) -> tuple[bytes, bytearray | None]:
        """As _encode.encode_frame: (the first six bytes, the rest without the channel)."""
    def encode_payload(self, output: bytearray, payload: Any) -> bytearray:
        """As _encode.encode_payload: output, with the message's sections at its end."""
