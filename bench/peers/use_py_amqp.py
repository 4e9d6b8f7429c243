"""py-amqp: its frame reader, content assembly and argument reader, without socket or channel."""

from collections import deque
from collections.abc import Callable, Iterator
from datetime import datetime
from io import BytesIO
from types import SimpleNamespace
from typing import Any

from amqp import spec
from amqp.basic_message import Message
from amqp.method_framing import frame_handler, frame_writer
from amqp.serialization import dumps, loads
from amqp.transport import TCPTransport

from bench import wire
from bench.work import Absent, Peer, Work, WrongResultError, check_events, check_octets
from bench.workloads import HEADER_ONLY_SIZE, Event, Workload

# signature and py-amqp's own format string of the arguments
METHODS = {
    "basic.ack": (spec.Basic.Ack, "Lb"),
    "basic.deliver": (spec.Basic.Deliver, "sLbss"),
    "basic.publish": (spec.Basic.Publish, "Bssbb"),
}
FORMATS = dict(METHODS.values())
NAMES = {signature: name for name, (signature, _) in METHODS.items()}
RENAMED = {"headers": "application_headers", "reserved": "cluster_id"}
OUR_NAMES = {theirs: ours for ours, theirs in RENAMED.items()}


class _Memory(TCPTransport):  # type: ignore[misc]  # py-amqp is untyped
    """py-amqp's transport as it is, over bytes in memory in the place of a socket."""

    def __init__(self, data: bytes) -> None:
        self._quick_recv = BytesIO(data).read
        self._read_buffer = b""
        self.raise_on_initial_eintr = True

    def __del__(self) -> None:
        """There is no socket to close."""


class PyAmqp(Peer):
    name = "py-amqp"
    distribution = "amqp"

    def decoded_value(self, value: Any, *, in_headers: bool) -> Any:
        """Timestamps of a table are naive, the property stays a number."""
        if isinstance(value, datetime):
            return value.replace(tzinfo=None) if in_headers else int(value.timestamp())
        return value

    def decode(self, workload: Workload) -> Work:
        """`read_frame`, `frame_handler`, `loads` and the dict of delivery_info, frame by frame."""

        def read(callback: Callable[..., None]) -> None:
            read_frame = _Memory(workload.data).read_frame
            on_frame = frame_handler(SimpleNamespace(bytes_recv=0), callback)
            for _ in range(workload.frames):
                on_frame(read_frame())

        def deliver(_channel: int, _signature: Any, buffer: bytes, content: Any) -> None:
            (tag, number, again, exchange, key), _ = loads("sLbss", buffer, 4)
            content.delivery_info = {
                "consumer_tag": tag,
                "delivery_tag": number,
                "redelivered": again,
                "exchange": exchange,
                "routing_key": key,
            }

        def method(_channel: int, signature: Any, buffer: bytes, _content: Any) -> None:
            loads(FORMATS[signature], buffer, 4)

        if workload.shape == "header":
            return self._decode_headers(workload)
        callback = deliver if workload.shape == "message" else method

        def check() -> None:
            events: list[Event] = []

            def keep(channel: int, signature: Any, buffer: bytes, content: Any) -> None:
                callback(channel, signature, buffer, content)
                events.append(_neutral(channel, signature, buffer, content))

            read(keep)
            check_events(self, events, workload)

        return Work(lambda: read(callback), workload.frames, check)

    def _decode_headers(self, workload: Workload) -> Work:
        """`read_frame` and `Message.inbound_header`: `frame_handler` wants the method first."""

        def read() -> Iterator[tuple[int, Message]]:
            read_frame = _Memory(workload.data).read_frame
            for _ in range(workload.frames):
                _kind, channel, payload = read_frame()
                message = Message()
                message.inbound_header(payload)
                yield channel, message

        def check() -> None:
            headers = (_header(channel, message) for channel, message in read())
            check_events(self, headers, workload)

        return Work(lambda: deque(read(), maxlen=0), workload.frames, check)

    def encode(self, workload: Workload) -> Work:
        """`dumps` and `frame_writer`, which writes all frames of a message in one call."""
        if workload.shape == "header":
            raise Absent("py-amqp writes a content header only after its method")
        pieces: list[bytes] = []
        write = self._writer(workload, lambda _bytes: None)
        keep = self._writer(workload, lambda raw: pieces.append(bytes(raw)))
        ready = [
            (event.channel, *METHODS[event.method], _values(event), _content(event))
            for event in workload.events
        ]

        def run() -> None:
            for channel, signature, layout, values, content in ready:
                write(1, channel, signature, dumps(layout, values), content)

        def check() -> None:
            pieces.clear()
            for channel, signature, layout, values, content in ready:
                keep(1, channel, signature, dumps(layout, values), content)
            check_octets(self, pieces, workload)

        return Work(run, workload.frames, check)

    def construct(self, workload: Workload) -> Work:
        """py-amqp has no object of a method: arguments go straight to `dumps`."""
        return self.encode(workload)

    @staticmethod
    def _writer(workload: Workload, write: Callable[[Any], None]) -> Callable[..., None]:
        connection = SimpleNamespace(frame_max=workload.frame_max, bytes_sent=0)
        writer: Callable[..., None] = frame_writer(connection, SimpleNamespace(write=write))
        return writer


def _values(event: Event) -> tuple[Any, ...]:
    reserved = (0,) if event.method == "basic.publish" else ()
    return (*reserved, *event.arguments.values())


def _content(event: Event) -> Message | None:
    if event.body is None or event.properties is None:
        return None
    values = {RENAMED.get(name, name): value for name, value in event.properties.items()}
    if "timestamp" in values:
        values["timestamp"] = int(values["timestamp"].timestamp())
    return Message(event.body, **values)


def _neutral(channel: int, signature: Any, buffer: bytes, content: Any) -> Event:
    name = NAMES[signature]
    if content is None:
        values, _ = loads(FORMATS[signature], buffer, 4)
        names = wire.arguments(name)
        arguments = dict(zip(names, values[-len(names) :], strict=True))
        return Event(channel, name, arguments)
    return Event(channel, name, content.delivery_info, _properties(content), content.body)


def _header(channel: int, content: Message) -> Event:
    if content.body_size != HEADER_ONLY_SIZE:
        raise WrongResultError(f"py-amqp: body size {content.body_size}")
    return Event(channel, "", {}, _properties(content))


def _properties(content: Message) -> dict[str, Any]:
    return {OUR_NAMES.get(key, key): value for key, value in content.properties.items()}


PEER = PyAmqp
