"""A codec that costs nothing, for the one message of this measurement: how much there is to gain.

The first message goes through the stock codec; from then on the same bytes, and the same objects,
are handed out again. No client could work like that, but one that only publishes or receives this
very message does. Acknowledgements and confirms, which differ in their numbers, are made beforehand
and looked up. The cost is what an infinitely fast codec would leave.

Celery's tasks differ in their ids: the client makes each task with its own, and the bytes of the
first one are sent; a worker gets the headers of the first one with each task. py-amqp reads frames
off its socket as well: here that is one read a frame, without looking into a header or a body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from copy import copy
from itertools import product
from typing import Any
from unittest import mock

#: Numbers of messages whose acknowledgements are made beforehand.
NUMBERS = range(1, 8192)
#: basic.ack in its frame on channel 1: at 7 its class and method.
ACK = b"\x00\x3c\x00\x50"
DELIVER = b"\x00\x3c\x00\x3c"
DELIVER_IDS = (60, 60)
ACK_BYTES = 21


def ack_frame(number: int, multiple: bool) -> bytes:
    """basic.ack on channel 1."""
    payload = ACK + number.to_bytes(8, "big") + bytes([multiple])
    return b"\x01\x00\x01" + len(payload).to_bytes(4, "big") + payload + b"\xce"


def acks() -> Iterator[tuple[int, bool]]:
    """Number and multiple of each that is made beforehand."""
    return product(NUMBERS, (False, True))


def remembered(function: Any, key: Callable[..., Any], known: dict[Any, Any] | None = None) -> Any:
    """Call the function once for each key that is not None and not known, and always for None."""
    cache: dict[Any, Any] = dict(known or {})

    def call(*arguments: Any) -> Any:
        name = key(*arguments)
        if name is None:
            return function(*arguments)
        result = cache.get(name)
        if result is None:
            result = cache[name] = function(*arguments)
        return result

    return call


def reader(function: Any, nothing: Any, numbered: Callable[[Any, int], Any]) -> Any:
    """A reader of frames that knows deliver, header and body by heart, with their lengths.

    numbered: a deliver as the function gives it, with another delivery tag.
    """
    cache: dict[int, Any] = {}
    delivered: dict[bytes, Any] = {}
    raw_acks = [ack_frame(*ack) for ack in acks()]
    known_acks = {raw: function(raw) for raw in raw_acks}

    def call(data: bytes) -> Any:
        kind = data[0] if data else 0
        if kind == 1 and data[7:11] == ACK:
            known = known_acks.get(bytes(data[:ACK_BYTES]))
            if known is not None:
                return known
        cached_result = cache.get(kind)
        if cached_result is not None and (kind != 1 or data[7:11] == DELIVER):
            if len(data) < cached_result[0]:
                return nothing(data)
            if kind != 1:
                return cached_result
            place = 12 + data[11]  # behind the consumer tag
            return delivered.get(bytes(data[place : place + 8])) or function(data)
        result = function(data)
        if result[0] and (kind in (2, 3) or data[7:11] == DELIVER):
            cache[kind] = result
            if kind == 1:
                delivered.update((n.to_bytes(8, "big"), numbered(result, n)) for n in NUMBERS)
        return result

    return call


def _pika(stack: ExitStack) -> None:
    from pika import frame, spec

    def method_key(self: Any) -> Any:
        method = self.method
        kind = type(method)
        if kind is spec.Basic.Ack:
            return method.delivery_tag, method.multiple, self.channel_number
        return 1 if kind is spec.Basic.Publish else None

    known = {(*ack, 1): frame.Method(1, spec.Basic.Ack(*ack)).marshal() for ack in acks()}
    for kind, key, made in (
        (frame.Method, method_key, known),
        (frame.Header, lambda _: 2, None),
        (frame.Body, id_of, None),
    ):
        own = remembered(kind.marshal, key, made)
        # a function, so that it binds
        stack.enter_context(
            mock.patch.object(kind, "marshal", lambda self, own=own: own(self)),
        )

    def numbered(result: Any, number: int) -> Any:
        own = copy(result[1])
        own.method = copy(own.method)
        own.method.delivery_tag = number
        return result[0], own

    own = reader(frame.decode_frame, lambda _data: (0, None), numbered)
    stack.enter_context(mock.patch.object(frame, "decode_frame", own))


def id_of(_frame: Any) -> int:
    """All bodies are the same one."""
    return 3


def _pamqp(stack: ExitStack) -> None:
    from pamqp import body, commands, frame, header

    kinds = {commands.Basic.Publish, header.ContentHeader, body.ContentBody}

    def key(value: Any, channel: int) -> Any:
        kind = type(value)
        if kind is commands.Basic.Ack:
            return value.delivery_tag, value.multiple, channel
        return kind if kind in kinds else None

    known = {(*ack, 1): frame.marshal(commands.Basic.Ack(*ack), 1) for ack in acks()}
    stack.enter_context(mock.patch.object(frame, "marshal", remembered(frame.marshal, key, known)))

    def numbered(result: Any, number: int) -> Any:
        own = copy(result[2])
        own.delivery_tag = number
        return *result[:2], own

    own = reader(frame.unmarshal, frame.unmarshal, numbered)
    stack.enter_context(mock.patch.object(frame, "unmarshal", own))


def _amqp(stack: ExitStack) -> None:
    from amqp import abstract_channel, connection, method_framing, transport

    payloads = {ack_frame(*ack)[7:-1]: ack for ack in acks()}
    acknowledge = {ack: payload[4:] for payload, ack in payloads.items()}
    written = {payload[4:]: ack_frame(*ack) for payload, ack in payloads.items()}
    stock_dumps, stock_loads = abstract_channel.dumps, abstract_channel.loads
    published: dict[str, bytes] = {}
    delivered: list[Any] = []

    def dumps(form: str, values: Any) -> Any:
        if form == "Lb":
            return acknowledge.get(values) or stock_dumps(form, values)
        if form != "Bssbb":
            return stock_dumps(form, values)
        return published.get(form) or published.setdefault(form, stock_dumps(form, values))

    def loads(form: str, data: bytes, offset: int) -> Any:
        # Lists are new: the client appends to them.
        if form == "Lb" and (ack := payloads.get(data)):
            return list(ack), len(data)
        if form != "sLbss":
            return stock_loads(form, data, offset)
        if not delivered:
            delivered.extend(stock_loads(form, data, offset)[0])
        place = 5 + data[4]  # behind the consumer tag
        tag = int.from_bytes(data[place : place + 8], "big")
        return [delivered[0], tag, *delivered[2:]], len(data)

    stack.enter_context(mock.patch.object(abstract_channel, "dumps", dumps))
    stack.enter_context(mock.patch.object(abstract_channel, "loads", loads))
    base = transport._AbstractTransport
    stack.enter_context(mock.patch.object(base, "read_frame", _amqp_reader(base.read_frame)))
    stock_writer, stock_handler = method_framing.frame_writer, method_framing.frame_handler

    def frame_writer(own: Any, transport: Any) -> Any:
        write_stock, write = stock_writer(own, transport), transport.write
        whole = b""

        def call(kind: int, channel: int, sig: Any, args: Any, content: Any) -> None:
            nonlocal whole
            if content is None:
                raw = written.get(args) if sig == (60, 80) and channel == 1 else None
                if raw is None:
                    write_stock(kind, channel, sig, args, content)
                else:
                    write(raw)
                return
            if not whole:
                pieces: list[bytes] = []
                with mock.patch.object(transport, "write", lambda data: pieces.append(bytes(data))):
                    stock_writer(own, transport)(kind, channel, sig, args, content)
                whole = b"".join(pieces)
            write(whole)

        return call

    defaults = {stock_handler: _amqp_handler(stock_handler), stock_writer: frame_writer}
    init = connection.Connection.__init__
    stack.callback(setattr, init, "__defaults__", init.__defaults__)
    init.__defaults__ = tuple(
        defaults.get(value, value) if callable(value) else value
        for value in init.__defaults__ or ()
    )


def _amqp_reader(stock: Any) -> Any:
    """read_frame with one read of the socket a frame, which is the fewest: the client waits
    for its socket before each frame. A read gives a frame and the head of the next one."""
    heads: dict[bytes, tuple[int, int, int]] = {}
    known: dict[tuple[bytes, int], Any] = {}

    def read_frame(self: Any) -> Any:
        head = self._read_buffer
        receive = self._quick_recv
        if not head:
            try:
                head = receive(7)
            except BlockingIOError:
                if self.raise_on_initial_eintr:
                    raise TimeoutError from None
                raise
        if len(head) != 7:
            self._read_buffer = head
            return stock(self)
        place = heads.get(head)
        if place is None:
            size = int.from_bytes(head[3:], "big")
            place = heads[head] = head[0], head[1] << 8 | head[2], size
        kind, channel, size = place
        try:
            data = receive(size + 8)
        except OSError:
            data = b""
        if len(data) <= size:
            self._read_buffer = head + data
            return stock(self)
        self._read_buffer = data[size + 1 :]
        if kind == 1:
            return kind, channel, data[:size]
        # All headers and bodies of one size are the same one.
        frame = known.get((head, size))
        if frame is None:
            frame = known[head, size] = kind, channel, data[:size]
        return frame

    return read_frame


def _amqp_handler(stock: Any) -> Any:
    """frame_handler that has messages with the first one's properties and body made beforehand."""

    def frame_handler(own: Any, callback: Any) -> Any:
        made: list[Any] = []
        signatures: dict[bytes, tuple[int, int]] = {}
        method = b""

        def prepare(*event: Any) -> None:
            made.extend(copy(event[3]) for _ in NUMBERS)

        handle = stock(own, prepare)

        def call(frame: Any) -> bool:
            nonlocal method
            kind, channel, payload = frame
            if kind == 1:
                name = payload[:4]
                if name == DELIVER:
                    method = payload
                    if not made:
                        handle(frame)
                    return False
                sig = signatures.get(name)
                if sig is None:
                    ids = int.from_bytes(name[:2], "big"), int.from_bytes(name[2:], "big")
                    sig = signatures[name] = ids
                callback(channel, sig, payload, None)
                return True
            if not made:
                handle(frame)
            if kind != 3 or not made:
                return False
            callback(channel, DELIVER_IDS, method, made.pop())
            return True

        return call

    return frame_handler


CODECS = {"pika": _pika, "pamqp": _pamqp, "amqp": _amqp}


@contextmanager
def free(dropin: str) -> Iterator[None]:
    """The stock client with a codec that costs nothing."""
    with ExitStack() as stack:
        CODECS[dropin](stack)
        yield
