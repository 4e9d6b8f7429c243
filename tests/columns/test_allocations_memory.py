"""Memory that runs out anywhere in batch.decode is a MemoryError, and harms nothing after it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import batch
from tests.columns.batch_rows import pa
from tests.columns.test_v1_fast_path_differential import WAYS
from tests.columns.v1_rows import ASKED
from tests.support import no_memory
from tests.support.samples_amqp0 import faulty_stream
from tests.support.samples_v1 import message_stream


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
    for name, protocol, make in (
        ("0-9-1", "0-9-1", faulty_stream),
        ("1.0", "1.0", message_stream),
    )
    for level in ("frame", "message")
    for layout, field_tables in (
        ("plain", "json"),
        ("plain", "map"),
        ("plain", "variant"),
        ("view", "json"),
    )
}
HEADERS = ["headers.n:long", "headers.text", "headers.list", "properties_json", "exchange", "body"]
CASES["0-9-1 headers"] = partial(decode, faulty_stream, level="message", fields=HEADERS)
CASES["0-9-1 arguments"] = partial(
    decode,
    faulty_stream,
    level="frame",
    fields=["queue", "delivery_tag", "arguments", "error"],
)
CASES["1.0 asked for"] = partial(
    decode, message_stream, protocol="1.0", level="message", fields=ASKED
)
CASES |= {
    f"1.0 {number}": partial(decode, message_stream, protocol="1.0", **way)
    for number, way in enumerate(WAYS)
    if "fields" in way
}
CASES |= {
    f"{protocol} in pieces": partial(
        decode, partial(values, make), protocol=protocol, level="message", mode="DROPMALFORMED"
    )
    for protocol, make in (("0-9-1", faulty_stream), ("1.0", message_stream))
}


@pytest.mark.parametrize("case", CASES)
def test_each_allocation_may_fail(case: str, tmp_path: Path) -> None:
    no_memory.check("tests.columns.test_allocations_memory", case, tmp_path)
