"""The drop-in for py-amqp, and so for kombu and Celery:
``from amqpcodec.compat import amqp; amqp.install()``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from importlib import import_module
from itertools import chain, product
from types import MemberDescriptorType, SimpleNamespace
from typing import Any

from amqpcodec import _dropins

from .._facade.public import listing
from ._classes import Dependencies, GuardRegistry, is_shipped
from ._compare import (
    LONG_NAMES,
    Difference,
    ValueFunctions,
    compare,
    entry_differences,
    frame_differences,
    header_frames,
    outcome,
    refuse,
    value_differences,
    variant_differences,
)
from ._dropin import ClientPatch, DropIn, Install, PatchPoint
from ._known import KNOWN
from ._profiles import CLASSES, Profile, Trial, conversions, fit
from ._sources import member

__all__ = ["calls", "fallbacks", "install", "installed", "uninstall"]

__dir__ = listing(__name__)

#: Those whose every format, property, tag and error was compared with the drop-in.
VERSIONS: tuple[str, ...] = KNOWN["amqp"].versions

#: Table values that py-amqp's versions agree on; the others are asked of the one that is there.
_READ = {
    "t": "bool", "f": "float", "d": "double", "S": "text", "x": "bytes", "A": "array",
    "F": "table", "V": "void",
}  # fmt: skip
_ASKED = "bBsUuIilLDT"

#: py-amqp's names of properties that have another one in the specification.
_RENAMED: dict[str, str] = {"headers": "application_headers", "reserved": "cluster_id"}

#: A new message's attributes, in the order that the core has for them.
_PARTS = (
    "frame_method", "frame_args", "properties", "_pending_chunks", "body_received", "body_size",
    "ready", "delivery_info", "body", "channel",
)  # fmt: skip

#: What a class must have of its own for its messages to be made and written without it.
_WATCHED = ("inbound_header", "inbound_body", "_load_properties", "__getattr__")

#: Functions through which py-amqp reads and writes every value, and properties.
_READS = ("loads", "_read_item")
_WRITES = ("dumps", "_write_item", "_write_table", "_write_array")

#: What of a transport's class tells how it reads.
_TRANSPORT = ("_quick_recv", "_read", "_read_buffer")


#: What reading and writing of values and properties rests on, and can be compared.
_PATHS = (
    "amqp.basic_message",
    *(f"amqp.serialization:{name}" for name in (*_READS, *_WRITES, "decode_properties_basic")),
    "amqp.serialization:GenericContent._serialize_properties",
)

#: What the patch points that join frames to messages, cut messages to frames and read frames depend
#: on.
_HANDLING = (
    "amqp.method_framing:frame_handler",
    "amqp.serialization:GenericContent.inbound_header",
    "amqp.serialization:GenericContent.inbound_body",
    "amqp.serialization:GenericContent._load_properties",
)
_WRITING = ("amqp.method_framing:frame_writer",)
_READ_FRAME = ("amqp.transport:_AbstractTransport.read_frame",)

#: py-amqp's letters of arguments, and of each a value with its first bit clear and one with it set.
_FORMATS = "oBblLsSxFTA"
_ARGUMENTS: tuple[dict[str, Any], ...] = (
    {
        "b": True, "o": 7, "B": 5, "l": 6, "L": 2**40, "s": "text", "S": "long", "x": b"a",
        "F": {"k": ["v", 1, 2**40, None, b"b"]}, "T": datetime(2026, 1, 2), "A": [1],
    },
    {
        "b": True, "o": 0x87, "B": 0x8001, "l": 2**31 + 1, "L": 2**63 + 1, "s": "\u00e4",
        "S": b"\xff", "x": b"\xff\xfe", "F": {"\u00e4": -1}, "T": datetime(2106, 2, 8), "A": [-1],
    },
)  # fmt: skip


def _profile(read_item: Callable[[bytes, int], Any]) -> Profile:
    """py-amqp's own way with values. Before 5.4.2 a name that is not UTF-8 was an error."""
    takes_any_name, _ = outcome(lambda: read_item(b"F\0\0\0\3\1\xffV", 0))
    answers, unsupported = conversions(lambda raw: read_item(raw, 0), _ASKED)
    return Profile(
        _READ | answers,
        unsupported,
        bad_names="bytes" if takes_any_name else "refused",
        bad_text="refused",
        longstr="text",
        signed=False,
        timestamp="int",
        ints="I L symmetric",
        decimals="digits",
        float_tag="d",
        bytes_tag="S",
        bytearray_tag=None,
        tuples=True,
        longest_name=255,
        bytes_names=True,
        in_order=False,
        bytes_text=True,
        none_text=True,
        any_bits=True,
        empty_absent=False,
        surrogates=True,
    )


def _instead(codec: Any, stock: Any, ours: Callable[..., Any]) -> Callable[..., Any]:
    """In the place of frame_handler or frame_writer; ours: for a connection and one thing more."""

    def replacement(*arguments: Any, **keywords: Any) -> Any:
        if len(arguments) != 2 or keywords:
            codec.fell_back()
            return stock(*arguments, **keywords)
        return ours(codec, *arguments)

    replacement.__name__ = stock.__name__
    return replacement


def _again(read_frame: Callable[[Any], Any]) -> Callable[[Any, bytes, Any], Any]:
    """A function that reads a frame by py-amqp's own code, after the first word of a socket."""

    def again(transport: Any, received: bytes, then: Any) -> Any:
        """received: from the socket. then: what it gave after that, more bytes or an exception."""
        if type(then) is bytes and then:
            received += then
        else:
            receive = transport._quick_recv
            replies: list[Any] = [then]

            def once(size: int) -> Any:
                if not replies:
                    return receive(size)
                transport._quick_recv = receive
                if isinstance(replies[0], BaseException):
                    raise replies.pop()
                return replies.pop()

            transport._quick_recv = once
        transport._read_buffer = received
        return read_frame(transport)

    return again


class _Client:
    """The parts of py-amqp that matter, and the codec for them."""

    def __init__(self) -> None:
        self.serialization: Any = import_module("amqp.serialization")
        self.framing: Any = import_module("amqp.method_framing")
        self.transport: Any = import_module("amqp.transport")
        self.message: Any = import_module("amqp.basic_message").Message
        self.generic: Any = self.serialization.GenericContent
        stock: dict[str, Any] = {
            name: getattr(self.serialization, name)
            for name in (
                "loads", "dumps", "_read_item", "_write_table", "_write_item", "_write_array",
                "decode_properties_basic", "PROPERTY_CLASSES",
            )
        }  # fmt: skip
        stock["serialize_properties"] = self.generic._serialize_properties
        stock["frame_handler"] = self.framing.frame_handler
        stock["frame_writer"] = self.framing.frame_writer
        stock["read_frame"] = self.transport._AbstractTransport.read_frame
        self.stock = stock
        self.profile = _profile(stock["_read_item"])
        self.guards = GuardRegistry("amqp", _WATCHED)

    def codec(self, strict: bool) -> Any:
        group = next(one for one in CLASSES if one["name"] == "basic")
        fields: tuple[tuple[str, int, int], ...] = tuple(field[:3] for field in group["properties"])
        names = tuple(_RENAMED.get(name, name) for name, _, _ in fields)
        shipped = list(zip(names, ("s", "s", "F", "o", "o", *"sssssssss"), strict=True))
        shipped[9] = ("timestamp", "L")
        if shipped != self.message.PROPERTIES:
            raise TypeError("amqp.Message.PROPERTIES are others")
        properties = _dropins.BoundMethod(None, group["index"], 0, fields, (None,) * len(fields))
        slots = all(
            type(member(self.message, name)).__name__ == "member_descriptor" for name in _PARTS
        )
        is_known_class = slots and self._is_made_as_known()
        making, heading, filling, taking = self._message_guards(is_known_class)
        message = _dropins.BoundClass(self.message, _PARTS, making, taking)
        reading = self.guards.of_module(self.serialization, (*_WRITES, "PROPERTY_CLASSES"))
        headers = self.guards.of_module(self.serialization, _WRITES)
        headers.add(self.stock["PROPERTY_CLASSES"], [group["index"]])
        writing = self.guards.of_module(self.serialization, (*_READS, "PROPERTY_CLASSES"))
        self.value_guards = (reading, headers, writing)
        writing.add_list(self.message.PROPERTIES)
        return _dropins.AmqpCodec(
            _dropins.ClientBinding(
                self.profile.make(), self.stock, reading, writing, [], not strict
            ),
            properties, names, headers,
            _dropins.AmqpMessages(
                message, heading, filling, self.message.PROPERTIES, self.framing,
                {key[0] << 16 | key[1]: key for key in self.framing._CONTENT_METHODS},
            ),
            _dropins.AmqpTransports(
                self.transport, self._judge(), _again(self.stock["read_frame"])
            ),
            hasattr(self.framing, "threading"), self._writes_empty_bodies(),
        )  # fmt: skip

    def _writes_empty_bodies(self) -> bool:
        """Whether py-amqp writes a header where a body is empty and the frames do not fit one
        write; before 5.4.2 it writes the method alone."""
        written: list[bytes] = []
        connection = SimpleNamespace(frame_max=16, bytes_sent=0)
        transport = SimpleNamespace(write=written.append)
        writer = self.stock["frame_writer"](connection, transport)
        worked, _ = outcome(lambda: writer(1, 1, (60, 40), b"", self.message("")))
        return worked and len(written) == 2

    def _message_guards(self, is_known_class: bool) -> list[Any]:
        """Guards of what messages rest on when a method comes, a header, a body, and on writing."""
        guards = self.guards.of_class(
            self.message,
            _PARTS,
            Dependencies(every=("__init__",)),
            Dependencies(("inbound_header", "_load_properties")),
            Dependencies((*_PARTS, "inbound_body")),
            Dependencies(
                ("properties", "body", "__getattr__", "PROPERTIES", "_serialize_properties")
            ),
        )
        if not is_known_class or guards[0] is None:
            return [None] * len(guards)
        guards[0].add(vars(self.framing), ["Message"])
        guards[0].expect(vars(self.framing), "Message", self.message)
        point_names = ("frame_handler", "frame_writer", "Message")
        for guard in guards[:3]:
            self.guards.add_module(guard, self.framing, (*point_names, "Buffer", "str_to_bytes"))
        self.guards.add_module(guards[3], self.framing, point_names)
        self.guards.add_class(guards[3], self.framing.Buffer)
        return guards

    def _judge(self) -> Callable[[type], tuple[Any, Any, tuple[int, ...] | None]]:
        """A function of a class of transports: a guard of it and, if its `_read` is one that
        py-amqp shipped and nothing is in between, its slot `_read_buffer`, and the numbers of the
        errors that `_read` takes for nothing to read; else None."""
        readers = self._readers()

        def judge(cls: Any) -> tuple[Any, Any, tuple[int, ...] | None]:
            guard = _dropins.Guard(cls, _TRANSPORT)
            read = member(cls, "_read")
            received = member(cls, "_quick_recv")
            read_buffer = member(cls, "_read_buffer")
            is_known_class = (
                cls.__getattribute__ is object.__getattribute__
                and cls.__setattr__ is object.__setattr__
                and not hasattr(cls, "__getattr__")
                and not hasattr(type(received), "__set__")
                and read in readers
                and type(read_buffer) is MemberDescriptorType
            )
            return (
                (guard, read_buffer, read.__defaults__[-1])
                if is_known_class
                else (guard, None, None)
            )

        return judge

    def _readers(self) -> frozenset[Any]:
        """The transports' own `_read`, whose work is known."""
        functions = set()
        for name in ("TCPTransport", "SSLTransport"):
            cls = getattr(self.transport, name)
            read = vars(cls).get("_read")
            path = f"amqp.transport:{name}._read"
            if is_shipped(read, cls, "_read") and _DROP_IN.sources.why_not([path]) is None:
                functions.add(read)
        return frozenset(functions)

    def _is_made_as_known(self) -> bool:
        """Whether a new message has what the core gives it."""
        worked, instance = outcome(lambda: self.message(frame_method=(1, 2), frame_args=b"args"))
        if not worked or vars(instance):
            return False
        parts = [getattr(instance, name) for name in _PARTS]
        return parts == [(1, 2), b"args", {}, [], 0, 0, False, None, "", None]

    def differences(self, codec: Any) -> Iterator[Difference]:
        """Properties and arguments that py-amqp reads or writes otherwise than the codec."""
        group = next(one for one in CLASSES if one["name"] == "basic")
        # Of a header frame: what follows the size of the body.
        frames = header_frames(group["index"], [field[1] for field in group["properties"]])
        properties = [[raw[19:-1] for raw in variant] for variant in frames]
        yield from variant_differences(
            codec,
            lambda raw: codec.decode_properties_basic(raw, 0),
            partial(self._property_differences, codec),
            properties,
            not self.profile.unsupported,
        )
        layouts = [map("".join, product(_FORMATS, repeat=length)) for length in (1, 2, 3)]
        for layout in ("oBlLbbsSF", *chain(*layouts)):
            for values in _ARGUMENTS:
                arguments = [values[one] for one in layout]
                yield from self._argument_differences(codec, layout, arguments)

    def value_differences(self, codec: Any) -> Iterator[Difference]:
        """Values that py-amqp reads or writes otherwise than the codec."""
        return value_differences(*self._value_functions(codec), LONG_NAMES)

    def entry_differences(self, codec: Any) -> Iterator[Difference]:
        """The same of a known version, whose functions or tables somebody may have changed."""
        return entry_differences(list(self.profile.read), *self._value_functions(codec))

    def _value_functions(self, codec: Any) -> ValueFunctions:
        """Of the codec and of py-amqp: from bytes to a value, and from a value to bytes."""
        read, write = self.stock["_read_item"], self.stock["_write_item"]

        def written(function: Any, value: Any) -> bytes:
            pieces: list[bytes] = []
            function(value, pieces.append, [])
            return b"".join(pieces)

        return (
            lambda raw: codec.read_item(raw, 0),
            lambda raw: read(raw, 0),
            lambda value: written(codec.write_item, value),
            lambda value: written(write, value),
        )

    def _property_differences(self, codec: Any, raw: bytes) -> Iterator[Difference]:
        read, write = self.stock["decode_properties_basic"], self.stock["serialize_properties"]
        return frame_differences(
            raw,
            lambda data: codec.decode_properties_basic(data, 0),
            lambda data: read(data, 0),
            lambda result: codec.serialize_properties(self.message(**result[0])),
            lambda result: write(self.message(**result[0])),
            lambda result: result,
        )

    def _argument_differences(
        self, codec: Any, layout: str, arguments: list[Any]
    ) -> Iterator[Difference]:
        """What differs where arguments are written, and where what was written is read."""
        dumps, loads = self.stock["dumps"], self.stock["loads"]
        yield from compare(
            f"arguments {layout!r} written of {arguments!r}",
            lambda: dumps(layout, arguments),
            lambda: codec.dumps(layout, arguments),
        )
        worked, raw = outcome(lambda: dumps(layout, arguments))
        # Also where more follows, since the drop-in leaves arguments that are too short to py-amqp.
        for data in (raw, raw + b"\xff" * 8) if worked else ():
            yield from compare(
                f"arguments {layout!r} read from {data.hex()}",
                partial(loads, layout, data, 0),
                partial(codec.loads, layout, data, 0),
            )


def _build(strict: bool) -> ClientPatch:
    client = _Client()
    unsupported = client.profile.unsupported
    other = None
    if _DROP_IN.is_known():
        known = Trial(client.profile, lambda: client.codec(strict=True), client.entry_differences)
        codec, other = known.codec, known.other
        unsupported += known.unsupported
    else:
        unsupported += fit(client.profile, lambda: client.value_differences(client.codec(True)))
        refuse(client.differences(client.codec(True)))
        codec = client.codec(strict)
    if other is not None:
        client.guards.disable(*client.value_guards)
        unsupported.append(("reading and writing values", str(other)))
    serialization, framing = client.serialization, client.framing
    channel = import_module("amqp.abstract_channel")
    sasl = import_module("amqp.sasl")
    connection = import_module("amqp.connection")
    base = client.transport._AbstractTransport
    init = connection.Connection.__init__
    # One object for all the places that hold the same function.
    loads, dumps, write_table = codec.loads, codec.dumps, codec.write_table
    handler = _instead(
        codec, framing.frame_handler, lambda *arguments: _dropins.FrameHandler(*arguments).on_frame
    )
    writer = _instead(
        codec, framing.frame_writer, lambda *arguments: _dropins.FrameWriter(*arguments).write_frame
    )
    basic = codec.decode_properties_basic
    serialize = _dropins.as_method(codec.serialize_properties)
    ours = {framing.frame_handler: handler, framing.frame_writer: writer}
    defaults = tuple(
        ours.get(value, value) if callable(value) else value for value in init.__defaults__
    )
    points = [
        PatchPoint(serialization, "loads", loads),
        PatchPoint(serialization, "dumps", dumps),
        PatchPoint(serialization, "_read_item", codec.read_item),
        PatchPoint(serialization, "_write_item", codec.write_item),
        PatchPoint(serialization, "_write_table", write_table),
        PatchPoint(serialization, "_write_array", codec.write_array),
        PatchPoint(serialization, "decode_properties_basic", basic),
        PatchPoint(serialization.PROPERTY_CLASSES, 60, basic, label="PROPERTY_CLASSES[60]"),
        PatchPoint(client.generic, "_serialize_properties", serialize),
        PatchPoint(framing, "frame_handler", handler, _HANDLING),
        PatchPoint(framing, "frame_writer", writer, _WRITING),
        # by-value imports
        PatchPoint(channel, "loads", loads),
        PatchPoint(channel, "dumps", dumps),
        PatchPoint(sasl, "_write_table", write_table),
        PatchPoint(connection, "frame_handler", handler, _HANDLING),
        PatchPoint(connection, "frame_writer", writer, _WRITING),
        PatchPoint(init, "__defaults__", defaults, (*_HANDLING, *_WRITING)),
        PatchPoint(base, "read_frame", _dropins.pyamqp_reader(codec), _READ_FRAME),
    ]
    return ClientPatch(codec, points, client.guards, tuple(client.profile.unsupported))


_DROP_IN = DropIn("amqp", _build, _PATHS)
DROP_INS = (_DROP_IN,)
# Connections that are there already keep the frame reader and writer that they have.
install: Install = _DROP_IN.install
uninstall: Callable[[], None] = _DROP_IN.uninstall
installed: Callable[[], bool] = _DROP_IN.installed
calls: Callable[[], int] = _DROP_IN.calls
fallbacks: Callable[[], dict[str, int]] = _DROP_IN.fallbacks
