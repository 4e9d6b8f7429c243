"""amqpcodec, with all that its contract asks: datetimes, errors with places, bodies copied.

"Eager" touches `properties.headers` and `properties.timestamp` of every message, so that dict and
datetime are made as the peers make them; only the lazy row leaves them alone. Objects to encode are
built by constructor: a decoded object could give back the bytes it came from, and that would
measure a copy.
"""

import copy
import json
from collections.abc import Iterator
from typing import Any

from bench import wire, workloads
from bench.work import (
    Absent,
    Peer,
    Work,
    WrongResultError,
    check_events,
    check_frames,
    compare,
    one_by_one,
)
from bench.workloads import Event, Workload

try:
    from amqpcodec import v0_9_1 as amqp
except ImportError as error:
    raise Absent(f"amqpcodec is not importable: {error}") from error


class Amqpcodec(Peer):
    name = "amqpcodec"
    distribution = "amqpcodec"

    # ------------------------------------------------------------ decode

    def decode(self, workload: Workload) -> Work:
        """`decode(data, offset)` a frame; where frames start is known, as it is for the peers."""
        decode, data, offsets = amqp.decode, workload.data, workload.offsets

        def methods() -> None:
            for (at,) in offsets:
                decode(data, at)

        def headers() -> None:
            for (at,) in offsets:
                properties = decode(data, at)[2].properties
                _ = properties.headers
                _ = properties.timestamp

        def triples() -> None:
            for method, header, body in offsets:
                decode(data, method)
                properties = decode(data, header)[2].properties
                _ = properties.headers
                _ = properties.timestamp
                decode(data, body)

        def many() -> None:
            for method, header, *bodies in offsets:
                decode(data, method)
                properties = decode(data, header)[2].properties
                _ = properties.headers
                _ = properties.timestamp
                for body in bodies:
                    decode(data, body)

        def check() -> None:
            frames = (_frame(*decode(data, at)) for group in offsets for at in group)
            check_frames(self, frames, workload)

        runs = {"method": methods, "header": headers, "message": many}
        run = triples if workload.triples else runs[workload.shape]
        return Work(run, workload.frames, check)

    def walk(self, workload: Workload) -> Work:
        """The same, finding each frame by what the last one consumed."""
        decode, data, size, header_of = amqp.decode, workload.data, len(workload.data), amqp.Header

        def run() -> None:
            at = 0
            while at < size:
                consumed, _channel, frame = decode(data, at)
                at += consumed
                if type(frame) is header_of:
                    properties = frame.properties
                    _ = properties.headers
                    _ = properties.timestamp

        def check() -> None:
            frames, at = [], 0
            while at < size:
                consumed, channel, frame = decode(data, at)
                at += consumed
                frames.append(_frame(consumed, channel, frame))
            check_frames(self, frames, workload)

        return Work(run, workload.frames, check)

    def frames(self, workload: Workload) -> Work:
        """`Decoder.feed` with chunks of 64 KiB: frames, not joined; headers and time are read."""
        decoder, chunks, header_of = amqp.Decoder(), workload.chunks, amqp.Header

        def run() -> None:
            for chunk in chunks:
                for _channel, frame in decoder.feed(chunk):
                    if type(frame) is header_of:
                        properties = frame.properties
                        _ = properties.headers
                        _ = properties.timestamp

        def check() -> None:
            results = [
                _frame(0, channel, frame)
                for chunk in chunks
                for channel, frame in decoder.feed(chunk)
            ]
            check_frames(self, results, workload)

        return Work(run, workload.frames, check)

    def stream(self, workload: Workload) -> Work:
        """`MessageDecoder.feed` with chunks of 64 KiB: messages; headers and time are read."""
        decoder, chunks = amqp.MessageDecoder(), workload.chunks

        def run() -> None:
            for chunk in chunks:
                for _channel, message in decoder.feed(chunk):
                    properties = message.properties
                    _ = properties.headers
                    _ = properties.timestamp

        return Work(run, workload.frames, self._check_stream(decoder, workload))

    def lazy(self, workload: Workload) -> Work:
        """The same, and nobody looks at headers or timestamp."""
        decoder, chunks = amqp.MessageDecoder(), workload.chunks

        def run() -> None:
            for chunk in chunks:
                for _channel, _message in decoder.feed(chunk):
                    pass

        return Work(run, workload.frames, self._check_stream(decoder, workload))

    def _check_stream(self, decoder: Any, workload: Workload) -> Any:
        def check() -> None:
            events = [
                _event(channel, item)
                for chunk in workload.chunks
                for channel, item in decoder.feed(chunk)
            ]
            check_events(self, events, workload)
            decoder.eof()  # raises if a frame is left half read

        return check

    # ------------------------------------------------------------ encode

    def encode(self, workload: Workload) -> Work:
        """`encode(channel, frame)` a frame, objects made beforehand."""
        encode = amqp.encode
        ready = [(event.channel, *_frames_of(event, workload)) for event in workload.events]

        def single() -> None:
            for channel, frame in ready:
                encode(channel, frame)

        def triples() -> None:
            for channel, method, header, body in ready:
                encode(channel, method)
                encode(channel, header)
                encode(channel, body)

        def many() -> None:
            for channel, *frames in ready:
                for frame in frames:
                    encode(channel, frame)

        def check() -> None:
            pieces = (encode(channel, frame) for channel, *frames in ready for frame in frames)
            self._check_octets(pieces, workload)

        run = triples if workload.triples else many if workload.shape == "message" else single
        return Work(run, workload.frames, check)

    def encode_message(self, workload: Workload) -> Work:
        """`encode_message` a message, objects made beforehand."""
        encode, frame_max = amqp.encode_message, workload.frame_max
        ready = [
            (event.channel, _method(event), _properties(event), event.body)
            for event in workload.events
        ]

        def run() -> None:
            for channel, method, properties, body in ready:
                encode(channel, method, properties, body)

        def run_cut() -> None:
            for channel, method, properties, body in ready:
                encode(channel, method, properties, body, frame_max)

        def check() -> None:
            self._check_octets((encode(*item, frame_max) for item in ready), workload)

        return Work(run if frame_max == 131072 else run_cut, workload.frames, check)

    def construct(self, workload: Workload) -> Work:
        """basic.ack and basic.publish in turn: the object is made and encoded."""
        encode, ack_of, publish_of = amqp.encode, amqp.Basic.Ack, amqp.Basic.Publish
        acks, publishes = workload.events[::2], workload.events[1::2]
        pairs = [
            (*ack.arguments.values(), *publish.arguments.values())
            for ack, publish in zip(acks, publishes, strict=True)
        ]

        def run() -> None:
            for tag, multiple, exchange, routing_key, mandatory, immediate in pairs:
                encode(1, ack_of(delivery_tag=tag, multiple=multiple))
                encode(
                    1,
                    publish_of(
                        exchange=exchange,
                        routing_key=routing_key,
                        mandatory=mandatory,
                        immediate=immediate,
                    ),
                )

        def check() -> None:
            self._check_octets((encode(1, _method(event)) for event in workload.events), workload)

        return Work(run, workload.frames, check)

    def _check_octets(self, pieces: Iterator[bytes], workload: Workload) -> None:
        """More than equal information: the very bytes, for the tags are RabbitMQ's for both."""
        compare(
            f"amqpcodec encodes {workload.name}",
            wire.read_frames(raw := b"".join(pieces)),
            wire.read_frames(workload.data),
        )
        if raw != workload.data:
            raise WrongResultError(f"amqpcodec encodes {workload.name} to other bytes")

    # ------------------------------------------------------------ columns

    def table(self, workload: Workload) -> Work:
        """`batch.decode` of blocks of memory to every frame-level column there is."""
        return self._batch(workload, {})

    def views(self, workload: Workload) -> Work:
        """`batch.decode` of blocks of memory to messages: 26 columns, text and bytes as views.

        All that is in the frames, checked as ever (UTF-8, tables): the arguments, each property
        with the headers as their bytes, the body, the error. No text is made, so JSON has no part.
        """
        return self._batch(workload, {"level": "message", "layout": "view", "fields": VIEWS})

    def _batch(self, workload: Workload, options: dict[str, Any]) -> Work:
        try:
            from amqpcodec import batch
        except ImportError as error:
            raise Absent(f"batch.decode: {error}") from error
        decode = batch.decode
        blocks = workloads.memory_blocks(workload.name)

        def block(raw: memoryview) -> None:
            # exported, as a consumer takes it, and released at once: the buffers may be used again
            decode(raw, **options).__arrow_c_array__()

        def check() -> None:
            import pyarrow

            batch = pyarrow.record_batch(decode(blocks[0], **options))
            (_check_messages if options else _check_columns)(batch, workload)

        return Work(one_by_one(block, blocks), workload.frames * workloads.REPEATS, check)

    def encode_columns(self, workload: Workload) -> Work:
        """`batch.encode` of columns in memory, headers as a struct: 18 times 10,240 messages."""
        return self._columns(workload, _headers_struct, workload.data)

    def encode_json(self, workload: Workload) -> Work:
        """The same, headers as JSON text."""
        return self._columns(workload, _headers_json, workload.data)

    def encode_map(self, workload: Workload) -> Work:
        """The same, headers as a map, whose values are all text."""
        return self._columns(workload, _headers_map, None)

    def _columns(self, workload: Workload, headers: Any, expected: bytes | None) -> Work:
        try:
            import pyarrow

            from amqpcodec import batch
        except ImportError as error:
            raise Absent(f"batch.encode: {error}") from error
        rows = _message_columns(pyarrow, workload, headers)
        batches = [rows] * workloads.BATCH_REPEATS
        blocks = [  # each in memory of its own
            pyarrow.Table.from_batches(batches).combine_chunks().to_batches()[0]
            for _ in range(workloads.REPEATS // workloads.BATCH_REPEATS)
        ]
        encode = batch.encode

        def block(columns: Any) -> None:
            encode(columns).__arrow_c_array__()

        def check() -> None:
            encoded = pyarrow.array(encode(rows, mode="FAILFAST"))
            if expected is not None:
                compare("batch.encode", [b"".join(encoded.to_pylist())], [expected])

        return Work(one_by_one(block, blocks), workload.frames * workloads.REPEATS, check)


# ---------------------------------------------------------------- to and from neutral forms


def _message_columns(pa: Any, workload: Workload, headers: Any) -> Any:
    """The messages as a record batch: arguments and properties in columns of their types."""
    events = workload.events
    table: dict[str, Any] = {
        name: [event.arguments[name] for event in events] for name in events[0].arguments
    }
    properties: dict[str, Any] = {
        name: pa.array([(event.properties or {})[name] for event in events])
        for name in events[0].properties or {}
        if name != "headers"
    }
    properties["delivery_mode"] = properties["delivery_mode"].cast(pa.int32())
    properties["headers"] = headers(pa, [(event.properties or {})["headers"] for event in events])
    table["method"] = [event.method for event in events]
    table["properties"] = pa.StructArray.from_arrays(
        list(properties.values()), names=list(properties)
    )
    table["body"] = pa.array([event.body for event in events], pa.binary())
    return pa.RecordBatch.from_pydict(table)


def _headers_struct(_pa: Any, headers: list[dict[str, Any]]) -> Any:
    return _pa.array(headers)


def _headers_json(pa: Any, headers: list[dict[str, Any]]) -> Any:
    return pa.array([json.dumps(table, separators=(",", ":")) for table in headers])


def _headers_map(pa: Any, headers: list[dict[str, Any]]) -> Any:
    rows = [[(key, str(value)) for key, value in table.items()] for table in headers]
    return pa.array(rows, pa.map_(pa.string(), pa.string()))


def _class(method: str) -> Any:
    owner, name = method.split(".")
    return getattr(getattr(amqp, owner.capitalize()), name.capitalize())


def _method(event: Event) -> Any:
    return _class(event.method)(**event.arguments)


def _properties(event: Event) -> Any:
    # its own dict of headers, so that no peer can be helped or hurt by what another did to it
    return amqp.Basic.Properties(**copy.deepcopy(event.properties or {}))


def _frames_of(event: Event, workload: Workload) -> list[Any]:
    frames = [_method(event)] if event.method else []
    if event.properties is not None:
        frames.append(amqp.Header(event.body_size, _properties(event)))
    return frames + [amqp.Body(raw) for raw in event.bodies(workload.frame_max)]


def _present(properties: Any) -> dict[str, Any]:
    values = {name: getattr(properties, name) for name, _ in wire.PROPERTIES}
    return {name: value for name, value in values.items() if value is not None}


def _arguments(method: Any) -> dict[str, Any]:
    return {name: getattr(method, name) for name in wire.arguments(method.NAME)}


def _frame(_consumed: int, channel: int, frame: Any) -> tuple[Any, ...]:
    if isinstance(frame, amqp.Header):
        return ("header", channel, frame.body_size, _present(frame.properties))
    if isinstance(frame, amqp.Body):
        return ("body", channel, frame.payload)
    return ("method", channel, frame.NAME, _arguments(frame))


def _event(channel: int, item: Any) -> Event:
    if isinstance(item, amqp.Message):
        method, properties = item.method, _present(item.properties)
        return Event(channel, method.NAME, _arguments(method), properties, item.body)
    return Event(channel, item.NAME, _arguments(item))


#: The default columns of messages but `row`, with the properties one by one.
VIEWS = [
    "channel", "method", "exchange", "routing_key", "consumer_tag", "delivery_tag", "redelivered",
    "mandatory", "reply_code", "reply_text",
    *(
        f"properties.{'raw_headers' if name == 'headers' else name}"
        for name, _ in wire.PROPERTIES
    ),
    "body", "error",
]  # fmt: skip


def _check_messages(batch: Any, workload: Workload) -> None:
    """The columns of VIEWS, of a block that holds the workload several times."""
    expected = workload.events * workloads.BLOCK_REPEATS
    if len(batch) != len(expected):
        raise WrongResultError(f"batch.decode: {len(batch)} messages, not {len(expected)}")
    for row, event in zip(batch.to_pylist(), expected, strict=True):
        expected_row = dict.fromkeys(VIEWS)
        expected_row.update(channel=event.channel, method=event.method, body=event.body)
        expected_row.update(event.arguments)
        for name, value in (event.properties or {}).items():
            if name == "headers":
                expected_row["properties.raw_headers"] = wire.table(value)[4:]
            else:
                expected_row[f"properties.{name}"] = value
        compare("batch.decode, views", [row], [expected_row])


def _check_columns(batch: Any, workload: Workload) -> None:
    """The columns that are there, of a block that holds the workload several times."""
    import json

    expected = workload.expected_frames() * workloads.BLOCK_REPEATS
    sizes = [len(raw) for group in workload.groups for raw in group]
    sizes *= workloads.BLOCK_REPEATS
    views = {
        "offset": [sum(sizes[:index]) for index in (0, 1, 2)],
        "frame_type": [item[0] for item in expected],
        "channel": [item[1] for item in expected],
        "method": [item[2] if item[0] == "method" else None for item in expected],
        "body_size": [item[2] if item[0] == "header" else None for item in expected],
        "payload": [item[2] if item[0] == "body" else None for item in expected],
        "error": [None] * len(expected),
    }
    if len(batch) != len(expected):
        raise WrongResultError(f"batch.decode: {len(batch)} rows, not {len(expected)}")
    for name in batch.schema.names:
        values = batch.column(name).to_pylist()
        if name in views:
            compare(f"batch.decode, {name}", values[: len(views[name])], views[name])
        elif name == "arguments":
            for value, item in zip(values, expected, strict=True):
                if item[0] == "method":
                    compare("batch.decode, arguments", [json.loads(value)], [item[3]])
        elif name == "properties":
            for value, item in zip(values, expected, strict=True):
                if item[0] == "header":
                    present = {key: leaf for key, leaf in value.items() if leaf is not None}
                    present["headers"] = json.loads(present["headers"])
                    compare("batch.decode, properties", [present], [item[3]])


PEER = Amqpcodec
