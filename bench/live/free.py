"""A codec that costs nothing, for the one message of this measurement: how much there is to gain.

The first message goes through the stock codec; from then on the same bytes, and the same objects,
are handed out again. No client could work like that, but one that only publishes or receives this
very message does. Acknowledgements and confirms, which differ in their numbers, are made beforehand
and looked up. The cost is what an infinitely fast codec would leave.
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
    from amqp import abstract_channel, basic_message, connection, method_framing, serialization

    publish, deliver, acknowledge = "Bssbb", "sLbss", "Lb"
    payloads = {ack: ack_frame(*ack)[7:-1] for ack in acks()}
    frames = {payload[4:]: ack_frame(*ack) for ack, payload in payloads.items()}

    def dumps_key(form: str, values: Any) -> Any:
        if form == acknowledge:
            return (values[0], bool(values[1]))
        return form if form == publish else None

    def loads_key(form: str, data: Any, *_rest: Any) -> Any:
        if form == acknowledge:
            return bytes(data)
        return form if form == deliver else None

    dumps = remembered(
        serialization.dumps, dumps_key, {ack: payload[4:] for ack, payload in payloads.items()}
    )
    known_loads = remembered(
        serialization.loads,
        loads_key,
        {payload: serialization.loads(acknowledge, payload, 4) for payload in payloads.values()},
    )

    def loads(*arguments: Any) -> Any:
        values, offset = known_loads(*arguments)
        values = list(values)  # the client appends to it
        form, data, *_rest = arguments
        if form == deliver:
            place = 5 + data[4]  # behind the consumer tag
            values[1] = int.from_bytes(data[place : place + 8], "big")
        return values, offset

    stack.enter_context(mock.patch.object(abstract_channel, "dumps", dumps))
    stack.enter_context(mock.patch.object(abstract_channel, "loads", loads))
    stock_writer, stock_handler = method_framing.frame_writer, method_framing.frame_handler

    def frame_writer(own: Any, transport: Any) -> Any:
        write, cache = stock_writer(own, transport), []

        def call(kind: int, channel: int, sig: Any, args: Any, content: Any) -> None:
            if content is None:
                raw = frames.get(args) if channel == 1 and sig == (60, 80) else None
                if raw is None:
                    write(kind, channel, sig, args, content)
                else:
                    transport.write(raw)
            elif cache:
                transport.write(cache[0])
            else:
                with mock.patch.object(transport, "write", lambda data: cache.append(bytes(data))):
                    stock_writer(own, transport)(kind, channel, sig, args, content)
                transport.write(cache[0])

        return call

    def frame_handler(own: Any, callback: Any) -> Any:
        handle, cache = stock_handler(own, remember), []
        last = b""

        def call(frame: Any) -> Any:
            nonlocal last
            kind = frame[0]
            if kind == 1 and frame[2][:4] == DELIVER:
                last = frame[2]
            elif kind == 1:
                sig = int.from_bytes(frame[2][:2], "big"), int.from_bytes(frame[2][2:4], "big")
                callback(frame[1], sig, frame[2], None)
                return True
            if not cache:
                events.clear()
                handle(frame)
                if not events:
                    return False
                cache.append(events[0])
            elif kind != 3:
                return False
            channel, sig, _args, first = cache[0]
            message = basic_message.Message(first.body)
            message.properties = first.properties
            callback(channel, sig, last, message)
            return True

        return call

    events: list[Any] = []

    def remember(*arguments: Any) -> None:
        events.append(arguments)

    kind = connection.Connection
    defaults = tuple(
        {stock_handler: frame_handler, stock_writer: frame_writer}.get(value, value)
        if callable(value)
        else value
        for value in kind.__init__.__defaults__ or ()
    )
    stack.callback(setattr, kind.__init__, "__defaults__", kind.__init__.__defaults__)
    kind.__init__.__defaults__ = defaults  # type: ignore[misc]


CODECS = {"pika": _pika, "pamqp": _pamqp, "amqp": _amqp}


@contextmanager
def free(dropin: str) -> Iterator[None]:
    """The stock client with a codec that costs nothing."""
    with ExitStack() as stack:
        CODECS[dropin](stack)
        yield
