"""Memory that runs out anywhere in batch.decode is a MemoryError, and harms nothing after it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from amqpcodec import batch
from amqpcodec import v0_9_1 as amqp
from amqpcodec import v1_0 as v1
from tests.columns.batch_rows import pa
from tests.columns.test_runs_differential import run
from tests.columns.test_v1_fast_path_differential import WAYS
from tests.columns.v1_rows import ASKED
from tests.support import amqp091_gen as gen
from tests.support import no_memory

TABLE = {
    "n": 1, "text": "t" * 40, "b": True, "f": 1.5, "none": None, "raw": b"\xff",
    "list": [1, "x", {"k": 2}], "table": {"deep": {"er": [1.5, None]}},
}  # fmt: skip


def legacy() -> bytes:
    """Messages that are alike, messages that are not, frames of all kinds, and faults."""
    properties = amqp.Basic.Properties(
        content_type="text/plain", headers=TABLE, message_id="m", timestamp=1_700_000_000
    )
    deliver = amqp.Basic.Deliver("tag", 7, False, "exchange", "key")
    message = amqp.encode_message(1, deliver, properties, b"body" * 30)
    declare = amqp.encode(1, amqp.Queue.Declare(queue="q", arguments=TABLE))
    parts = amqp.encode_message(2, deliver, properties, b"b" * 6000, frame_max=4096)
    frames = [gen.any_frame(Random(seed)) for seed in range(20)]
    return b"".join((message * 12, run(Random(1), 40), declare, parts, *frames, message[:-9]))


def new() -> bytes:
    message = v1.Message(
        b"body" * 30,
        subject="s",
        message_id="m",
        priority=3,
        message_annotations={"x-opt-a": 1},
        application_properties={"a": 1, "t": "text" * 9, "u": 1.5},
    )
    talk = [
        v1.PROTOCOL_HEADER,
        v1.encode(0, v1.Open("container", "host", properties={"product": "p"})),
        v1.encode(0, v1.Begin(None, 0, 100, 100)),
        v1.encode(0, v1.Attach("link", 0, False, source=v1.Source("a"), target=v1.Target("b"))),
        *(v1.encode_message(0, v1.Transfer(0, n, b"t%d" % n), message) for n in range(12)),
        v1.encode_message(0, v1.Transfer(0, 20, b"t"), v1.Message(b"x" * 3000), frame_max=512),
        v1.encode_message(0, v1.Transfer(0, 21, b"t"), v1.Message(value=TABLE)),
        v1.encode(0, v1.Disposition(True, 0, 9, state=v1.Rejected(v1.Error("e:x", "d")))),
        v1.encode(0, v1.Detach(0, True, v1.Error("amqp:not-found", "gone", {"k": [1]}))),
        v1.encode(0, v1.Heartbeat()),
    ]
    return b"".join([*talk, v1.encode(0, v1.Close())[:-2]])


def decode(make: Callable[[], Any], **options: Any) -> Callable[[], Any]:
    data = make()
    return lambda: pa.record_batch(batch.decode(data, **options))


def values(make: Callable[[], bytes]) -> Any:
    """Pieces of a stream as an Arrow array in two chunks."""
    data = make()
    pieces = [data[at : at + 700] for at in range(0, len(data), 700)]
    return pa.chunked_array([pieces[:5], pieces[5:]], pa.binary())


CASES: dict[str, Callable[[], Callable[[], Any]]] = {
    f"{name} {level} {layout} {field_tables}": partial(
        decode, make, protocol=protocol, level=level, layout=layout, field_tables=field_tables
    )
    for name, protocol, make in (("0-9-1", "0-9-1", legacy), ("1.0", "1.0", new))
    for level in ("frame", "message")
    for layout, field_tables in (
        ("plain", "json"),
        ("plain", "map"),
        ("plain", "variant"),
        ("view", "json"),
    )
}
HEADERS = ["headers.n:long", "headers.text", "headers.list", "properties_json", "exchange", "body"]
CASES["0-9-1 headers"] = partial(decode, legacy, level="message", fields=HEADERS)
CASES["0-9-1 arguments"] = partial(
    decode, legacy, level="frame", fields=["queue", "delivery_tag", "arguments", "error"]
)
CASES["1.0 asked for"] = partial(decode, new, protocol="1.0", level="message", fields=ASKED)
CASES |= {
    f"1.0 {number}": partial(decode, new, protocol="1.0", **way)
    for number, way in enumerate(WAYS)
    if "fields" in way
}
CASES |= {
    f"{protocol} in pieces": partial(
        decode, partial(values, make), protocol=protocol, level="message", mode="DROPMALFORMED"
    )
    for protocol, make in (("0-9-1", legacy), ("1.0", new))
}


@pytest.mark.parametrize("case", CASES)
def test_each_allocation_may_fail(case: str, tmp_path: Path) -> None:
    no_memory.check("tests.columns.test_allocations_memory", case, tmp_path)
