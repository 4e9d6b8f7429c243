"""pika: a call a frame; its own connection joins messages, its codec does not."""

from datetime import datetime
from typing import Any

from pika import frame, spec

from bench import wire
from bench.work import Absent, Peer, Work, check_frames, check_octets, one_by_one, over
from bench.workloads import Event, Workload

CLASSES = {
    "basic.ack": spec.Basic.Ack,
    "basic.deliver": spec.Basic.Deliver,
    "basic.publish": spec.Basic.Publish,
}
NAMES = {cls: name for name, cls in CLASSES.items()}
RENAMED = {"reserved": "cluster_id"}


class Pika(Peer):
    name = "pika"
    distribution = "pika"

    def decoded_value(self, value: Any, *, in_headers: bool) -> Any:
        """Doubles are cut to integers, and the timestamp property stays a number."""
        if type(value) is float:
            return int(value)
        if isinstance(value, datetime) and not in_headers:
            return int(value.timestamp())
        return value

    def decode(self, workload: Workload) -> Work:
        """Frames cut beforehand: `decode_frame` has no offset, cutting would be charged to it."""
        decode_frame = frame.decode_frame

        def check() -> None:
            frames = (_neutral(decode_frame(raw)[1]) for group in workload.groups for raw in group)
            check_frames(self, frames, workload)

        return Work(over(decode_frame, workload, workload.groups), workload.frames, check)

    def encode(self, workload: Workload) -> Work:
        """Objects made beforehand, their frame wrappers too; `marshal` a frame."""
        if workload.name == "W3":
            raise Absent("pika 1.4.4 cannot write a float")
        ready = [_frames_of(event, workload) for event in workload.events]

        def run() -> None:
            for method, head, payload in ready:
                method.marshal()
                head.marshal()
                payload.marshal()

        def check() -> None:
            pieces = (item.marshal() for frames in ready for item in frames)
            check_octets(self, pieces, workload)

        if workload.triples:
            return Work(run, workload.frames, check)
        items = [item for frames in ready for item in frames]
        return Work(one_by_one(lambda item: item.marshal(), items), workload.frames, check)

    def construct(self, workload: Workload) -> Work:
        """basic.ack and basic.publish in turn: the object and its wrapper made and marshalled."""
        wrap, ack_of, publish_of = frame.Method, spec.Basic.Ack, spec.Basic.Publish
        acks, publishes = workload.events[::2], workload.events[1::2]
        pairs = [
            (*ack.arguments.values(), *publish.arguments.values())
            for ack, publish in zip(acks, publishes, strict=True)
        ]

        def run() -> None:
            for tag, multiple, exchange, routing_key, mandatory, immediate in pairs:
                wrap(1, ack_of(delivery_tag=tag, multiple=multiple)).marshal()
                wrap(
                    1,
                    publish_of(
                        exchange=exchange,
                        routing_key=routing_key,
                        mandatory=mandatory,
                        immediate=immediate,
                    ),
                ).marshal()

        def check() -> None:
            pieces = (
                wrap(1, CLASSES[event.method](**event.arguments)).marshal()
                for event in workload.events
            )
            check_octets(self, pieces, workload)

        return Work(run, workload.frames, check)


def _frames_of(event: Event, workload: Workload) -> list[Any]:
    frames: list[Any] = []
    if event.method:
        frames.append(frame.Method(event.channel, CLASSES[event.method](**event.arguments)))
    if event.properties is not None:
        values = {RENAMED.get(name, name): value for name, value in event.properties.items()}
        if "timestamp" in values:
            values["timestamp"] = int(values["timestamp"].timestamp())
        properties = spec.BasicProperties(**values)
        frames.append(frame.Header(event.channel, event.body_size, properties))
    bodies = event.bodies(workload.frame_max)
    return frames + [frame.Body(event.channel, raw) for raw in bodies]


def _neutral(item: Any) -> tuple[Any, ...]:
    channel = item.channel_number
    if isinstance(item, frame.Header):
        properties = {
            name: getattr(item.properties, RENAMED.get(name, name)) for name, _ in wire.PROPERTIES
        }
        present = {name: value for name, value in properties.items() if value is not None}
        return ("header", channel, item.body_size, present)
    if isinstance(item, frame.Body):
        return ("body", channel, item.fragment)
    name = NAMES[type(item.method)]
    arguments = {arg: getattr(item.method, arg) for arg in wire.arguments(name)}
    return ("method", channel, name, arguments)


PEER = Pika
