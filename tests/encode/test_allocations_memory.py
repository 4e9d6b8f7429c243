"""Memory that runs out anywhere in batch.encode is a MemoryError, and harms nothing after it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import batch
from tests.columns.batch_rows import pa
from tests.columns.v1_rows import ASKED
from tests.support import no_memory
from tests.support.samples_amqp0 import faulty_stream
from tests.support.samples_v1 import message_stream


def encode(make: Callable[[], bytes], protocol: str, to: str, **options: Any) -> Callable[[], Any]:
    """What decode gives, as columns, as a stream, and with text that has to be parsed."""
    columns = pa.record_batch(batch.decode(make(), protocol=protocol, level="message", **options))
    columns = columns.filter(columns.column("error").is_null())
    if to == "dictionaries":
        columns = pa.RecordBatch.from_arrays(
            [
                column.dictionary_encode() if pa.types.is_string(column.type) else column
                for column in columns.columns
            ],
            columns.schema.names,
        )

    def call() -> Any:
        source = pa.Table.from_batches([columns, columns]) if to == "stream" else columns
        messages = batch.encode(source, protocol=protocol, frame_max=4096)
        return pa.array(messages), pa.array(messages.errors)

    return call


PLAIN = ["channel", "method", "exchange", "routing_key", "body", "error"]
CHOICES: dict[str, list[str] | None] = {
    "": None,
    " text": [*PLAIN, "properties_json", "arguments"],
    " headers": [*PLAIN, "headers.n:long", "headers.text", "mandatory"],
}
CASES: dict[str, Callable[[], Callable[[], Any]]] = {
    f"0-9-1 {to} {tables}{name}": partial(
        encode, faulty_stream, "0-9-1", to, field_tables=tables, fields=fields
    )
    for to in ("columns", "stream", "dictionaries")
    for tables in ("json", "map")
    for name, fields in CHOICES.items()
} | {
    f"1.0 {to} {tables}{name}": partial(
        encode, message_stream, "1.0", to, field_tables=tables, fields=fields
    )
    for to in ("columns", "stream")
    for tables in ("json", "map")
    for name, fields in {"": None, " asked for": ASKED}.items()
}


@pytest.mark.parametrize("case", CASES)
def test_each_allocation_may_fail(case: str, tmp_path: Path) -> None:
    no_memory.check("tests.encode.test_allocations_memory", case, tmp_path)
