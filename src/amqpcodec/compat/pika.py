"""The drop-in for pika: ``from amqpcodec.compat import pika; pika.install()``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from amqpcodec import _dropins, v0_9_1

from ._classes import Guards, Rests, attributes_of, direct_names, is_shipped
from ._compare import header_frame, method_frame, outcome
from ._dropin import Built, DropIn, Seam

__all__ = ["calls", "fallbacks", "install", "installed", "uninstall"]

#: Those whose every method, property, tag and error was compared with the drop-in.
VERSIONS: tuple[str, ...] = ("1.4.4",)

#: Table values that pika's versions agree on; the others are asked of the one that is there.
_READ = {
    "t": "bool", "b": "int8", "B": "uint8", "s": "int16", "U": "int16", "u": "uint16",
    "I": "int32", "i": "uint32", "D": "decimal product", "S": "text", "x": "bytes",
    "A": "array", "F": "table", "T": "aware", "V": "void",
}  # fmt: skip

#: What a class must have of its own kind for its frames to be made and written without it.
_WATCHED = ("encode", "decode", "_marshal", "marshal")

#: Functions of pika.data that read and write values of methods and properties.
_READS = ("decode_short_string", "decode_table", "decode_value")
_WRITES = ("encode_short_string", "encode_table", "encode_value")


def _profile(data: Any) -> Any:
    """pika's own way with values. Floats are cut and refused up to a version after 1.4.4."""
    read = dict(_READ)
    large = type(data.decode_value(b"l\0\0\0\1\0\0\0\0", 0)[0])
    read["l"] = read["L"] = "int64" if large is int else "long"
    half = data.decode_value(b"d\x3f\xf8\0\0\0\0\0\0", 0)[0]  # 1.5
    read["f"], read["d"] = ("float", "double") if half == 1.5 else ("float cut", "double cut")
    pieces: list[bytes] = []
    written, _ = outcome(lambda: data.encode_value(pieces, 1.5))
    return _dropins.ClientProfile(
        read,
        int_class=None if large is int else large,
        bad_names="bytes",
        bad_text="bytes",
        longstr="bytes",
        signed=False,
        timestamp="int",
        ints="I l",
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


def _bound_frame(guards: Guards, frame: Any, name: str, *names: str) -> Any:
    """A class of pika.frame; one that a user put there has its work done by pika's own code."""
    cls = getattr(frame, name)
    attributes = ("frame_type", "channel_number", *names)
    worked, made = outcome(lambda: cls(*attributes[1 if names else 2 :]))
    known = worked and attributes_of(made) == attributes
    making = taking = None
    if known:
        direct = direct_names(cls, attributes)
        making, taking = guards.of_class(
            cls, attributes, Rests(direct, ("__init__",)), Rests((*direct, "marshal", "_marshal"))
        )
    if making is not None:
        making.add(vars(frame), [name])
        making.add_function(frame.decode_frame)
    return _dropins.BoundClass(cls, attributes, making, taking)


def _bound_method(
    guards: Guards, registry: dict[int, Any], key: int, class_id: int, method_id: int, fields: Any
) -> Any:
    """The class that pika has under a key of its registry. None where it has other attributes than
    the specification says, in this order."""
    cls = registry[key]
    kinds = tuple(field[:3] for field in fields)
    values = tuple(object() for _ in kinds)
    worked, made = outcome(lambda: cls(*values))
    if not worked or tuple(getattr(made, "__dict__", {}).values()) != values:
        return None
    if not outcome(cls)[0]:
        return None  # pika itself cannot make the connection.update-secret that it reads
    names = attributes_of(made)
    direct = direct_names(cls, names)
    making, taking = guards.of_class(
        cls, names, Rests((*direct, "decode"), ("__init__",)), Rests((*direct, "encode"))
    )
    if making is not None:
        making.add(registry, [key])
    bound = _dropins.BoundClass(cls, names, making, taking)
    return _dropins.BoundMethod(bound, class_id, method_id, kinds, (None,) * len(kinds))


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
        self.guards = Guards("pika", _WATCHED)

    def codec(self, methods: list[Any], properties: Any, strict: bool) -> Any:
        frame, guards = self.frame, self.guards
        frames = (
            _bound_frame(guards, frame, "Method", "method"),
            _bound_frame(guards, frame, "Header", "body_size", "properties"),
            _bound_frame(guards, frame, "Body", "fragment"),
            _bound_frame(guards, frame, "Heartbeat"),
        )
        reading = guards.of_module(self.data, _READS)
        reading.add_function(self.stock["decode_frame"])
        writing = guards.of_module(self.data, _WRITES)
        for name in ("marshal_method", "marshal_header", "marshal_body"):
            writing.add_function(self.stock[name])
        return _dropins.PikaCodec(
            self.profile, self.stock, reading, writing, methods, not strict, frames, properties,
            frame,
        )  # fmt: skip

    def candidates(self) -> tuple[list[tuple[Any, bytes]], tuple[Any, list[bytes]]]:
        """Methods with a frame each, and the property list with frames."""
        methods = []
        properties = None
        frames: list[bytes] = []
        for group in v0_9_1.PROTOCOL.table["classes"]:
            class_id = group["index"]
            if group["properties"] is not None and class_id in self.spec.props:
                fields = group["properties"]
                properties = _bound_method(
                    self.guards, self.spec.props, class_id, class_id, 0, fields
                )
                kinds = [field[1] for field in fields]
                for one in range(-1, len(kinds)):
                    present = [one in (-1, i) for i in range(len(kinds))]
                    frames.append(header_frame(class_id, kinds, present))
            for method in group["methods"]:
                key = class_id << 16 | method["index"]
                if key not in self.spec.methods:
                    continue
                bound = _bound_method(
                    self.guards, self.spec.methods, key, class_id, method["index"], method["fields"]
                )
                if bound:
                    kinds = [field[1] for field in method["fields"]]
                    methods.append((bound, method_frame(class_id, method["index"], kinds)))
        if properties is None:
            raise TypeError("pika.spec.BasicProperties has other attributes")
        return methods, (properties, frames)

    def same(self, codec: Any, octets: bytes) -> bool:
        """Whether pika and the codec read the same from a frame, and write the same of that."""
        before = codec.fallbacks
        worked, theirs = outcome(lambda: self.stock["decode_frame"](octets)[1])
        _, ours = codec.decode_frame(octets) if worked else (0, None)
        if not worked or codec.fallbacks != before or _flat(ours) != _flat(theirs):
            return False
        name = f"marshal_{type(theirs).__name__.lower()}"
        written = outcome(lambda: self.stock[name](theirs))
        return written == outcome(lambda: getattr(codec, name)(ours))


def _flat(frame: Any) -> Any:
    """A frame as plain values, down to the order of attributes."""
    if not hasattr(frame, "__dict__"):
        return type(frame), frame
    return type(frame), [(name, _flat(value)) for name, value in vars(frame).items()]


def _build(strict: bool) -> Built:
    client = _Client()
    methods, (properties, headers) = client.candidates()
    if _DROP_IN.version() not in VERSIONS:
        trial = client.codec([bound for bound, _ in methods], properties, True)
        if not all(client.same(trial, octets) for octets in headers):
            raise TypeError("pika.spec.BasicProperties reads or writes otherwise")
        methods = [(bound, octets) for bound, octets in methods if client.same(trial, octets)]
    codec = client.codec([bound for bound, _ in methods], properties, strict)
    frame, data, connection = client.frame, client.data, client.connection
    seams = [Seam(frame, "decode_frame", codec.decode_frame)]
    marshals = 0
    for name in ("Method", "Header", "Body", "Heartbeat"):
        cls = getattr(frame, name)
        if getattr(cls, "__module__", None) == frame.__name__:  # else a user put it there
            marshal = _dropins.as_method(getattr(codec, f"marshal_{name.lower()}"))
            marshals += 1
            seams.append(Seam(cls, "marshal", marshal))
    seams += [Seam(data, name, getattr(codec, name)) for name in (*_READS, *_WRITES)]
    if _copies_the_buffer(connection):
        seams.append(Seam(connection, "_on_data_available", _dropins.as_method(codec.receive)))
    if marshals == 4 and _makes_frames(connection):
        codec.sends = True
        seams.append(Seam(connection, "_send_message", _dropins.as_method(codec.send_message)))
    return Built(codec, seams, client.guards)


def _copies_the_buffer(connection: Any) -> bool:
    """Whether the connection cuts its buffer, which is bytes, behind every frame, as 1.4.4 does."""
    names = {"_frame_buffer", "_read_frame", "_trim_frame_buffer", "_process_frame"}
    return _works_with(connection, "_on_data_available", 2, names)


def _makes_frames(connection: Any) -> bool:
    """Whether the connection makes each frame of a message and marshals it, as 1.4.4 does."""
    names = {
        "Method",
        "Header",
        "Body",
        "append",
        "ceil",
        "float",
        "frame",
        "int",
        "len",
        "marshal",
    }
    names |= {"_body_max_length", "_output_marshaled_frames", "math", "range"}
    return _works_with(connection, "_send_message", 4, names)


def _works_with(connection: Any, name: str, arguments: int, names: set[str]) -> bool:
    """Whether a method of the connection is pika's own, and uses just these names."""
    function = vars(connection).get(name)
    return (
        is_shipped(function, connection, name)
        and names == set(function.__code__.co_names)
        and function.__code__.co_argcount == arguments
    )


_DROP_IN = DropIn("pika", VERSIONS, _build)


def install(strict: bool = True) -> None:
    """Put the compiled codec under pika, which is imported; see `amqpcodec.compat`.

    Raises:
        CompatError: pika is missing, or has not what the drop-in replaces.
    """
    _DROP_IN.install(strict)


def uninstall() -> None:
    """Put pika's own functions back."""
    _DROP_IN.uninstall()


def installed() -> bool:
    """Whether the drop-in is installed now."""
    return _DROP_IN.installed


def calls() -> int:
    """How often the compiled codec was entered in the place of pika's."""
    return _DROP_IN.calls()


def fallbacks() -> dict[str, int]:
    """How many of these calls pika's own code did in the end, by reason."""
    return _DROP_IN.fallbacks()
