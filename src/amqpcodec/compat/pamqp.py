"""The drop-in for pamqp, and so for aiormq, aio-pika and amqpstorm:
``from amqpcodec.compat import pamqp; pamqp.install()``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from decimal import Decimal
from functools import partial
from importlib import import_module
from itertools import chain
from typing import Any

from amqpcodec import _dropins

from .._facade.public import listing
from ._classes import Dependencies, GuardRegistry, attributes_of, direct_names
from ._compare import (
    Difference,
    Frames,
    ValueFunctions,
    argument_differences,
    entry_differences,
    frame_differences,
    function_differences,
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
from ._sources import names_used

__all__ = ["calls", "fallbacks", "install", "installed", "uninstall"]

__dir__ = listing(__name__)

#: Those whose every method, property, tag and error was compared with the drop-in.
VERSIONS: tuple[str, ...] = KNOWN["pamqp"].versions

#: What reading and writing rest on: all of it can be compared.
_PATHS = tuple(KNOWN["pamqp"].functions)

#: Table values that pamqp's versions agree on; the others are asked of the one that is there.
_READ = {
    "t": "bool", "f": "float", "d": "double", "S": "text", "x": "bytearray", "A": "array",
    "F": "table", "V": "void", "\0": "void",
}  # fmt: skip
_ASKED = "bBsuIilLDT"

#: pamqp's name of a wire type, by number.
_TYPES = ("bit", "octet", "short", "long", "longlong", "shortstr", "longstr", "timestamp", "table")

#: What `validate` asks of a field that it looks at; of others: the value they have at first.
_CHECKS = {
    "exchange": "name", "source": "name", "destination": "name", "virtual_host": "name",
    "queue": "long name",
}  # fmt: skip

#: What a class must have of its own for its frames to be made and written without it.
_WATCHED = ("marshal", "unmarshal", "validate", "encode_property", "_get_flags")

#: Names of pamqp.frame that only the other way rests on: of the patch points neither does.
_NOT_READ = (
    "marshal", "unmarshal", "_marshal", "_marshal_content_body_frame",
    "_marshal_content_header_frame", "_marshal_method_frame",
)  # fmt: skip
_NOT_WRITTEN = (
    "marshal", "unmarshal", "frame_parts", "_unmarshal_protocol_header_frame",
    "_unmarshal_method_frame", "_unmarshal_header_frame", "_unmarshal_body_frame",
)  # fmt: skip

#: The switch of pamqp.encode for old brokers, which is asked for at every call.
_SWITCH = ("DEPRECATED_RABBITMQ_SUPPORT",)

#: Functions of pamqp.decode, and what they read: a conversion, or that of a tag.
_READERS: dict[str, str | None] = {
    "boolean": "bool", "byte_array": "bytearray", "decimal": "tag D",
    "double": "double", "floating_point": "float", "long_int": "int32", "long_uint": "uint32",
    "long_long_int": "int64", "long_str": "text", "octet": "uint8", "short_int": "int16",
    "short_uint": "uint16", "short_short_int": "int8", "short_short_uint": "uint8",
    "short_str": "short text", "timestamp": "tag T", "embedded_value": None,
    "field_array": "array", "field_table": "table",
}  # fmt: skip

_WRITERS = (
    "boolean", "byte_array", "decimal", "double", "floating_point", "long_int", "long_uint",
    "long_long_int", "long_string", "octet", "short_int", "short_uint", "short_string",
    "timestamp", "field_array", "field_table", "table_integer", "encode_table_value",
)  # fmt: skip


def _profile(read: Any, write: Any) -> Profile:
    """pamqp's own way with values, of `embedded_value` and `encode_table_value`.

    Before 4.0.0 ints from -128 to -1 are refused, and digits are counted in the text of a Decimal.
    """

    def read_value(raw: bytes) -> tuple[Any, int]:
        end, value = read(raw)
        return value, end

    answers, unsupported = conversions(read_value, _ASKED)
    takes_negative_bytes, _ = outcome(lambda: write(-1))
    _, tiny = outcome(lambda: write(Decimal("1E-10")))
    return Profile(
        _READ | answers,
        unsupported,
        bad_names="refused",
        bad_text="refused",
        longstr="text or bytes",
        signed=True,
        timestamp=answers.get("T", "aware or ms"),
        ints="smallest",
        negative_bytes=takes_negative_bytes,
        decimals="scaled" if tiny == b"D\x0a\0\0\0\1" else "plain",
        float_tag="f",
        bytes_tag=None,
        bytearray_tag="x",
        tuples=False,
        longest_name=128,
        bytes_names=False,
        in_order=True,
        bytes_text=False,
        none_text=False,
        any_bits=False,
        empty_absent=True,
    )


def _bound_method(
    guards: GuardRegistry,
    cls: Any,
    class_id: int,
    method_id: int,
    fields: Any,
    place: tuple[Any, Any],
) -> Any:
    """(the method, its new instance); None where the class is not what the specification says.
    place: the namespace where pamqp finds the class, and its name there."""
    lowered = tuple(field[:3] for field in fields)
    names = tuple(cls.__slots__)
    types = [getattr(cls, f"_{name}", None) for name in names]
    init = vars(cls).get("__init__")
    if init is not None:
        used = names_used(init)
        if used is None or used - {*names, "self", "validate"}:
            return None  # it does more than to set attributes: basic.recover-async warns
    worked, instance = outcome(cls)
    if not worked or types != [_TYPES[wire_type] for _, wire_type, _ in lowered]:
        return None
    direct = direct_names(cls, names)
    making, taking = guards.of_class(
        cls,
        names,
        Dependencies((*direct, "amqp_type", "unmarshal", "validate"), ("__init__",)),
        Dependencies((*direct, "amqp_type", "marshal", "validate", "encode_property")),
    )
    if making is not None and taking is not None:
        making.add(place[0], [place[1]])
    bound = _dropins.BoundClass(cls, names, making, taking)
    absent = tuple(getattr(instance, name) for name in names)
    return _dropins.BoundMethod(bound, class_id, method_id, lowered, absent), instance


def _checks(instance: Any) -> list[str]:
    """Which of an instance's fields `validate` looks at, and what it may ask of them: of all, where
    its source cannot be read."""
    names = tuple(type(instance).__slots__)
    used = names_used(type(instance).validate)
    looked_at = set(names) if used is None else used & set(names)
    return [_CHECKS.get(name, "default") if name in looked_at else "" for name in names]


def _bound_class(guards: GuardRegistry, module: Any, name: str, *names: str) -> Any:
    """(a class with a dict, its guards); one that a user put there has its work done by pamqp's own
    code."""
    cls = getattr(module, name)
    worked, instance = outcome(lambda: cls(b"") if names == ("value",) else cls())
    has_known_attributes = worked and attributes_of(instance) == names
    making = taking = None
    if has_known_attributes:
        direct = direct_names(cls, names)
        making, taking = guards.of_class(
            cls,
            names,
            Dependencies((*direct, "unmarshal", "_get_flags"), ("__init__",)),
            Dependencies((*direct, "marshal")),
        )
    if making is not None and taking is not None:
        making.add(vars(module), [name])
    return _dropins.BoundClass(cls, names, making, taking), (making, taking)


class _Client:
    """The parts of pamqp that matter, and the codec for them."""

    def __init__(self) -> None:
        names = (
            "frame", "encode", "decode", "commands", "header", "body", "heartbeat", "exceptions",
            "base", "common", "constants",
        )  # fmt: skip
        for name in names:
            setattr(self, name, import_module(f"pamqp.{name}"))
        self.frame: Any
        self.encode: Any
        self.decode: Any
        self.commands: Any
        self.header: Any
        self.body: Any
        self.heartbeat: Any
        self.exceptions: Any
        self.base: Any
        self.common: Any
        self.constants: Any
        self.stock: dict[str, Any] = {
            "marshal": self.frame.marshal,
            "unmarshal": self.frame.unmarshal,
        }
        self.profile = _profile(self.decode.embedded_value, self.encode.encode_table_value)
        self.guards = GuardRegistry("pamqp", _WATCHED)

    def codec(self, methods: list[Any], properties: Any, strict: bool) -> Any:
        guards = self.guards
        names = ("class_id", "weight", "body_size", "properties")
        header, _ = _bound_class(guards, self.header, "ContentHeader", *names)
        body, of_body = _bound_class(guards, self.body, "ContentBody", "value")
        heartbeat, of_heartbeat = _bound_class(guards, self.heartbeat, "Heartbeat")
        reading = guards.of_module(self.decode)
        writing = guards.of_module(self.encode, _SWITCH)
        self.value_guards = (reading, writing)
        # Nothing else is asked of bodies and heartbeats than the guards of their classes.
        for guard in (reading, of_body[0], of_heartbeat[0]):
            self._add_frames(guard, "unmarshal", _NOT_READ)
        for guard in (writing, of_body[1], of_heartbeat[1]):
            self._add_frames(guard, "marshal", _NOT_WRITTEN)
        name_table = self._name_table()
        checks = []
        for bound, instance in methods:
            worked, field_checks = outcome(partial(_checks, instance))
            if worked:
                defaults = tuple(getattr(instance, name) for name in type(instance).__slots__)
                checks.append(
                    _dropins.CheckedMethod(bound, tuple(field_checks), defaults, name_table)
                )
        deprecated = "client" if self.profile.options["ints"] == "client" else "smallest signed"
        return _dropins.PamqpCodec(
            _dropins.ClientBinding(
                self.profile.make(), self.stock, reading, writing,
                [bound for bound, _ in methods], not strict,
            ),
            self.profile.make(ints=deprecated), checks, properties, (header, body, heartbeat),
            self.encode, self.exceptions,
        )  # fmt: skip

    def _name_table(self) -> bytes:
        """256 flags: what names of exchanges, queues and hosts may have (no blank before 3.3.0)."""
        patterns = [pattern.match for pattern in set(self.constants.DOMAIN_REGEX.values())]
        # Between others: $ also matches before a line end at the end.
        return bytes(
            code < 128 and all(match(f"a{chr(code)}a") for match in patterns) for code in range(256)
        )

    def _add_frames(self, guard: Any, name: str, but: Collection[str]) -> None:
        """Let a guard rest on what frames of all types go through."""
        if guard is None:
            return
        guard.add_function(self.stock[name])
        self.guards.add_module(guard, self.frame, but)
        for module in (self.base, self.body, self.commands, self.common, self.constants):
            self.guards.add_module(guard, module)
        for module in (self.header, self.heartbeat):
            self.guards.add_module(guard, module)
        if _dropins.guards_call_back():
            self.guards.add_class(guard, self.commands.Basic)

    def candidates(self) -> tuple[list[tuple[Any, Any, Frames]], Any, Frames]:
        """(method, new instance, its frames) of each, the property list, frames of it."""
        methods: list[tuple[Any, Any, Frames]] = []
        bound_properties: Any = None
        frames: Frames = list
        for group in CLASSES:
            class_id = group["index"]
            if group["properties"] is not None:
                fields = group["properties"]
                basic = self.commands.Basic
                place = _dropins.namespace_of(basic), "Properties"
                bound_properties = _bound_method(
                    self.guards, basic.Properties, class_id, 0, fields, place
                )
                frames = partial(header_frames, class_id, [field[1] for field in fields])
            for method in group["methods"]:
                mapping = self.commands.INDEX_MAPPING
                key = class_id << 16 | method["index"]
                if getattr(mapping.get(key), "index", None) != key:
                    continue  # a version without it, or somebody put another class there
                one_method = _bound_method(
                    self.guards, mapping[key], class_id, method["index"], method["fields"],
                    (mapping, key),
                )  # fmt: skip
                if one_method:
                    wire_types = [field[1] for field in method["fields"]]
                    raws = partial(method_frames, class_id, method["index"], wire_types)
                    methods.append((*one_method, raws))
        if bound_properties is None:
            raise TypeError("pamqp.commands.Basic.Properties has other attributes")
        return methods, bound_properties[0], frames

    def readers(self, codec: Any) -> Iterator[tuple[str, Any]]:
        """Functions in the place of pamqp.decode's, of what the profile reads."""
        for name, conversion in _READERS.items():
            if conversion is not None and conversion.startswith("tag "):
                conversion = self.profile.read.get(conversion[4:])
                if conversion is None:
                    continue
            reader = _dropins.pamqp_reader(codec, name, conversion, getattr(self.decode, name))
            yield name, reader

    def writers(self, codec: Any) -> Iterator[tuple[str, Any]]:
        """Functions in the place of pamqp.encode's."""
        for name in _WRITERS:
            yield name, _dropins.pamqp_writer(codec, name, getattr(self.encode, name))

    def value_differences(self, codec: Any) -> Iterator[Difference]:
        """Values that pamqp reads or writes otherwise than the codec."""
        return value_differences(*self._value_functions(codec))

    def _value_functions(self, codec: Any) -> ValueFunctions:
        """Of the codec and of pamqp: from bytes to a value, and from a value to bytes."""
        read, write = self.decode.embedded_value, self.encode.encode_table_value
        return (
            _dropins.pamqp_reader(codec, "embedded_value", None, read),
            read,
            _dropins.pamqp_writer(codec, "encode_table_value", write),
            write,
        )

    def entry_differences(
        self, codec: Any, methods: list[tuple[Any, Any, Frames]]
    ) -> Iterator[Difference]:
        """The same of a known version, whose tables of functions somebody may have changed: of each
        tag of a field table, and of each type of an argument in some methods."""
        yield from entry_differences(list(self.profile.read), *self._value_functions(codec))
        for _, _, frames in methods:
            for raw in chain(*frames()[:3]):
                yield from self.frame_differences(codec, raw)

    def some_methods(self, methods: list[Any]) -> list[Any]:
        """As few methods as have arguments of every type."""
        seen: set[str] = set()
        some = []
        for method in methods:
            types = {getattr(method[1], f"_{name}") for name in type(method[1]).__slots__}
            if not types <= seen:
                seen |= types
                some.append(method)
        return some

    def frame_differences(self, codec: Any, raw: bytes) -> Iterator[Difference]:
        """What pamqp reads from a frame, or writes of that, otherwise than the codec."""
        marshal = self.stock["marshal"]
        return frame_differences(
            raw,
            codec.unmarshal,
            self.stock["unmarshal"],
            lambda result: codec.marshal(result[2], 3),
            lambda result: marshal(result[2], 3),
            _flat,
        )

    def argument_differences(self, codec: Any, cls: Any) -> Iterator[Difference]:
        """What pamqp writes of a method's arguments, or refuses, otherwise than the codec."""
        marshal = self.stock["marshal"]
        return argument_differences(
            cls,
            cls.__slots__,
            lambda frame: codec.marshal(frame, 3),
            lambda frame: marshal(frame, 3),
        )


def _flat(value: Any) -> Any:
    """An object of pamqp as plain values."""
    if isinstance(value, tuple):
        return [_flat(item) for item in value]
    slots = [(name, _flat(getattr(value, name))) for name in getattr(value, "__slots__", ())]
    inside = [(name, _flat(item)) for name, item in getattr(value, "__dict__", {}).items()]
    if type(value).__module__.startswith("pamqp."):
        return type(value), slots, inside
    return type(value), value


def _build(strict: bool) -> ClientPatch:
    client = _Client()
    methods, properties, headers = client.candidates()
    unsupported = client.profile.unsupported
    is_known_version = _DROP_IN.is_known()
    other = None
    bound_methods = [one[:2] for one in methods]
    if is_known_version:
        some = client.some_methods(methods)
        known = Trial(
            client.profile,
            lambda: client.codec(bound_methods, properties, True),
            lambda codec: client.entry_differences(codec, some),
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
            trial.unmarshal,
            partial(client.frame_differences, trial),
            alone=not unsupported,
        )
        refuse(differs(headers()))
        methods, others = split(
            methods,
            lambda one: chain(differs(one[2]()), client.argument_differences(trial, type(one[1]))),
        )
        unsupported += [(type(one[1]).__qualname__, str(difference)) for one, difference in others]
        codec = client.codec([method[:2] for method in methods], properties, strict)
    if other is not None:
        client.guards.disable(*client.value_guards)
        unsupported.append(("reading and writing values", str(other)))
    frame, encode, decode = client.frame, client.encode, client.decode
    points = [
        PatchPoint(frame, "marshal", codec.marshal),
        PatchPoint(frame, "unmarshal", codec.unmarshal),
    ]
    functions = [PatchPoint(decode, *one) for one in client.readers(codec)]
    functions += [PatchPoint(encode, *one) for one in client.writers(codec)]
    if not is_known_version:
        functions, differ = split(
            functions,
            lambda point: function_differences(
                point.name, point.replacement, point.current(), point.holder is decode
            ),
        )
        unsupported += [(repr(point), str(difference)) for point, difference in differ]
    return ClientPatch(codec, points + functions, client.guards, tuple(unsupported))


# pamqp 4.0.1 says of itself that it is 4.0.0
_DROP_IN = DropIn("pamqp", _build, _PATHS, distribution="pamqp")
DROP_INS = (_DROP_IN,)
install: Install = _DROP_IN.install
uninstall: Callable[[], None] = _DROP_IN.uninstall
installed: Callable[[], bool] = _DROP_IN.installed
calls: Callable[[], int] = _DROP_IN.calls
fallbacks: Callable[[], dict[str, int]] = _DROP_IN.fallbacks
