"""pamqp: a call a frame; it has no stream and joins no messages."""

import struct
from typing import Any

from pamqp import body, commands, frame, header

from bench import wire
from bench.work import Peer, Work, check_frames, check_octets, over
from bench.workloads import Event, Workload

CLASSES = {
    "basic.ack": commands.Basic.Ack,
    "basic.deliver": commands.Basic.Deliver,
    "basic.publish": commands.Basic.Publish,
}
NAMES = {cls: name for name, cls in CLASSES.items()}
RENAMED = {"type": "message_type", "reserved": "cluster_id"}


class Pamqp(Peer):
    name = "pamqp"
    distribution = "pamqp"

    def written(self, value: Any) -> Any:
        """A float of a table is written with 32 bits."""
        return struct.unpack("f", struct.pack("f", value))[0] if type(value) is float else value

    def decode(self, workload: Workload) -> Work:
        """Frames cut beforehand: `unmarshal` has no offset, cutting would be charged to it."""
        unmarshal = frame.unmarshal

        def check() -> None:
            frames = (_neutral(*unmarshal(raw)) for group in workload.groups for raw in group)
            check_frames(self, frames, workload)

        return Work(over(unmarshal, workload, workload.groups), workload.frames, check)

    def encode(self, workload: Workload) -> Work:
        """Objects made beforehand, `marshal` a frame."""
        marshal = frame.marshal
        ready = [(event.channel, *_frames_of(event, workload)) for event in workload.events]

        def run() -> None:
            for channel, method, head, payload in ready:
                marshal(method, channel)
                marshal(head, channel)
                marshal(payload, channel)

        def run_any() -> None:
            for channel, *frames in ready:
                for item in frames:
                    marshal(item, channel)

        def check() -> None:
            pieces = (marshal(item, channel) for channel, *frames in ready for item in frames)
            check_octets(self, pieces, workload)

        return Work(run if workload.triples else run_any, workload.frames, check)

    def construct(self, workload: Workload) -> Work:
        """basic.ack and basic.publish in turn: the object is made and marshalled."""
        marshal, ack_of, publish_of = frame.marshal, commands.Basic.Ack, commands.Basic.Publish
        acks, publishes = workload.events[::2], workload.events[1::2]
        pairs = [
            (*ack.arguments.values(), *publish.arguments.values())
            for ack, publish in zip(acks, publishes, strict=True)
        ]

        def run() -> None:
            for tag, multiple, exchange, routing_key, mandatory, immediate in pairs:
                marshal(ack_of(delivery_tag=tag, multiple=multiple), 1)
                marshal(
                    publish_of(
                        exchange=exchange,
                        routing_key=routing_key,
                        mandatory=mandatory,
                        immediate=immediate,
                    ),
                    1,
                )

        def check() -> None:
            pieces = (
                marshal(CLASSES[event.method](**event.arguments), 1) for event in workload.events
            )
            check_octets(self, pieces, workload)

        return Work(run, workload.frames, check)


def _frames_of(event: Event, workload: Workload) -> list[Any]:
    frames = [CLASSES[event.method](**event.arguments)] if event.method else []
    if event.properties is not None:
        values = {RENAMED.get(name, name): value for name, value in event.properties.items()}
        properties = commands.Basic.Properties(**values)
        frames.append(header.ContentHeader(body_size=event.body_size, properties=properties))
    return frames + [body.ContentBody(raw) for raw in event.bodies(workload.frame_max)]


def _neutral(_consumed: int, channel: int, item: Any) -> tuple[Any, ...]:
    if isinstance(item, header.ContentHeader):
        properties = {
            name: getattr(item.properties, RENAMED.get(name, name)) for name, _ in wire.PROPERTIES
        }
        present = {name: value for name, value in properties.items() if value not in (None, "")}
        return ("header", channel, item.body_size, present)
    if isinstance(item, body.ContentBody):
        return ("body", channel, item.value)
    name = NAMES[type(item)]
    return ("method", channel, name, {arg: getattr(item, arg) for arg in wire.arguments(name)})


PEER = Pamqp
