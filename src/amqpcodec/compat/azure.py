"""The drop-in for AMQP 1.0 as azure-eventhub and azure-servicebus (``_pyamqp``) and rstream (its
copy of that) speak it: ``from amqpcodec.compat import azure; azure.install()``.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any
from uuid import UUID

from amqpcodec import _dropins, _dropins_v1

from .._facade.public import listing
from ._classes import GuardRegistry
from ._compare import Difference, compare, outcome, refuse
from ._dropin import (
    ClientPatch,
    CompatError,
    CompatWarning,
    DropIn,
    OnUnknown,
    PatchPoint,
    all_or_none,
)

__all__ = ["calls", "fallbacks", "install", "installed", "uninstall"]

__dir__ = listing(__name__)

#: Distribution -> its package.
CLIENTS: dict[str, str] = {
    "azure-eventhub": "azure.eventhub",
    "azure-servicebus": "azure.servicebus",
    "rstream": "rstream",
}

#: What of `_pyamqp` reading and writing rest on, and can be compared.
_PATHS = ("_decode:*", "_encode:*", "message", "performatives", "types")

_DECODERS = ("decode_payload", "decode_frame", "decode_empty_frame")
_ENCODERS = ("encode_payload", "encode_frame")

#: Types of AMQP that the clients write, as they call them, and how the core writes each.
_TYPES: dict[str, int] = {
    name: _dropins_v1.TYPES[name]
    for name in (
        *("null", "boolean", "ubyte", "ushort", "uint", "ulong", "byte", "short", "int", "long"),
        *("float", "double", "decimal128", "timestamp", "uuid", "binary", "string", "symbol"),
        *("list", "map", "array", "described"),
    )
}

#: How the core writes fields that have no type of AMQP's own; clients have names for some.
_WAYS = _dropins_v1.WAYS
_NAMED_WAYS = (
    "fields", "annotations", "app_properties", "filter_set", "node_properties", "message_id",
)  # fmt: skip

#: Values for each type name, to compare with: small ones, and both ends of what is written.
_SAMPLES: dict[int, tuple[Any, ...]] = {
    _TYPES[name]: values
    for name, values in {
        "boolean": (True, False), "ubyte": (7, 0x80, 0xFF), "ushort": (300, 0x8000, 0xFFFF),
        "uint": (70000, 0, 0x7F, 0x80, 0xFF, 0x100, 2**31, 2**32 - 1),
        "ulong": (2**40, 0, 0x80, 0xFF, 0x100, 2**63, 2**64 - 1), "byte": (-7, -128, 127),
        "short": (-300, -(2**15)),
        "int": (-70000, -1, 127, -128, 128, -129, -(2**31), 2**31 - 1),
        "long": (-(2**40), -1, 127, -128, 128, -129, -(2**63), 2**63 - 1),
        "float": (1.5, -0.0, float("inf")), "double": (1.1, -0.0, float("-inf")),
        "timestamp": (1_700_000_000_000, 0, -1, -(2**63), 2**63 - 1),
        "uuid": (UUID(int=7), UUID(int=2**128 - 1)),
        "binary": (b"\xff\0", b"", b"b" * 255, b"b" * 256),
        "string": ("text", "", "\u00e4" * 127, "\u00e4" * 128),
        "symbol": ("symbol", "s" * 255, "s" * 256, "\u00e4"),
        "list": ([1, "a", [True]], [], [-1] * 300),
        "map": ({"k": 2**20, b"b": None}, {}, {"k": -(2**63)}), "described": (("descriptor", 5),),
    }.items()
}  # fmt: skip
_VARIANTS = max(map(len, _SAMPLES.values()))
#: What applications put into a map; ints are written by their size.
_APPLICATION: tuple[dict[str, Any], ...] = (
    {"a": 1, "b": [1.5, b"c"], "d": {"TYPE": "LONG", "VALUE": 5}},
    *(
        {"a": value}
        for value in (-1, 127, -128, 128, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, -(2**63))
    ),
)

#: Numbers of 16 bytes, of which narrower ones are the beginning: both ends with and without a sign.
_NUMBERS = (
    bytes(16),
    b"\x80" + bytes(15),
    b"\x7f" + b"\xff" * 15,
    b"\xff" * 16,
    bytes(range(1, 17)),
)
_TEXTS = (b"ab", b"\xff\xfe", b"\xc3\xa4")
#: What may follow the code of a format: numbers and texts; lists, maps and arrays.
_PAYLOADS = (
    *(number[:width] for width in (0, 1, 2, 4, 8, 16) for number in _NUMBERS),
    *(length + text for length in (b"\2", b"\0\0\0\2") for text in _TEXTS),
    b"\x53\x24\x45",
)
_CONTAINERS = (
    b"", b"\1\0", b"\3\1\x54\x80", b"\5\2\x54\x80\x54\xff", b"\3\1\x50\x80", b"\4\2\x50\x80\xff",
    b"\0\0\0\4\0\0\0\0", b"\0\0\0\6\0\0\0\1\x54\x80", b"\0\0\0\6\0\0\0\1\x50\xff",
    b"\0\0\0\x08\0\0\0\2\xa1\1k\x56\0",
)  # fmt: skip


class _Client:
    """The parts of one client that matter, and the codec for them."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.encode = self._part("_encode")
        self.decode = self._part("_decode")
        self.message = self._part("message")
        self.types = self._part("types")
        self.performatives = self._part("performatives")
        self.stock: dict[str, Any] = {
            **{name: getattr(self.decode, name) for name in _DECODERS},
            **{name: getattr(self.encode, name) for name in _ENCODERS},
        }
        self.guards = GuardRegistry(package, ())
        self.names: dict[str, int] = {}
        for name, number in _TYPES.items():
            text = getattr(self.types.AMQPTypes, name, None)
            writer = getattr(self.encode, f"encode_{name}", None)
            if text is not None and self.encode._ENCODE_MAP[text] is writer:
                self.names[text] = number
        self.fields: dict[Any, int] = {
            getattr(self.types.FieldDefinition, name): _WAYS[name] for name in _NAMED_WAYS
        }

    def _part(self, name: str) -> Any:
        return import_module(f"{self.package}._pyamqp.{name}")

    def way(self, field: Any) -> int:
        """How the core writes a field of a class's definition."""
        if field is None:
            return _WAYS["absent"]
        name = field.type
        if field.multiple:
            return _WAYS["multiple"] + self.names[name] if name in self.names else _WAYS["left"]
        if isinstance(name, self.types.FieldDefinition):
            return self.fields.get(name, _WAYS["left"])
        if isinstance(name, self.types.ObjDefinition):
            return _WAYS["object"]
        return _WAYS["unknown"] if name is None else self.names.get(name, _WAYS["left"])

    def define(self, cls: Any) -> Any:
        """What the core needs to write instances of a class."""
        ways = bytes(map(self.way, cls._definition))
        return _dropins_v1.AzureDefinition(cls._code, cls._definition, ways)

    def codec(self) -> Any:
        """The compiled codec with this client's own ways."""
        encode, decode = self.encode, self.decode
        names = vars(decode)
        message = _dropins_v1.AzureTuple(names, "Message")
        small, large = bytearray(), bytearray()
        encode.encode_value(small, 5)
        wide, _ = outcome(lambda: encode.encode_value(large, 2**40))
        reading = _dropins_v1.AzureReading(
            deepest=names.get("_MAX_NESTING_DEPTH", 0),
            most=names.get("_MAX_COMPOUND_COUNT", 0),
            wrappers=names.get("_DESCR_BY_CONSTRUCTOR"),
            states=decode._COMPOSITES,
            absent=names.get("_PERFORMATIVE_FIELD_DEFAULTS"),
            decimal128=names.get("_decode_decimal128"),
            classes=(
                message,
                _dropins_v1.AzureTuple(names, "Header"),
                _dropins_v1.AzureTuple(names, "Properties"),
            ),
        )
        writing = _dropins_v1.AzureWriting(
            types=self.names,
            define=self.define,
            decimal128=getattr(encode, "encode_decimal128", None),
            wide_ints=wide,
            joins_data="data" in message.cls._fields,
        )
        self.value_guards = self._guard(decode, _DECODERS), self._guard(encode, _ENCODERS)
        return _dropins_v1.AzureCodec(
            reading, writing, self.stock, self.performatives.TransferFrame, *self.value_guards
        )

    def _guard(self, module: Any, point_names: Collection[str]) -> Any:
        """What one way rests on: its module but for the patch points, and those that both share."""
        guard = self.guards.of_module(module, point_names)
        for name in point_names:
            guard.add_function(self.stock[name])
        for value in vars(module).values():
            if type(value) is list:
                guard.add_list(value)
        for shared in (self.message, self.performatives, self.types):
            self.guards.add_module(guard, shared)
            if _dropins.guards_call_back():
                for cls in vars(shared).values():
                    if isinstance(cls, type) and cls.__module__ == shared.__name__:
                        self.guards.add_class(guard, cls)
        for name in ("Message", "Header", "Properties"):
            guard.add(_dropins.namespace_of(getattr(self.message, name)), ["__new__"])
        return guard

    def points(self, codec: Any) -> list[PatchPoint]:
        """Each place in the client's modules where one of its functions stands."""
        ours = {id(function): name for name, function in self.stock.items()}
        return [
            PatchPoint(module, attribute, getattr(codec, ours[id(value)]))
            for name, module in sorted(sys.modules.items())
            if f"{name}.".startswith(f"{self.package}.")
            for attribute, value in list(vars(module).items())
            if id(value) in ours
        ]

    # ---- a client that is not known ----

    def sample(self, field: Any, number: int, variant: int) -> Any:
        """A value for a field, a different one for each number and variant."""
        if field is None:
            return b"payload"
        way = self.way(field)
        if way >= _WAYS["multiple"]:
            return [_pick(_SAMPLES[way - _WAYS["multiple"]], variant)] * 2
        if way == _WAYS["message_id"]:
            return ("id", 77, b"id", UUID(int=8), 2**63, "\u00e4")[(number + variant) % 6]
        if way == _WAYS["filter_set"]:
            return {"name": ("descriptor", "filter"), "other": None}
        if way in _SAMPLES:
            return _pick(_SAMPLES[way], variant)
        if way in self.fields.values():
            return _pick(_APPLICATION, variant)
        return "any" if way == _WAYS["unknown"] else None

    def differences(self, codec: Any) -> Iterator[Difference]:
        """What the client writes of samples, or reads, otherwise than the codec."""
        classes = [
            value
            for value in vars(self.performatives).values()
            if isinstance(value, type) and hasattr(value, "_definition")
        ]
        for cls in classes:
            for field in cls._definition:
                if self.way(field) == _WAYS["left"]:
                    yield Difference(
                        f"{cls.__name__}: a field of type {field.type!r}", "it", "nothing"
                    )
        yield from self._format_differences(codec)
        before = codec.fallbacks
        for variant in range(max(_VARIANTS, len(_APPLICATION))):
            for cls in classes:
                yield from self._frame_differences(codec, cls, variant)
            for body in range(3):
                yield from self._message_differences(codec, body, variant)
            if variant == 0 and codec.fallbacks != before:
                yield Difference("plain frames and messages", "results", "none without the client")

    def _format_differences(self, codec: Any) -> Iterator[Difference]:
        """Of single values, by the code of their format."""
        read = self.stock["decode_payload"]
        for code in range(256):
            # The clients take memory for as many elements as a list says that it has.
            for payload in _PAYLOADS if code < 0xC0 else _CONTAINERS:
                raw = memoryview(b"\0\x53\x77" + bytes([code]) + payload)
                yield from compare(
                    f"read format 0x{code:02x}, bytes {raw[3:].hex()}",
                    partial(read, raw),
                    partial(codec.decode_payload, raw),
                )

    def entry_differences(self, codec: Any) -> Iterator[Difference]:
        """What a known version does otherwise, because somebody exchanged an entry of its tables:
        some values of each format, a message, and the frames that have fields of every type."""
        read = self.stock["decode_payload"]
        for code, function in enumerate(self.decode._DECODE_BY_CONSTRUCTOR):
            for payload in _entry_payloads(code) if function is not None else ():
                raw = memoryview(b"\0\x53\x77" + bytes([code]) + payload)
                yield from compare(
                    f"read format 0x{code:02x}, bytes {raw[3:].hex()}",
                    partial(read, raw),
                    partial(codec.decode_payload, raw),
                )
        yield from self._message_differences(codec, 0, 0)
        for cls in (self.performatives.OpenFrame, self.performatives.AttachFrame):
            yield from self._frame_differences(codec, cls, 0)

    def _frame_differences(self, codec: Any, cls: Any, variant: int) -> Iterator[Difference]:
        samples = [self.sample(field, i, variant) for i, field in enumerate(cls._definition)]
        for one in (cls(*samples), cls(*samples[:1], *[None] * (len(samples) - 1))):
            frame = one._replace(payload=b"") if getattr(one, "payload", b"") is None else one
            write = partial(self.stock["encode_frame"], frame)
            yield from compare(f"written {frame!r}", write, partial(codec.encode_frame, frame))
            worked, written = outcome(write)
            if worked:
                raw = memoryview(bytes(written[1]))
                yield from compare(
                    f"read {cls.__name__}, bytes {raw.hex()}",
                    partial(self.stock["decode_frame"], raw),
                    partial(codec.decode_frame, raw),
                )

    def _message_differences(self, codec: Any, body: int, variant: int) -> Iterator[Difference]:
        """Of a message with one of the three kinds of body."""
        message = self.message
        header = [self.sample(field, 0, variant) for field in message.Header._definition]
        properties = [
            self.sample(field, i, variant) for i, field in enumerate(message.Properties._definition)
        ]
        data: Any = [b"1", b"2"] if "data" in message.Message._fields else b"12"
        annotations = {b"x-opt": "a", 5: 7}
        application = {"k": "v", b"n": 5, **_pick(_APPLICATION, variant)} if variant else {"k": "v"}
        value = _pick(_APPLICATION, variant) if variant else {"k": 1.5}
        bodies = ((data, None, None), (None, [[1, "a"]], None), (None, None, value))
        sample_message = message.Message(
            message.Header(*header), annotations, annotations, message.Properties(*properties),
            application, *bodies[body], annotations,
        )  # fmt: skip

        def write(codec: Callable[..., Any]) -> bytes:
            return bytes(codec(bytearray(), sample_message))

        stock = partial(write, self.stock["encode_payload"])
        yield from compare(
            f"written {sample_message!r}", stock, partial(write, codec.encode_payload)
        )
        worked, written = outcome(stock)
        if worked:
            raw = memoryview(written)
            yield from compare(
                f"read a message, bytes {raw.hex()}",
                partial(self._read, self.stock["decode_payload"], raw),
                partial(self._read, codec.decode_payload, raw),
            )

    def _read(self, decode: Callable[..., Any], raw: memoryview) -> Any:
        message = decode(raw)
        return type(message), message


def _entry_payloads(code: int) -> Iterator[bytes]:
    """What may follow the code of a format, of its width."""
    if code >= 0xC0:
        yield from _CONTAINERS[1:6] if code < 0xD0 or code >> 4 == 0xE else _CONTAINERS[7:]
    elif code >= 0xA0:
        length = b"\2" if code < 0xB0 else b"\0\0\0\2"
        yield from (length + text for text in _TEXTS)
    elif code >= 0x40:
        yield from (number[: 1 << (code >> 4) - 5 if code >= 0x50 else 0] for number in _NUMBERS)


def _pick(values: Sequence[Any], variant: int) -> Any:
    return values[variant % len(values)]


def _drop_in(distribution: str) -> DropIn:
    package = CLIENTS[distribution]
    paths = tuple(f"{package}._pyamqp.{name}" for name in _PATHS)

    def build(_strict: bool) -> ClientPatch:
        client = _Client(package)
        codec = client.codec()
        unsupported = []
        other = None
        if drop_in.is_known():
            other = next(client.entry_differences(codec), None)
        else:
            refuse(client.differences(codec))
            codec = client.codec()
        if other is not None:
            client.guards.disable(*client.value_guards)
            unsupported.append(("reading and writing values", str(other)))
        return ClientPatch(codec, client.points(codec), client.guards, tuple(unsupported))

    drop_in = DropIn(package, build, paths, distribution=distribution)
    return drop_in


_DROP_INS: dict[str, DropIn] = {name: _drop_in(name) for name in CLIENTS}
DROP_INS = tuple(_DROP_INS.values())


def install(
    strict: bool = True,
    clients: Collection[str] | None = None,
    *,
    on_unknown: OnUnknown = "warn",
) -> None:
    """Put the compiled codec under azure-eventhub, azure-servicebus and rstream, which are
    imported; see `amqpcodec.compat`.

    Args:
        strict: as the other drop-ins have it; there is nothing here that it could change.
        clients: names of distributions, which must be there; else all of the three that are.
        on_unknown: what is done about one that was not compared beforehand: as `amqpcodec.install`
            has it.

    Raises:
        CompatError: none of them is there, or one that was named is missing, or what is there has
            not what the drop-in replaces, gives other values, or is not known and `on_unknown` is
            "error"; then none is installed by this call.
        ValueError: no drop-in here is for a client of that name, or `on_unknown` is another word.
    """
    installed_clients = (name for name, one in _DROP_INS.items() if one.is_there())
    names = list(installed_clients if clients is None else clients)
    if unknown := set(names) - set(CLIENTS):
        raise ValueError(f"no drop-in for {', '.join(sorted(unknown))} here")
    if not names:
        raise CompatError(f"this drop-in needs one of {', '.join(CLIENTS)}; none is installed")
    refused: list[CompatError] = []
    with all_or_none(_DROP_INS[name] for name in names):
        for name in names:
            try:
                _DROP_INS[name].install(strict, on_unknown=on_unknown)
            except CompatError as error:
                if on_unknown == "error" or clients is not None or len(refused) + 1 == len(names):
                    raise
                refused.append(error)
        for refusal in refused:
            warnings.warn(str(refusal), CompatWarning, stacklevel=2)


def uninstall() -> None:
    """Put the clients' own functions back."""
    for drop_in in _DROP_INS.values():
        drop_in.uninstall()


def installed() -> bool:
    """Whether the drop-in is installed now, for one of the clients at least."""
    return any(drop_in.installed() for drop_in in _DROP_INS.values())


def calls() -> int:
    """How often the compiled codec was entered in the place of the clients'."""
    return sum(drop_in.calls() for drop_in in _DROP_INS.values())


def fallbacks() -> dict[str, int]:
    """How many of these calls the clients' own code did in the end, by reason."""
    counts: Counter[str] = Counter()
    for drop_in in _DROP_INS.values():
        counts.update(drop_in.fallbacks())
    return dict(counts)
