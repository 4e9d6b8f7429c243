"""Classes that a user subclassed, patched or put in the place of the client's still do their part.

Each scenario changes one copy of the client and asks it something; the stock copy says what the
answer has to be. The change is made after the installation, and in a second run before it.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from random import Random
from typing import Any
from unittest import mock

import pytest

from tests.dropins.canon import outcome, shown
from tests.dropins.conftest import need
from tests.dropins.stock import Side, dropin, live, stock
from tests.reference import Header, Method, encode_frame
from tests.support import client_bytes as octets

Change = Callable[[Side], AbstractContextManager[Any]]
Ask = Callable[[Side, Any], Any]

DELIVER = encode_frame(
    1,
    Method(
        "basic.deliver",
        {
            "consumer-tag": b"ctag",
            "delivery-tag": 7,
            "redelivered": 1,
            "exchange": b"e",
            "routing-key": b"k",
        },
    ),
)
HEADER = encode_frame(
    1, Header(5, {"content-type": b"text/plain", "headers": [(b"n", ("I", 5))]}, weight=0)
)
METHOD_PAYLOAD, HEADER_PAYLOAD = DELIVER[7:-1], HEADER[7:-1]


def unchanged(_side: Side) -> AbstractContextManager[Any]:
    return nullcontext()


def patch(path: str, name: str, **options: Any) -> Change:
    """mock.patch.object of something that the dotted path names in a copy."""

    def change(side: Side) -> AbstractContextManager[Any]:
        target: Any = side
        for part in path.split("."):
            target = getattr(target, part)
        return mock.patch.object(target, name, **options)

    return change


# --- pamqp


def pamqp_publish(side: Side, _patch: Any) -> Any:
    publish = side.commands.Basic.Publish(exchange="e", routing_key="k", mandatory=True)
    return side.frame.marshal(publish, 1)


def pamqp_header(side: Side, _patch: Any) -> Any:
    properties = side.commands.Basic.Properties(content_type="x", headers={"n": 5})
    return side.frame.marshal(side.header.ContentHeader(0, 5, properties), 1)


def pamqp_deliver(side: Side, patch: Any) -> Any:
    count = getattr(patch, "call_count", None)
    result = side.frame.unmarshal(DELIVER), side.frame.unmarshal(HEADER)
    return result, (None if count is None else patch.call_count - count)


@contextmanager
def pamqp_replaced(side: Side) -> Iterator[Any]:
    """A class of the user in the index of classes."""

    class Deliver(side.commands.Basic.Deliver):  # type: ignore[name-defined, misc]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.own = "set by the user's __init__"

    with mock.patch.dict(side.commands.INDEX_MAPPING, {Deliver.index: Deliver}):
        yield None


def pamqp_subclass(side: Side, _patch: Any) -> Any:
    class Publish(side.commands.Basic.Publish):  # type: ignore[name-defined, misc]
        @property
        def routing_key(self) -> str:
            return "from a property"

        @routing_key.setter
        def routing_key(self, value: str) -> None:
            pass

    class Marshalled(side.commands.Basic.Publish):  # type: ignore[name-defined, misc]
        def marshal(self) -> bytes:
            return b"mine"

    class Loose(side.commands.Basic.Publish):  # type: ignore[name-defined, misc]
        def validate(self) -> None:
            pass

    class Properties(side.commands.Basic.Properties):  # type: ignore[name-defined, misc]
        def encode_property(self, name: str, value: Any) -> Any:
            return super().encode_property(name, "X" if name == "content_type" else value)

    class Body(side.body.ContentBody):  # type: ignore[name-defined, misc]
        def marshal(self) -> bytes:
            return b"other"

    class ContentHeader(side.header.ContentHeader):  # type: ignore[name-defined, misc]
        def marshal(self) -> bytes:
            return b"header"

    header = side.header.ContentHeader(0, 5, Properties(content_type="x", app_id="a"))
    frames = [
        Publish(exchange="e"),
        Marshalled(),
        Loose(ticket=5, exchange="$" * 200),
        header,
        Body(b"x"),
        ContentHeader(),
    ]
    return [side.frame.marshal(frame, 1) for frame in frames]


# --- pika


def pika_publish(side: Side, _patch: Any) -> Any:
    publish = side.spec.Basic.Publish(exchange="e", routing_key="k", mandatory=True)
    return side.frame.Method(1, publish).marshal()


def pika_header(side: Side, _patch: Any) -> Any:
    properties = side.spec.BasicProperties(content_type="x", headers={"n": 5})
    return side.frame.Header(1, 5, properties).marshal()


def pika_deliver(side: Side, patch: Any) -> Any:
    count = getattr(patch, "call_count", None)
    result = side.frame.decode_frame(DELIVER), side.frame.decode_frame(HEADER)
    return result, (None if count is None else patch.call_count - count)


@contextmanager
def pika_replaced(side: Side) -> Iterator[Any]:
    """Classes of the user in the tables of classes."""

    class Deliver(side.spec.Basic.Deliver):  # type: ignore[name-defined, misc]
        def decode(self, encoded: bytes, offset: int = 0) -> Any:
            super().decode(encoded, offset)
            self.exchange = self.exchange.upper()
            return self

    class Properties(side.spec.BasicProperties):  # type: ignore[name-defined, misc]
        pass

    with (
        mock.patch.dict(side.spec.methods, {Deliver.INDEX: Deliver}),
        mock.patch.dict(side.spec.props, {60: Properties}),
    ):
        yield None


@contextmanager
def pika_counting(side: Side) -> Iterator[Any]:
    """A __setattr__ of the user's on the client's class."""
    names: list[str] = []

    def setattr_(self: Any, name: str, value: Any) -> None:
        names.append(name)
        object.__setattr__(self, name, value)

    kind = side.spec.Basic.Deliver
    kind.__setattr__ = setattr_
    try:
        yield names
    finally:
        del kind.__setattr__


def pika_counted(side: Side, names: Any) -> Any:
    names.clear()
    return side.frame.decode_frame(DELIVER), list(names)


def pika_subclass(side: Side, _patch: Any) -> Any:
    class Publish(side.spec.Basic.Publish):  # type: ignore[name-defined, misc]
        def encode(self) -> list[bytes]:
            return [b"mine"]

    class Keyed(side.spec.Basic.Publish):  # type: ignore[name-defined, misc]
        @property
        def routing_key(self) -> str:
            return "from a property"

        @routing_key.setter
        def routing_key(self, value: str) -> None:
            pass

    class Properties(side.spec.BasicProperties):  # type: ignore[name-defined, misc]
        def encode(self) -> list[bytes]:
            return [b"\x00\x00", *super().encode()]

    class Frame(side.frame.Method):  # type: ignore[name-defined, misc]
        def _marshal(self, pieces: list[bytes]) -> bytes:
            return b"|".join(pieces)

    class Wrapped(side.frame.Header):  # type: ignore[name-defined, misc]
        def marshal(self) -> bytes:
            return b"<" + super().marshal() + b">"

    frames = [
        side.frame.Method(1, Publish()),
        side.frame.Method(1, Keyed(exchange="e")),
        side.frame.Header(1, 5, Properties(content_type="x")),
        Frame(1, side.spec.Basic.Ack(5)),
        Wrapped(1, 5, side.spec.BasicProperties()),
    ]
    return [frame.marshal() for frame in frames]


def pika_send(side: Side, patch: Any) -> Any:
    """A message of two pieces, sent by a connection without a socket."""
    kind = side.connection.Connection
    own = type("Own", (kind,), dict.fromkeys(kind.__abstractmethods__, lambda *_: None))
    connection = own.__new__(own)
    connection.frames_sent = connection.bytes_sent = 0
    connection._body_max_length = 4
    written: list[Any] = []
    connection._adapter_emit_data = written.append
    count = getattr(patch, "call_count", 0)
    publish = side.spec.Basic.Publish(exchange="e", routing_key="k")
    content = side.spec.BasicProperties(content_type="x"), b"hello"
    connection._send_method(1, publish, content)
    count = getattr(patch, "call_count", 0) - count
    return written, connection.frames_sent, connection.bytes_sent, count


@contextmanager
def pika_frames(side: Side) -> Iterator[Any]:
    """A class of the user's for the frames of bodies."""

    class Body(side.frame.Body):  # type: ignore[name-defined, misc]
        def marshal(self) -> bytes:
            return bytes(super().marshal().upper())

    with mock.patch.object(side.frame, "Body", Body):
        yield None


# --- py-amqp


class Connection:
    frame_max = 131072
    bytes_recv = 0
    bytes_sent = 0


def py_amqp_receive(side: Side, patch: Any) -> Any:
    events: list[Any] = []
    count = getattr(patch, "call_count", 0)
    handler = side.method_framing.frame_handler(
        Connection(), lambda *arguments: events.append(arguments)
    )
    for frame in ((1, 1, METHOD_PAYLOAD), (2, 1, HEADER_PAYLOAD), (3, 1, b"hello")):
        handler(frame)
    [(channel, sig, args, message)] = events
    body = getattr(message, "body", None)
    shown = message.properties if not isinstance(message, mock.Mock) else "mock"
    count = getattr(patch, "call_count", 0) - count
    return channel, sig, args, type(message).__name__, shown, body, count


def py_amqp_send(side: Side, patch: Any) -> Any:
    written: list[bytes] = []
    transport = mock.Mock()
    transport.write = lambda data: written.append(bytes(data))
    writer = side.method_framing.frame_writer(Connection(), transport)
    message = side.basic_message.Message("body", content_type="x", application_headers={"n": 5})
    writer(1, 1, (60, 40), side.serialization.dumps("Bssbb", [0, "e", "k", True, False]), message)
    return b"".join(written)


def py_amqp_subclass(side: Side, _patch: Any) -> Any:
    class Message(side.basic_message.Message):  # type: ignore[name-defined, misc]
        PROPERTIES = (("content_type", "s"), ("number", "L"))

    class Serialized(side.basic_message.Message):  # type: ignore[name-defined, misc]
        def _serialize_properties(self) -> bytes:
            return b"\x00\x00"

    class Loading(side.basic_message.Message):  # type: ignore[name-defined, misc]
        def _load_properties(self, class_id: int, buf: bytes, offset: int) -> int:
            return int(super()._load_properties(class_id, buf, offset)) + 1000

    written: list[bytes] = []
    transport = mock.Mock()
    transport.write = lambda data: written.append(bytes(data))
    writer = side.method_framing.frame_writer(Connection(), transport)
    for kind, more in ((Message, {"number": 5}), (Serialized, {})):
        writer(1, 1, (60, 40), b"args", kind("body", content_type="x", **more))
    loading = Loading()
    return b"".join(written), loading.inbound_header(HEADER_PAYLOAD), loading.properties


class Counts:
    """A connection whose count is the user's own affair."""

    frame_max = 131072
    bytes_sent = 0
    doubled_count = 0

    @property
    def bytes_recv(self) -> int:
        return self.doubled_count

    @bytes_recv.setter
    def bytes_recv(self, value: int) -> None:
        self.doubled_count = value * 2


class Watches(Connection):
    """A connection that watches its attributes."""

    def __init__(self) -> None:
        self.bytes_recv = 3

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value + 100)

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        return value + 1 if name == "bytes_recv" else value


def py_amqp_connections(side: Side, _patch: Any) -> Any:
    counts = []
    for connection in (Counts(), Watches(), Connection(), mock.Mock(bytes_recv=1.5)):
        handler = side.method_framing.frame_handler(connection, lambda *_: None)
        for frame in (
            (1, 1, METHOD_PAYLOAD),
            (2, 1, HEADER_PAYLOAD),
            (8, 0, b""),
            (3, 1, b"hello"),
        ):
            handler(frame)
        counts.append(connection.bytes_recv)
    return counts


def py_amqp_transports(side: Side, patch: Any) -> Any:
    """Frames of transports that a user changed in one way or another."""
    tcp = side.transport.TCPTransport
    events: list[Any] = []

    def plain(self: Any, host: str = "") -> None:
        self._read_buffer = b""
        self._quick_recv = io.BytesIO(DELIVER + HEADER).read
        self.raise_on_initial_eintr = self.connected = True
        self.sock = None

    def read(self: Any, n: int, initial: bool = False) -> bytes:
        events.append((n, initial))
        return bytes(tcp._read(self, n, initial))

    class Own(tcp):  # type: ignore[misc, valid-type]
        __init__ = plain
        _read = read

    class Buffered(tcp):  # type: ignore[misc, valid-type]
        __init__ = plain
        _read_buffer = property(
            lambda self: self.kept, lambda self, value: setattr(self, "kept", value)
        )

    class Watched(tcp):  # type: ignore[misc, valid-type]
        __init__ = plain

        def __getattribute__(self, name: str) -> Any:
            events.append(name)
            return super().__getattribute__(name)

    class Plain(tcp):  # type: ignore[misc, valid-type]
        __init__ = plain

    class Received(Plain):
        def _quick_recv(self, n: int) -> bytes:
            return bytearray(DELIVER)[:n]  # type: ignore[return-value]

    changed = Plain()
    changed._read = lambda n, initial=False: events.append(n) or b"\1\0\1\0\0\0\xce"[-n:]
    without = Plain()
    del without._quick_recv
    odd = Plain()
    odd._read_buffer = bytearray()
    for one in (Own(), Buffered(), Watched(), Received(), changed, without, odd, Plain()):
        events.append(type(one).__name__)
        for _ in range(2):
            try:
                events.append(one.read_frame())
            except Exception as error:
                events.append(type(error).__name__)
        events.append(one._read_buffer)
    return events, getattr(patch, "call_count", 0)


def py_amqp_names(side: Side, patch: Any) -> Any:
    """Properties under names that are equal to those of the list, but not the same, and others."""
    message = side.basic_message.Message("body", **{"".join(["content", "_type"]): "x", "mine": 5})
    message.properties["".join(["pri", "ority"])] = 5
    message.properties["message_id"] = None
    message.properties[type("Name", (str,), {})("app_id")] = "mine"
    return message._serialize_properties(), py_amqp_send(side, patch)


def py_amqp_properties(side: Side, patch: Any) -> Any:
    """Another list of properties for all messages, later on."""
    mine = [("priority", "o"), ("content_type", "s")]
    encodings = [py_amqp_names(side, patch)]
    with mock.patch.object(side.basic_message.Message, "PROPERTIES", mine):
        encodings.append(py_amqp_names(side, patch))
    return [*encodings, py_amqp_names(side, patch)]


@contextmanager
def py_amqp_replaced(side: Side) -> Iterator[Any]:
    """A reader of properties of the user's."""
    reader = mock.Mock(return_value=({"content_type": "mine"}, 99))
    with mock.patch.dict(side.serialization.PROPERTY_CLASSES, {60: reader}):
        yield reader


@contextmanager
def py_amqp_message(side: Side) -> Iterator[Any]:
    """A class of the user's for what is received."""

    class Mine(side.basic_message.Message):  # type: ignore[name-defined, misc]
        def inbound_body(self, buf: bytes) -> None:
            super().inbound_body(buf.upper())

    with mock.patch.object(side.method_framing, "Message", Mine):
        yield None


SCENARIOS: dict[str, tuple[str, Change, Ask]] = {
    "pamqp subclasses": ("pamqp", unchanged, pamqp_subclass),
    "pamqp a class of the user's": ("pamqp", pamqp_replaced, pamqp_deliver),
    "pamqp patched marshal of a method": (
        "pamqp",
        patch("commands.Basic.Publish", "marshal", return_value=b"mine", create=True),
        pamqp_publish,
    ),
    "pamqp patched Frame.marshal": (
        "pamqp",
        patch("base.Frame", "marshal", return_value=b"mine"),
        pamqp_publish,
    ),
    "pamqp patched validate": (
        "pamqp",
        patch("commands.Basic.Publish", "validate", side_effect=KeyError("mine")),
        pamqp_publish,
    ),
    "pamqp patched unmarshal": (
        "pamqp",
        patch("commands.Basic.Deliver", "unmarshal", create=True),
        pamqp_deliver,
    ),
    "pamqp patched Properties.marshal": (
        "pamqp",
        patch("base.BasicProperties", "marshal", return_value=b"mine"),
        pamqp_header,
    ),
    "pamqp patched ContentHeader.marshal": (
        "pamqp",
        patch("header.ContentHeader", "marshal", return_value=b"mine"),
        pamqp_header,
    ),
    "pamqp patched ContentHeader.unmarshal": (
        "pamqp",
        patch("header.ContentHeader", "unmarshal"),
        pamqp_deliver,
    ),
    "pamqp patched __init__": (
        "pamqp",
        patch("commands.Basic.Deliver", "__init__", side_effect=ValueError("mine")),
        pamqp_deliver,
    ),
    "pika subclasses": ("pika", unchanged, pika_subclass),
    "pika classes of the user's": ("pika", pika_replaced, pika_deliver),
    "pika __setattr__": ("pika", pika_counting, pika_counted),
    "pika patched encode": (
        "pika",
        patch("spec.Basic.Publish", "encode", side_effect=lambda: [b"mine"]),
        pika_publish,
    ),
    "pika patched properties' encode": (
        "pika",
        patch("spec.BasicProperties", "encode", side_effect=lambda: [b"mine"]),
        pika_header,
    ),
    "pika patched decode": ("pika", patch("spec.Basic.Deliver", "decode"), pika_deliver),
    "pika patched properties' decode": (
        "pika",
        patch("spec.BasicProperties", "decode"),
        pika_deliver,
    ),
    "pika patched Method.marshal": (
        "pika",
        patch("frame.Method", "marshal", return_value=b"mine"),
        pika_publish,
    ),
    "pika patched Frame._marshal": (
        "pika",
        patch("frame.Frame", "_marshal", return_value=b"mine"),
        pika_publish,
    ),
    "pika patched __init__": (
        "pika",
        patch("spec.Basic.Deliver", "__init__", side_effect=ValueError("mine")),
        pika_deliver,
    ),
    "pika patched frame class": (
        "pika",
        patch("frame", "Method", return_value="mine"),
        pika_deliver,
    ),
    "pika sends": ("pika", unchanged, pika_send),
    "pika sends with a class of the user's": ("pika", pika_frames, pika_send),
    "pika sends with patched Method": (
        "pika",
        patch("frame", "Method", **{"return_value.marshal.return_value": b"mine"}),
        pika_send,
    ),
    "pika sends with patched Header.marshal": (
        "pika",
        patch("frame.Header", "marshal", return_value=b"mine"),
        pika_send,
    ),
    "pika sends with patched Body.__init__": (
        "pika",
        patch("frame.Body", "__init__", side_effect=ValueError("mine")),
        pika_send,
    ),
    "pika sends with patched Frame._marshal": (
        "pika",
        patch("frame.Frame", "_marshal", return_value=b"mine"),
        pika_send,
    ),
    "pika sends with patched _output_marshaled_frames": (
        "pika",
        patch("connection.Connection", "_output_marshaled_frames"),
        pika_send,
    ),
    "py-amqp connections of the user's": ("amqp", unchanged, py_amqp_connections),
    "py-amqp transports of the user's": ("amqp", unchanged, py_amqp_transports),
    "py-amqp patched _read": (
        "amqp",
        patch("transport.TCPTransport", "_read", return_value=b"\1\0\1\0\0\0\0"),
        py_amqp_transports,
    ),
    "py-amqp names of properties": ("amqp", unchanged, py_amqp_names),
    "py-amqp properties of the user's": ("amqp", unchanged, py_amqp_properties),
    "py-amqp patched inbound_body": (
        "amqp",
        patch("serialization.GenericContent", "inbound_body", return_value=5),
        py_amqp_receive,
    ),
    "py-amqp subclasses": ("amqp", unchanged, py_amqp_subclass),
    "py-amqp a reader of the user's": ("amqp", py_amqp_replaced, py_amqp_receive),
    "py-amqp a Message of the user's": ("amqp", py_amqp_message, py_amqp_receive),
    "py-amqp patched _load_properties": (
        "amqp",
        patch("serialization.GenericContent", "_load_properties", return_value=5),
        py_amqp_receive,
    ),
    "py-amqp patched inbound_header": (
        "amqp",
        patch("serialization.GenericContent", "inbound_header", return_value=5),
        py_amqp_receive,
    ),
    "py-amqp patched _serialize_properties": (
        "amqp",
        patch("serialization.GenericContent", "_serialize_properties", return_value=b"mine"),
        py_amqp_send,
    ),
}


@pytest.mark.parametrize("late", [True, False], ids=["changed late", "changed early"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_users_changes(name: str, late: bool) -> None:
    package, change, ask = SCENARIOS[name]
    need(package)
    plain = stock(package)
    with change(plain) as patch:
        want = outcome(lambda: ask(plain, patch))
    module, side = dropin(package), live(package)
    try:
        if late:
            module.install()
        with change(side) as patch:
            if not late:
                module.install()
            got = outcome(lambda: ask(side, patch))
        assert got == want, f"\nstock   {shown(want)}\ndrop-in {shown(got)}"
        with change(side):
            pass
        # and it is as fast and as right as ever when the change is gone
        module.install()
        before = module.calls()
        good = octets.frame(Random(1))
        reader = {
            "pamqp": lambda one: one.frame.unmarshal(good),
            "pika": lambda one: one.frame.decode_frame(good),
            "amqp": lambda one: one.serialization.loads("Bss", struct.pack(">HBB", 5, 0, 0), 0),
        }[package]
        assert outcome(lambda: reader(side)) == outcome(lambda: reader(plain))
        assert module.calls() > before
    finally:
        module.uninstall()
