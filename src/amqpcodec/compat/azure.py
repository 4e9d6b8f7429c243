"""The drop-in for AMQP 1.0 as azure-eventhub and azure-servicebus (``_pyamqp``) and rstream (its
copy of that) speak it: ``from amqpcodec.compat import azure; azure.install()``.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Collection
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from uuid import UUID

from amqpcodec import _dropins, _dropins_v1

from .._public import listing
from ._classes import Guards
from ._compare import outcome
from ._dropin import Built, CompatError, CompatWarning, DropIn, Seam

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

#: What the clients call the types of AMQP, by the core's numbers.
_TYPES = {
    "null": 0, "boolean": 1, "ubyte": 2, "ushort": 3, "uint": 4, "ulong": 5, "byte": 6, "short": 7,
    "int": 8, "long": 9, "float": 10, "double": 11, "decimal128": 14, "timestamp": 16, "uuid": 17,
    "binary": 18, "string": 19, "symbol": 20, "list": 21, "map": 22, "array": 23, "described": 26,
}  # fmt: skip

#: How fields are written that have no type of AMQP's own, by the core's numbers.
_WAYS = {
    "fields": 40, "annotations": 41, "app_properties": 42, "filter_set": 43, "node_properties": 44,
    "message_id": 45,
}  # fmt: skip
_OBJECT, _UNKNOWN, _ABSENT, _LEFT, _MULTIPLE = 46, 47, 48, 49, 64

#: A value for each type name, to compare with.
_SAMPLES: dict[int, Any] = {
    1: True, 2: 7, 3: 300, 4: 70000, 5: 2**40, 6: -7, 7: -300, 8: -70000, 9: -(2**40), 10: 1.5,
    11: 1.1, 16: 1_700_000_000_000, 17: UUID(int=7), 18: b"\xff\0", 19: "text", 20: "symbol",
    21: [1, "a", [True]], 22: {"k": 2**20, b"b": None}, 26: ("descriptor", 5),
}  # fmt: skip


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
        self.guards = Guards(package, ())
        self.names: dict[str, int] = {}
        for name, number in _TYPES.items():
            text = getattr(self.types.AMQPTypes, name, None)
            writer = getattr(self.encode, f"encode_{name}", None)
            if text is not None and self.encode._ENCODE_MAP[text] is writer:
                self.names[text] = number
        self.fields: dict[Any, int] = {
            getattr(self.types.FieldDefinition, name): way for name, way in _WAYS.items()
        }

    def _part(self, name: str) -> Any:
        return import_module(f"{self.package}._pyamqp.{name}")

    def way(self, field: Any) -> int:
        """How the core writes a field of a class's definition."""
        if field is None:
            return _ABSENT
        name = field.type
        if field.multiple:
            return _MULTIPLE + self.names[name] if name in self.names else _LEFT
        if isinstance(name, self.types.FieldDefinition):
            return self.fields.get(name, _LEFT)
        if isinstance(name, self.types.ObjDefinition):
            return _OBJECT
        return _UNKNOWN if name is None else self.names.get(name, _LEFT)

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
            message=message,
            header=_dropins_v1.AzureTuple(names, "Header"),
            properties=_dropins_v1.AzureTuple(names, "Properties"),
        )
        writing = _dropins_v1.AzureWriting(
            types=self.names,
            define=self.define,
            decimal128=getattr(encode, "encode_decimal128", None),
            wide_ints=wide,
            joins_data="data" in message.cls._fields,
        )
        return _dropins_v1.AzureCodec(
            reading, writing, self.stock, self.performatives.TransferFrame,
            self._guard(decode, _DECODERS),
            self._guard(encode, _ENCODERS),
        )  # fmt: skip

    def _guard(self, module: Any, seams: Collection[str]) -> Any:
        """What one way rests on: its module but for the seams, and those that both share."""
        guard = self.guards.of_module(module, seams)
        for name in seams:
            guard.add_function(self.stock[name])
        for value in vars(module).values():
            if type(value) is list:
                guard.add_list(value)
        for shared in (self.message, self.performatives, self.types):
            self.guards.add_module(guard, shared)
            if _dropins.guards_call_back():
                for each in vars(shared).values():
                    if isinstance(each, type) and each.__module__ == shared.__name__:
                        self.guards.add_class(guard, each)
        for name in ("Message", "Header", "Properties"):
            guard.add(_dropins.namespace_of(getattr(self.message, name)), ["__new__"])
        return guard

    def seams(self, codec: Any) -> list[Seam]:
        """Each place in the client's modules where one of its functions stands."""
        ours = {id(function): name for name, function in self.stock.items()}
        return [
            Seam(module, attribute, getattr(codec, ours[id(value)]))
            for name, module in sorted(sys.modules.items())
            if f"{name}.".startswith(f"{self.package}.")
            for attribute, value in list(vars(module).items())
            if id(value) in ours
        ]

    # ---- a client that is not known ----

    def sample(self, field: Any, number: int) -> Any:
        """A value for a field, a different one for each number."""
        if field is None:
            return b"payload"
        way = self.way(field)
        if way >= _MULTIPLE:
            return [_SAMPLES[way - _MULTIPLE]] * 2
        if way == _WAYS["message_id"]:
            return ("id", 77, b"id", UUID(int=8))[number % 4]
        if way == _WAYS["filter_set"]:
            return {"name": ("descriptor", "filter"), "other": None}
        if way in _SAMPLES:
            return _SAMPLES[way]
        if way in _WAYS.values():
            return {"a": 1, "b": [1.5, b"c"], "d": {"TYPE": "LONG", "VALUE": 5}}
        return "any" if way == _UNKNOWN else None

    def same(self, codec: Any) -> bool:
        """Whether client and codec write the same of samples and read the same from that."""
        classes = [
            value
            for value in vars(self.performatives).values()
            if isinstance(value, type) and hasattr(value, "_definition")
        ]
        if any(_LEFT in map(self.way, cls._definition) for cls in classes):
            return False
        for cls in classes:
            samples = [self.sample(field, number) for number, field in enumerate(cls._definition)]
            for one in (cls(*samples), cls(*samples[:1], *[None] * (len(samples) - 1))):
                if getattr(one, "payload", b"") is None:
                    one = one._replace(payload=b"")
                written = self.stock["encode_frame"](one)
                if codec.encode_frame(one) != written:
                    return False
                raw = memoryview(bytes(written[1]))
                if codec.decode_frame(raw) != self.stock["decode_frame"](raw):
                    return False
        return codec.fallbacks == 0 and all(map(self.same_message, [codec] * 3, range(3)))

    def same_message(self, codec: Any, number: int) -> bool:
        """The same of a message, with one of the three kinds of body."""
        message = self.message
        header = [self.sample(field, 0) for field in message.Header._definition]
        properties = [
            self.sample(field, i) for i, field in enumerate(message.Properties._definition)
        ]
        data: Any = [b"1", b"2"] if "data" in message.Message._fields else b"12"
        annotations = {b"x-opt": "a", 5: 7}
        body = ((data, None, None), (None, [[1, "a"]], None), (None, None, {"k": 1.5}))[number]
        made = message.Message(
            message.Header(*header), annotations, annotations, message.Properties(*properties),
            {"k": "v", b"n": 5}, *body, annotations,
        )  # fmt: skip
        written = bytes(self.stock["encode_payload"](bytearray(), made))
        again = codec.decode_payload(memoryview(written))
        return bool(
            bytes(codec.encode_payload(bytearray(), made)) == written
            and again == self.stock["decode_payload"](memoryview(written))
            and type(again) is type(made)
            and codec.fallbacks == 0
        )


def _drop_in(distribution: str) -> DropIn:
    package = CLIENTS[distribution]
    paths = tuple(f"{package}._pyamqp.{name}" for name in _PATHS)

    def build(_strict: bool) -> Built:
        client = _Client(package)
        codec = client.codec()
        if not found.is_known(*paths) and not client.same(codec):
            raise TypeError(f"{package}._pyamqp reads or writes otherwise")
        return Built(codec, client.seams(codec), client.guards, paths)

    found = DropIn(package, build, distribution=distribution, known=distribution)
    return found


_DROP_INS: dict[str, DropIn] = {name: _drop_in(name) for name in CLIENTS}


def _is_there(distribution: str) -> bool:
    try:
        return find_spec(CLIENTS[distribution]) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False


def install(strict: bool = True, clients: Collection[str] | None = None) -> None:
    """Put the compiled codec under azure-eventhub, azure-servicebus and rstream, which are
    imported; see `amqpcodec.compat`.

    Args:
        strict: as the other drop-ins have it; there is nothing here that it could change.
        clients: names of distributions, which must be there; else all of the three that are.

    Raises:
        CompatError: none of them is there, or one that was named is missing, or what is there has
            not what the drop-in replaces.
        ValueError: no drop-in here is for a client of that name.
    """
    wanted = list(clients) if clients is not None else [name for name in CLIENTS if _is_there(name)]
    if unknown := set(wanted) - set(CLIENTS):
        raise ValueError(f"no drop-in for {', '.join(sorted(unknown))} here")
    if not wanted:
        raise CompatError(f"this drop-in needs one of {', '.join(CLIENTS)}; none is installed")
    refused: list[CompatError] = []
    for name in wanted:
        try:
            _DROP_INS[name].install(strict)
        except CompatError as error:
            if clients is not None or len(refused) + 1 == len(wanted):
                raise
            refused.append(error)
    for each in refused:
        warnings.warn(str(each), CompatWarning, stacklevel=2)


def uninstall() -> None:
    """Put the clients' own functions back."""
    for each in _DROP_INS.values():
        each.uninstall()


def installed() -> bool:
    """Whether the drop-in is installed now, for one of the clients at least."""
    return any(each.installed() for each in _DROP_INS.values())


def calls() -> int:
    """How often the compiled codec was entered in the place of the clients'."""
    return sum(each.calls() for each in _DROP_INS.values())


def fallbacks() -> dict[str, int]:
    """How many of these calls the clients' own code did in the end, by reason."""
    found: Counter[str] = Counter()
    for each in _DROP_INS.values():
        found.update(each.fallbacks())
    return dict(found)
