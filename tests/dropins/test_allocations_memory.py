"""Memory that runs out in a drop-in is a MemoryError, and harms nothing after it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import v0_9_1
from tests.dropins.conftest import need
from tests.support import no_memory

HEADERS = {"n": 1, "text": "t" * 40, "list": [1, "x", {"k": True}], "table": {"none": None}}


def frames() -> list[bytes]:
    amqp = v0_9_1
    deliver = amqp.Basic.Deliver("tag" * 30, 7, False, "exchange", "key" * 20)
    properties = amqp.Basic.Properties("text/plain", headers=HEADERS, timestamp=1_700_000_000)
    return [
        amqp.encode(1, deliver),
        amqp.encode(1, amqp.Header(5, properties)),
        amqp.encode(1, amqp.Body(b"body" * 30)),
        amqp.encode(1, amqp.Queue.Declare(queue="q", arguments=HEADERS)),
        amqp.encode(0, amqp.Heartbeat()),
    ]


def pika() -> Callable[[], Any]:
    from pika import data, frame

    from amqpcodec.compat import pika as drop_in

    drop_in.install()
    table: list[bytes] = []
    data.encode_table(table, HEADERS)
    raw = b"".join(table)
    encoded_frames = frames()

    def call() -> Any:
        marshaled = []
        for one in encoded_frames:
            _, value = frame.decode_frame(one)
            marshaled.append(value.marshal())
        pieces: list[bytes] = []
        data.encode_table(pieces, HEADERS)
        return marshaled, pieces, data.decode_table(raw, 0)

    return call


def pamqp() -> Callable[[], Any]:
    from pamqp import decode, encode, frame

    from amqpcodec.compat import pamqp as drop_in

    drop_in.install()
    raw = encode.field_table(HEADERS)
    encoded_frames = frames()

    def call() -> Any:
        marshaled = []
        for one in encoded_frames:
            _, channel, value = frame.unmarshal(one)
            marshaled.append(frame.marshal(value, channel))
        return marshaled, encode.field_table(HEADERS), decode.field_table(raw)

    return call


def py_amqp() -> Callable[[], Any]:
    from amqp import Message, serialization

    from amqpcodec.compat import amqp as drop_in

    drop_in.install()
    arguments = ["q", HEADERS, 5, True, 2**40]
    raw = serialization.dumps("sFBbL", arguments)
    encoded_frames = frames()

    def call() -> Any:
        message = Message(channel=None, application_headers=HEADERS, content_type="text/plain")
        other = Message()
        other.inbound_header(encoded_frames[1][7:-1])
        return (
            serialization.dumps("sFBbL", arguments),
            serialization.loads("sFBbL", raw, 0),
            message._serialize_properties(),
            other.properties,
        )

    return call


CASES: dict[str, Callable[[], Callable[[], Any]]] = {
    "pika": pika,
    "pamqp": pamqp,
    "amqp": py_amqp,
}


@pytest.mark.parametrize("case", CASES)
def test_each_allocation_may_fail(case: str, tmp_path: Path) -> None:
    need(case)
    no_memory.check("tests.dropins.test_allocations_memory", case, tmp_path)
