"""A codec that costs nothing, for the one message of this measurement: how much there is to gain.

The first message goes through the stock codec; from then on the same bytes, and the same objects,
are handed out again. No client could work like that, but one that only publishes or receives this
very message does. Its cost is what an infinitely fast codec would leave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock


def remembered(function: Any, key: Callable[..., Any]) -> Any:
    """Call the function once for each key that is not None, and always for None."""
    cache: dict[Any, Any] = {}

    def call(*arguments: Any) -> Any:
        name = key(*arguments)
        if name is None:
            return function(*arguments)
        result = cache.get(name)
        if result is None:
            result = cache[name] = function(*arguments)
        return result

    return call


def reader(function: Any, nothing: Any) -> Any:
    """A reader of frames that knows deliver, header and body by heart, with their lengths."""
    cache: dict[int, Any] = {}

    def call(data: bytes) -> Any:
        kind = data[0] if data else 0
        cached_result = cache.get(kind)
        if cached_result is not None and (kind != 1 or data[7:11] == b"\x00\x3c\x00\x3c"):
            return cached_result if len(data) >= cached_result[0] else nothing(data)
        result = function(data)
        if result[0] and (kind in (2, 3) or data[7:11] == b"\x00\x3c\x00\x3c"):
            cache[kind] = result
        return result

    return call


def _pika(stack: ExitStack) -> None:
    from pika import frame, spec

    def publish(self: Any) -> Any:
        return 1 if type(self.method) is spec.Basic.Publish else None

    for kind, key in ((frame.Method, publish), (frame.Header, lambda _: 2), (frame.Body, id_of)):
        own = remembered(kind.marshal, key)
        # a function, so that it binds
        stack.enter_context(
            mock.patch.object(kind, "marshal", lambda self, own=own: own(self)),
        )
    own = reader(frame.decode_frame, lambda _data: (0, None))
    stack.enter_context(mock.patch.object(frame, "decode_frame", own))


def id_of(_frame: Any) -> int:
    """All bodies are the same one."""
    return 3


def _pamqp(stack: ExitStack) -> None:
    from pamqp import body, commands, frame, header

    kinds = {commands.Basic.Publish, header.ContentHeader, body.ContentBody}

    def key(value: Any, _channel: int) -> Any:
        kind = type(value)
        return kind if kind in kinds else None

    stack.enter_context(mock.patch.object(frame, "marshal", remembered(frame.marshal, key)))
    own = reader(frame.unmarshal, frame.unmarshal)
    stack.enter_context(mock.patch.object(frame, "unmarshal", own))


def _amqp(stack: ExitStack) -> None:
    from amqp import abstract_channel, basic_message, connection, method_framing, serialization

    publish, deliver = "Bssbb", "sLbss"
    dumps = remembered(serialization.dumps, lambda form, _: form if form == publish else None)
    known_loads = remembered(
        serialization.loads, lambda form, *_: form if form == deliver else None
    )

    def loads(*arguments: Any) -> Any:
        values, offset = known_loads(*arguments)
        return list(values), offset  # the client appends to it

    stack.enter_context(mock.patch.object(abstract_channel, "dumps", dumps))
    stack.enter_context(mock.patch.object(abstract_channel, "loads", loads))
    stock_writer, stock_handler = method_framing.frame_writer, method_framing.frame_handler

    def frame_writer(own: Any, transport: Any) -> Any:
        write, cache = stock_writer(own, transport), []

        def call(kind: int, channel: int, sig: Any, args: Any, content: Any) -> None:
            if content is None:
                write(kind, channel, sig, args, content)
            elif cache:
                transport.write(cache[0])
            else:
                with mock.patch.object(transport, "write", lambda data: cache.append(bytes(data))):
                    stock_writer(own, transport)(kind, channel, sig, args, content)
                transport.write(cache[0])

        return call

    def frame_handler(own: Any, callback: Any) -> Any:
        handle, cache = stock_handler(own, remember), []

        def call(frame: Any) -> Any:
            kind = frame[0]
            if kind == 1 and frame[2][:4] != b"\x00\x3c\x00\x3c":
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
            channel, sig, args, first = cache[0]
            message = basic_message.Message(first.body)
            message.properties = first.properties
            callback(channel, sig, args, message)
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
