"""What a user changes in a client while its drop-in is at work is noticed, whatever came before.

Each change is made to a copy of the client whose drop-in has worked already, after thousands of
changes that mean nothing; the stock copy says what the answer has to be, and that the change
makes a difference. Once with the changes called back where Python does
that, once compared at every call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from amqpcodec import _dropins
from tests.dropins.canon import outcome, shown
from tests.dropins.conftest import need
from tests.dropins.stock import Side, dropin, live, stock
from tests.dropins.test_users_unit import DELIVER, HEADER, HEADER_PAYLOAD

Undo = Callable[[], None]
#: More than CPython 3.13 numbers the changes of a class.
MANY = 3000


def put(holder: Any, name: str, value: Any) -> Undo:
    """Set an attribute, or an entry of a dict; what is given back undoes it."""
    if isinstance(holder, dict):
        before = holder[name]
        holder[name] = value
        return lambda: holder.__setitem__(name, before)
    own = name in vars(holder)
    before = vars(holder).get(name)
    setattr(holder, name, value)
    if own:
        return lambda: setattr(holder, name, before)
    return lambda: delattr(holder, name)


def wrapped(function: Any, after: Callable[..., Any]) -> Any:
    """A function of the user's around the client's own; after: makes its result of that."""

    def instead(*arguments: Any, **options: Any) -> Any:
        return after(function(*arguments, **options), *arguments)

    return instead


def code_of_another(function: Any, other: Any) -> Undo:
    before = function.__code__, function.__defaults__
    function.__code__, function.__defaults__ = other.__code__, other.__defaults__

    def undo() -> None:
        function.__code__, function.__defaults__ = before

    return undo


def bases_of_another(cls: Any, name: str, value: Any) -> Undo:
    """A class in front of its first one above, which has something else under a name."""
    before = cls.__bases__
    slots = {} if hasattr(cls, "__dict__") and "__dict__" in dir(cls) else {"__slots__": ()}
    above = type("Above", before[:1], {name: value, "__module__": before[0].__module__, **slots})
    cls.__bases__ = (above, *before[1:])

    def undo() -> None:
        cls.__bases__ = before

    return undo


# --- pika


def pika_read(side: Side) -> Any:
    return side.frame.decode_frame(DELIVER), side.frame.decode_frame(HEADER)


def pika_write(side: Side) -> Any:
    properties = side.spec.BasicProperties(content_type="x", headers={"n": 5})
    publish = side.spec.Basic.Publish(exchange="e", routing_key="k")
    return side.frame.Method(1, publish).marshal(), side.frame.Header(1, 5, properties).marshal()


def marked(_result: Any, instance: Any, *_arguments: Any) -> None:
    instance.own = "the user's"


def pika_init(side: Side) -> Undo:
    kind = side.spec.BasicProperties
    return put(kind, "__init__", wrapped(kind.__init__, marked))


def pika_init_code(side: Side) -> Undo:
    def __init__(self: Any, content_type: Any = "the user's") -> None:
        self.content_type = content_type
        self.own = "set by it"

    return code_of_another(side.spec.BasicProperties.__init__, __init__)


def pika_frame_init(side: Side) -> Undo:
    return put(side.frame.Frame, "__init__", wrapped(side.frame.Frame.__init__, marked))


def pika_property(side: Side) -> Undo:
    def get(_self: Any) -> str:
        return "from a property"

    def set_(self: Any, value: Any) -> None:
        vars(self)["elsewhere"] = value

    return put(side.spec.BasicProperties, "content_type", property(get, set_))


def pika_data_read(side: Side) -> Undo:
    return put(
        side.data,
        "decode_short_string",
        wrapped(side.data.decode_short_string, lambda result, *_: (result[0].upper(), result[1])),
    )


def pika_data_write(side: Side) -> Undo:
    def twice(size: int, pieces: list[bytes], *_arguments: Any) -> int:
        pieces.append(b"!")
        return size + 1

    return put(side.data, "encode_short_string", wrapped(side.data.encode_short_string, twice))


def pika_encode(side: Side) -> Undo:
    return put(
        side.spec.BasicProperties,
        "encode",
        wrapped(side.spec.BasicProperties.encode, lambda pieces, *_: [*pieces, b"!"]),
    )


def pika_setattr(side: Side) -> Undo:
    def setattr_(self: Any, name: str, value: Any) -> None:
        object.__setattr__(self, name, f"{value}!" if type(value) is str else value)

    return put(side.amqp_object.AMQPObject, "__setattr__", setattr_)


def pika_base(side: Side) -> Undo:
    def marshal(self: Any, pieces: list[bytes]) -> bytes:
        return b"!" + b"".join(pieces)

    return bases_of_another(side.frame.Header, "_marshal", marshal)


def pika_registry(side: Side) -> Undo:
    own = side.spec.Basic.Deliver
    kind = type("Deliver", (own,), {"__init__": wrapped(own.__init__, marked)})
    return put(side.spec.methods, own.INDEX, kind)


def pika_frame_class(side: Side) -> Undo:
    return put(side.frame, "Header", type("Header", (side.frame.Header,), {"NAME": "mine"}))


# --- pamqp


def pamqp_read(side: Side) -> Any:
    return side.frame.unmarshal(DELIVER), side.frame.unmarshal(HEADER)


def pamqp_write(side: Side) -> Any:
    properties = side.commands.Basic.Properties(content_type="x", headers={"n": 5})
    header = side.header.ContentHeader(0, 5, properties)
    publish = side.commands.Basic.Publish(exchange="e", routing_key="k")
    return side.frame.marshal(publish, 1), side.frame.marshal(header, 1)


def pamqp_init(side: Side) -> Undo:
    def shout(_result: Any, instance: Any, *_arguments: Any) -> None:
        instance.app_id = "the user's"

    kind = side.commands.Basic.Properties
    return put(kind, "__init__", wrapped(kind.__init__, shout))


def pamqp_slot(side: Side) -> Undo:
    slot = vars(side.commands.Basic.Properties)["content_type"]
    loud = property(lambda self: f"{slot.__get__(self)}!", slot.__set__)
    return put(side.commands.Basic.Properties, "content_type", loud)


def pamqp_validate(side: Side) -> Undo:
    def validate(_self: Any) -> None:
        raise KeyError("the user's")

    return put(side.commands.Basic.Publish, "validate", validate)


def pamqp_validate_code(side: Side) -> Undo:
    def validate(self: Any) -> None:
        raise KeyError("the user's")

    return code_of_another(side.commands.Basic.Publish.validate, validate)


def pamqp_base_marshal(side: Side) -> Undo:
    return put(side.base.Frame, "marshal", lambda _self: b"the user's")


def pamqp_by_type_read(side: Side) -> Undo:
    def loud(result: Any, *_arguments: Any) -> Any:
        return (result[0], result[1].upper()) if type(result[1]) is str else result

    return put(side.decode, "by_type", wrapped(side.decode.by_type, loud))


def pamqp_by_type_code(side: Side) -> Undo:
    def by_type(value: Any, data_type: str) -> bytes:
        return b"\0"

    return code_of_another(side.encode.by_type, by_type)


def pamqp_table(side: Side) -> Undo:
    return put(side.encode, "encode_table_value", lambda _value: b"t\1")


def pamqp_header_base(side: Side) -> Undo:
    return put(side.header, "ContentHeader", type("Mine", (side.header.ContentHeader,), {}))


# --- py-amqp


def amqp_read(side: Side) -> Any:
    message = side.basic_message.Message()
    events = []
    connection = type("Connection", (), {"bytes_recv": 0, "frame_max": 1000})()
    handler = side.method_framing.frame_handler(
        connection, lambda *event: events.append((*event[:3], event[3], event[3].properties))
    )
    for kind, data in ((1, DELIVER), (2, HEADER), (3, b"\3\0\1\0\0\0\5bytes\xce")):
        handler((kind, 1, data[7:-1]))
    message.inbound_header(HEADER_PAYLOAD)
    loaded = side.serialization.loads("sF", b"\1x\0\0\0\4\1nt\1", 0)
    return events, message.properties, loaded


def amqp_write(side: Side) -> Any:
    message = side.basic_message.Message("body", content_type="x", application_headers={"n": 5})
    written: list[bytes] = []
    connection = type("Connection", (), {"bytes_sent": 0, "frame_max": 1000})()
    transport = type("T", (), {"write": lambda _self, data: written.append(bytes(data))})()
    writer = side.method_framing.frame_writer(connection, transport)
    writer(1, 1, (60, 40), b"\0\0\1e\1k\0", message)
    return written, message._serialize_properties(), side.serialization.dumps("sF", ["x", {"a": 1}])


def amqp_init(side: Side) -> Undo:
    kind = side.basic_message.Message
    return put(kind, "__init__", wrapped(kind.__init__, marked))


def amqp_init_defaults(side: Side) -> Undo:
    function = side.basic_message.Message.__init__
    before = function.__defaults__
    function.__defaults__ = (*before[:-1], "the user's")

    def undo() -> None:
        function.__defaults__ = before

    return undo


def amqp_inbound(side: Side) -> Undo:
    def loud(_result: Any, message: Any, *_arguments: Any) -> None:
        message.body = b"the user's"

    kind = side.serialization.GenericContent
    return put(kind, "inbound_body", wrapped(kind.inbound_body, loud))


def amqp_inbound_code(side: Side) -> Undo:
    def inbound_body(self: Any, buf: Any) -> None:
        self.body = b"the user's"
        self.ready = True

    return code_of_another(side.serialization.GenericContent.inbound_body, inbound_body)


def amqp_serialize(side: Side) -> Undo:
    return put(side.basic_message.Message, "_serialize_properties", lambda _self: b"\0\0")


def amqp_properties(side: Side) -> Undo:
    kind = side.basic_message.Message
    return put(kind, "PROPERTIES", kind.PROPERTIES[1:])


def amqp_read_item(side: Side) -> Undo:
    own = side.serialization._read_item
    return put(
        side.serialization, "_read_item", wrapped(own, lambda result, *_: ("mine", result[1]))
    )


def amqp_write_item(side: Side) -> Undo:
    def write_item(_value: Any, write: Any, _bits: Any) -> None:
        write(b"t\1")

    return put(side.serialization, "_write_item", write_item)


def amqp_message(side: Side) -> Undo:
    own = side.method_framing.Message
    return put(side.method_framing, "Message", type("Mine", (own,), {"mine": True}))


def amqp_slot(side: Side) -> Undo:
    kind = side.basic_message.Message
    return put(kind, "delivery_info", property(lambda _self: "mine", lambda _self, _value: None))


CHANGES: dict[str, tuple[str, Callable[[Side], Undo], Callable[[Side], Any]]] = {
    "pika __init__": ("pika", pika_init, pika_read),
    "pika __init__'s code": ("pika", pika_init_code, pika_read),
    "pika a frame's base __init__": ("pika", pika_frame_init, pika_read),
    "pika a property": ("pika", pika_property, pika_write),
    "pika a property, read": ("pika", pika_property, pika_read),
    "pika data.decode_short_string": ("pika", pika_data_read, pika_read),
    "pika data.encode_short_string": ("pika", pika_data_write, pika_write),
    "pika encode": ("pika", pika_encode, pika_write),
    "pika __setattr__ of a base": ("pika", pika_setattr, pika_read),
    "pika other bases": ("pika", pika_base, pika_write),
    "pika the registry": ("pika", pika_registry, pika_read),
    "pika a frame's class": ("pika", pika_frame_class, pika_read),
    "pamqp __init__": ("pamqp", pamqp_init, pamqp_read),
    "pamqp a slot": ("pamqp", pamqp_slot, pamqp_write),
    "pamqp validate": ("pamqp", pamqp_validate, pamqp_write),
    "pamqp validate's code": ("pamqp", pamqp_validate_code, pamqp_write),
    "pamqp marshal of a base": ("pamqp", pamqp_base_marshal, pamqp_write),
    "pamqp decode.by_type": ("pamqp", pamqp_by_type_read, pamqp_read),
    "pamqp encode.by_type's code": ("pamqp", pamqp_by_type_code, pamqp_write),
    "pamqp encode.encode_table_value": ("pamqp", pamqp_table, pamqp_write),
    "pamqp a frame's class": ("pamqp", pamqp_header_base, pamqp_read),
    "py-amqp __init__": ("amqp", amqp_init, amqp_read),
    "py-amqp __init__'s defaults": ("amqp", amqp_init_defaults, amqp_read),
    "py-amqp inbound_body of a base": ("amqp", amqp_inbound, amqp_read),
    "py-amqp inbound_body's code": ("amqp", amqp_inbound_code, amqp_read),
    "py-amqp _serialize_properties": ("amqp", amqp_serialize, amqp_write),
    "py-amqp PROPERTIES": ("amqp", amqp_properties, amqp_write),
    "py-amqp _read_item": ("amqp", amqp_read_item, amqp_read),
    "py-amqp _write_item": ("amqp", amqp_write_item, amqp_write),
    "py-amqp a Message of the user's": ("amqp", amqp_message, amqp_read),
    "py-amqp a slot": ("amqp", amqp_slot, amqp_read),
}

CLASSES = {
    "pika": lambda side: (side.spec.BasicProperties, side.spec.Basic.Deliver, side.frame.Header),
    "pamqp": lambda side: (side.commands.Basic.Properties, side.commands.Basic.Publish),
    "amqp": lambda side: (side.basic_message.Message,),
}


@contextmanager
def compared_at_every_call(enabled: bool) -> Iterator[None]:
    before = _dropins.compare_at_every_call(enabled)
    try:
        yield
    finally:
        _dropins.compare_at_every_call(before)


def work(side: Side, ask: Callable[[Side], Any]) -> None:
    """Let the drop-in do what it does, with changes that mean nothing in between."""
    for _ in range(2):
        for cls in CLASSES[side.package](side):
            for number in range(MANY // 2):
                cls.nothing = number
                if number % 500 == 0:
                    ask(side)
            del cls.nothing
        ask(side)


def stock_outcomes(
    package: str, change: Callable[[Side], Undo], ask: Callable[[Side], Any]
) -> tuple[Any, Any]:
    """What a stock client gives, and what it gives with a change, which is another thing."""
    plain = stock(package)
    usual = outcome(lambda: ask(plain))
    undo = change(plain)
    want = outcome(lambda: ask(plain))
    undo()
    assert want != usual
    return usual, want


@pytest.mark.parametrize("plainly", [False, True], ids=["called back", "compared"])
@pytest.mark.parametrize("name", CHANGES)
def test_a_later_change(name: str, plainly: bool) -> None:
    package, change, ask = CHANGES[name]
    need(package)
    usual, want = stock_outcomes(package, change, ask)
    with compared_at_every_call(plainly):
        module, side = dropin(package), live(package)
        module.install()
        try:
            work(side, ask)
            assert outcome(lambda: ask(side)) == usual
            undo = change(side)
            try:
                got = outcome(lambda: ask(side))
            finally:
                undo()
            assert got == want, f"\nstock   {shown(want)}\ndrop-in {shown(got)}"
            assert outcome(lambda: ask(side)) == usual
        finally:
            module.uninstall()
            if name.endswith("bases"):
                undo()


def test_what_is_undone_is_fast_again() -> None:
    """A patch that is taken back leaves nothing to the client's own code."""
    need("pika")
    module, side = dropin("pika"), live("pika")
    module.install()
    try:
        undo = pika_init(side)
        pika_read(side)
        undo()
        before = module.fallbacks()
        pika_read(side)
        assert module.fallbacks() == before
    finally:
        module.uninstall()


@pytest.mark.parametrize("plainly", [False, True], ids=["called back", "compared"])
def test_names_that_are_other_objects_change_nothing(plainly: bool) -> None:
    """Each entry of the client's modules, and of its tables, under a key that is equal, and where
    another one stood."""
    need("pika")
    module, side = dropin("pika"), live("pika")
    with compared_at_every_call(plainly):
        module.install()
        try:
            want = outcome(lambda: pika_read(side))
            for entries in (vars(side.frame), vars(side.data), vars(side.spec)):
                for name in list(entries):
                    value = entries.pop(name)
                    entries["".join(name)] = value
            for numbered in (side.spec.methods, side.spec.props):
                for number in list(numbered):
                    numbered[int(str(number))] = numbered.pop(number)
            before = module.fallbacks()
            for _ in range(2):
                assert outcome(lambda: pika_read(side)) == want
            if plainly:
                assert module.fallbacks() == before
        finally:
            module.uninstall()
