"""The drop-in for pika: ``from amqpcodec.compat import pika; pika.install()``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from itertools import chain
from typing import Any

from amqpcodec import _dropins

from .._facade.public import listing
from ._classes import Dependencies, GuardRegistry, attributes_of, direct_names, is_shipped
from ._compare import (
    INTS,
    LONG_NAMES,
    Difference,
    Frames,
    ValueFunctions,
    argument_differences,
    call,
    entry_differences,
    frame_differences,
    header_frames,
    method_frames,
    outcome,
    refuse,
    split,
    value_differences,
    variant_differences,
)
from ._dropin import ClientPatch, DropIn, Install, PatchPoint
from ._known import KNOWN
from ._profiles import CLASSES, Profile, Trial, conversions, fit

__all__ = ["calls", "fallbacks", "install", "installed", "uninstall"]

__dir__ = listing(__name__)

#: Those whose every method, property, tag and error was compared with the drop-in.
VERSIONS: tuple[str, ...] = KNOWN["pika"].versions

#: Table values that pika's versions agree on; the others are asked of the one that is there.
_READ = {"t": "bool", "S": "text", "x": "bytes", "A": "array", "F": "table", "V": "void"}
_ASKED = "bBsUuIilLDT"

#: What a class must have of its own for its frames to be made and written without it.
_WATCHED = ("encode", "decode", "_marshal", "marshal")

#: Functions of pika.data that read and write values of methods and properties.
_READS = ("decode_short_string", "decode_table", "decode_value")
_WRITES = ("encode_short_string", "encode_table", "encode_value")


#: What reading and writing rest on, and can be compared.
_PATHS = (
    "pika.amqp_object",
    "pika.frame",
    "pika.spec",
    *(f"pika.data:{name}" for name in (*_READS, *_WRITES)),
)

#: What the patch points of a connection rest on.
_RECEIVING = (
    "pika.connection:Connection._on_data_available",
    "pika.connection:Connection._read_frame",
    "pika.connection:Connection._trim_frame_buffer",
)
_SENDING = ("pika.connection:Connection._send_message",)


def _large(data: Any) -> Any:
    """The class of ints that pika reads by tag l."""
    return type(call(lambda: data.decode_value(b"l\0\0\0\1\0\0\0\0", 0)[0]))


def _profile(data: Any) -> Profile:
    """pika's own way with values. Floats are cut and refused up to a version after 1.4.4. Before
    1.4.0 some versions have tags of their own for large ints."""
    large = _large(data)
    int_class = None if large is int else large
    answers, unsupported = conversions(lambda raw: data.decode_value(raw, 0), _ASKED, int_class)
    read = _READ | answers
    half = call(lambda: data.decode_value(b"d\x3f\xf8\0\0\0\0\0\0", 0)[0])  # 1.5
    read["f"], read["d"] = ("float", "double") if half == 1.5 else ("float cut", "double cut")
    pieces: list[bytes] = []
    written, _ = outcome(lambda: data.encode_value(pieces, 1.5))
    numbers: list[bytes] = []
    outcome(lambda: data.encode_value(numbers, -(2**40)))
    return Profile(
        read,
        unsupported,
        int_class=int_class,
        bad_names="bytes",
        bad_text="bytes",
        longstr="bytes",
        signed=False,
        timestamp="int",
        ints="I l L" if b"".join(numbers)[:1] == b"L" else "I l",
        decimals="normal",
        float_tag=b"".join(pieces)[:1].decode() if written else None,
        bytes_tag="x",
        bytearray_tag=None,
        tuples=False,
        longest_name=255,
        bytes_names=True,
        in_order=False,
        bytes_text=True,
        none_text=False,
        any_bits=True,
        empty_absent=False,
    )


def _add_frames(guards: GuardRegistry, guard: Any, frame: Any) -> None:
    """Let a guard rest on what frames of all types go through, except the patched decode_frame."""
    guards.add_module(guard, frame, ("decode_frame",))
    guards.add_module(guard, import_module("pika.spec"))


def _bound_frame(guards: GuardRegistry, frame: Any, name: str, *names: str) -> Any:
    """A class of pika.frame; one that a user put there has its work done by pika's own code."""
    cls = getattr(frame, name)
    attributes = ("frame_type", "channel_number", *names)
    worked, instance = outcome(lambda: cls(*attributes[1 if names else 2 :]))
    has_known_attributes = worked and attributes_of(instance) == attributes
    making = taking = None
    if has_known_attributes:
        direct = direct_names(cls, attributes)
        making, taking = guards.of_class(
            cls,
            attributes,
            Dependencies(direct, ("__init__",)),
            Dependencies((*direct, "marshal", "_marshal")),
        )
    for guard in filter(None, (making, taking)):
        _add_frames(guards, guard, frame)
    if making is not None:
        making.add_function(frame.decode_frame)
    return _dropins.BoundClass(cls, attributes, making, taking)


def _bound_method(
    guards: GuardRegistry,
    registry: dict[int, Any],
    key: int,
    class_id: int,
    method_id: int,
    fields: Any,
) -> Any:
    """The class that pika has under a key of its registry. None where it has other attributes than
    the specification says, in this order."""
    cls = registry[key]
    if getattr(cls, "INDEX", None) != key:
        return None  # somebody put another class there
    lowered = tuple(field[:3] for field in fields)
    values = tuple(object() for _ in lowered)
    worked, instance = outcome(lambda: cls(*values))
    if not worked or tuple(getattr(instance, "__dict__", {}).values()) != values:
        return None
    if not outcome(cls)[0]:
        return None  # pika itself cannot make the connection.update-secret that it reads
    names = attributes_of(instance)
    direct = direct_names(cls, names)
    making, taking = guards.of_class(
        cls,
        names,
        Dependencies((*direct, "decode"), ("__init__",)),
        Dependencies((*direct, "encode")),
    )
    if making is not None:
        making.add(registry, [key])
    bound = _dropins.BoundClass(cls, names, making, taking)
    return _dropins.BoundMethod(bound, class_id, method_id, lowered, (None,) * len(lowered))


class _Client:
    """The parts of pika that matter, and the codec for them."""

    def __init__(self) -> None:
        self.frame = import_module("pika.frame")
        self.data = import_module("pika.data")
        self.spec = import_module("pika.spec")
        self.connection = import_module("pika.connection").Connection
        frame, data, connection = self.frame, self.data, self.connection
        self.stock: dict[str, Any] = {
            "decode_frame": frame.decode_frame,
            "marshal_method": frame.Method.marshal,
            "marshal_header": frame.Header.marshal,
            "marshal_body": frame.Body.marshal,
            "marshal_heartbeat": frame.Heartbeat.marshal,
            "encode_short_string": data.encode_short_string,
            "decode_short_string": data.decode_short_string,
            "encode_table": data.encode_table,
            "decode_table": data.decode_table,
            "encode_value": data.encode_value,
            "decode_value": data.decode_value,
            "receive": connection._on_data_available,
            "send_message": getattr(connection, "_send_message", None),
            "read_frame": connection._read_frame,
            "trim": getattr(connection, "_trim_frame_buffer", None),
        }
        self.profile = _profile(data)
        self.guards = GuardRegistry("pika", _WATCHED)

    def codec(self, methods: list[Any], properties: Any, strict: bool) -> Any:
        frame, guards = self.frame, self.guards
        frames = (
            _bound_frame(guards, frame, "Method", "method"),
            _bound_frame(guards, frame, "Header", "body_size", "properties"),
            _bound_frame(guards, frame, "Body", "fragment"),
            _bound_frame(guards, frame, "Heartbeat"),
        )
        reading = guards.of_module(self.data, _WRITES)
        reading.add_function(self.stock["decode_frame"])
        writing = guards.of_module(self.data, _READS)
        self.value_guards = (reading, writing)
        for guard in (reading, writing):
            _add_frames(guards, guard, frame)
        for name in ("marshal_method", "marshal_header", "marshal_body"):
            writing.add_function(self.stock[name])
        return _dropins.PikaCodec(
            _dropins.ClientBinding(
                self.profile.make(), self.stock, reading, writing, methods, not strict
            ),
            frames, properties, frame,
        )  # fmt: skip

    def candidates(
        self,
    ) -> tuple[list[tuple[Any, Frames]], tuple[Any, Frames]]:
        """Methods with their frames, and the property list with its frames."""
        methods: list[tuple[Any, Frames]] = []
        properties = None
        frames: Frames = list
        for group in CLASSES:
            class_id = group["index"]
            if group["properties"] is not None and class_id in self.spec.props:
                fields = group["properties"]
                properties = _bound_method(
                    self.guards, self.spec.props, class_id, class_id, 0, fields
                )
                frames = partial(header_frames, class_id, [field[1] for field in fields])
            for method in group["methods"]:
                key = class_id << 16 | method["index"]
                if key not in self.spec.methods:
                    continue
                bound = _bound_method(
                    self.guards, self.spec.methods, key, class_id, method["index"], method["fields"]
                )
                if bound:
                    wire_types = [field[1] for field in method["fields"]]
                    raws = partial(method_frames, class_id, method["index"], wire_types)
                    methods.append((bound, raws))
        if properties is None:
            raise TypeError("pika.spec.BasicProperties has other attributes")
        return methods, (properties, frames)

    def value_differences(self, codec: Any) -> Iterator[Difference]:
        """Values that pika reads or writes otherwise than the codec."""
        large = _large(self.data)
        values = (*LONG_NAMES, *(() if large is int else map(large, INTS)))
        return value_differences(*self._value_functions(codec), values)

    def entry_differences(self, codec: Any) -> Iterator[Difference]:
        """The same of a known version, whose functions or tables somebody may have changed."""
        return entry_differences(list(self.profile.read), *self._value_functions(codec))

    def _value_functions(self, codec: Any) -> ValueFunctions:
        """Of the codec and of pika: from bytes to a value, and from a value to bytes."""
        read, write = self.stock["decode_value"], self.stock["encode_value"]

        def written(function: Any, value: Any) -> tuple[Any, bytes]:
            pieces: list[bytes] = []
            return function(pieces, value), b"".join(pieces)

        return (
            lambda raw: codec.decode_value(raw, 0),
            lambda raw: read(raw, 0),
            lambda value: written(codec.encode_value, value),
            lambda value: written(write, value),
        )

    def frame_differences(self, codec: Any, raw: bytes) -> Iterator[Difference]:
        """What pika reads from a frame, or writes of that, otherwise than the codec."""

        def marshal(functions: Callable[[str], Any], frame: Any) -> bytes:
            written: bytes = functions(f"marshal_{type(frame).__name__.lower()}")(frame)
            return written

        stock = self.stock
        return frame_differences(
            raw,
            codec.decode_frame,
            stock["decode_frame"],
            lambda result: marshal(partial(getattr, codec), result[1]),
            lambda result: marshal(stock.__getitem__, result[1]),
            lambda result: (result[0], _flat(result[1])),
        )

    def argument_differences(self, codec: Any, raw: bytes) -> Iterator[Difference]:
        """What pika writes of a method's arguments, or refuses, otherwise than the codec.

        raw: a frame of the method.
        """
        cls = type(call(lambda: self.stock["decode_frame"](raw)[1].method))
        method, marshal = self.frame.Method, self.stock["marshal_method"]
        return argument_differences(
            cls,
            attributes_of(cls()),
            lambda arguments: codec.marshal_method(method(3, arguments)),
            lambda arguments: marshal(method(3, arguments)),
        )


def _flat(frame: Any) -> Any:
    """A frame as plain values, down to the order of attributes."""
    if not hasattr(frame, "__dict__"):
        return type(frame), frame
    return type(frame), [(name, _flat(value)) for name, value in vars(frame).items()]


def _build(strict: bool) -> ClientPatch:
    client = _Client()
    methods, (properties, headers) = client.candidates()
    unsupported = client.profile.unsupported
    other = None
    bound_methods = [bound for bound, _ in methods]
    if _DROP_IN.is_known():
        known = Trial(
            client.profile,
            lambda: client.codec(bound_methods, properties, True),
            client.entry_differences,
        )
        codec, other = known.codec, known.other
        unsupported += known.unsupported
    else:
        unsupported += fit(
            client.profile,
            lambda: client.value_differences(client.codec(bound_methods, properties, True)),
        )
        trial = client.codec(bound_methods, properties, True)
        differs = partial(
            variant_differences,
            trial,
            trial.decode_frame,
            partial(client.frame_differences, trial),
            alone=not unsupported,
        )
        refuse(differs(headers()))
        methods, others = split(
            methods,
            lambda one: chain(
                differs(one[1]()), client.argument_differences(trial, one[1]()[0][0])
            ),
        )
        unsupported += [
            (one[0].cls.cls.__qualname__, str(difference)) for one, difference in others
        ]
        codec = client.codec([bound for bound, _ in methods], properties, strict)
    if other is not None:
        client.guards.disable(*client.value_guards)
        unsupported.append(("reading and writing values", str(other)))
    return ClientPatch(codec, _patch_points(client, codec), client.guards, tuple(unsupported))


def _patch_points(client: _Client, codec: Any) -> list[PatchPoint]:
    frame, data, connection = client.frame, client.data, client.connection
    points = [PatchPoint(frame, "decode_frame", codec.decode_frame)]
    marshals = 0
    for name in ("Method", "Header", "Body", "Heartbeat"):
        cls = getattr(frame, name)
        if getattr(cls, "__module__", None) == frame.__name__:  # else a user put it there
            marshal = _dropins.as_method(getattr(codec, f"marshal_{name.lower()}"))
            marshals += 1
            points.append(PatchPoint(cls, "marshal", marshal))
    points += [PatchPoint(data, name, getattr(codec, name)) for name in (*_READS, *_WRITES)]
    own = vars(connection)
    if is_shipped(own.get("_on_data_available"), connection, "_on_data_available"):
        receive = _dropins.as_method(codec.receive)
        points.append(PatchPoint(connection, "_on_data_available", receive, _RECEIVING))
    if marshals == 4 and is_shipped(own.get("_send_message"), connection, "_send_message"):
        codec.sends = _DROP_IN.sources.why_not(_SENDING) is None
        send = _dropins.as_method(codec.send_message)
        points.append(PatchPoint(connection, "_send_message", send, _SENDING))
    return points


_DROP_IN = DropIn("pika", _build, _PATHS)
DROP_INS = (_DROP_IN,)
install: Install = _DROP_IN.install
uninstall: Callable[[], None] = _DROP_IN.uninstall
installed: Callable[[], bool] = _DROP_IN.installed
calls: Callable[[], int] = _DROP_IN.calls
fallbacks: Callable[[], dict[str, int]] = _DROP_IN.fallbacks
