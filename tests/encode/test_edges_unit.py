"""Edges of encoding that a change of one sign or one check moves: each was once moved unnoticed."""

from __future__ import annotations

import struct

import pytest

from amqpcodec import batch
from tests.columns.batch_rows import pa

ROWS = 600


def encoded(column: str, offsets: list[int]) -> object:
    """Rows of which one column has these offsets into 6 bytes a row."""
    data = b"".join(b"key%03d" % i for i in range(ROWS))
    buffers = [None, pa.py_buffer(struct.pack(f"<{ROWS + 1}i", *offsets)), pa.py_buffer(data)]
    columns = {
        "channel": pa.array([1] * ROWS, pa.int32()),
        "method": pa.array(["basic.publish"] * ROWS),
        "routing_key": pa.array(["k"] * ROWS),
        "body": pa.array([b"b"] * ROWS),
    }
    kind = pa.binary() if column == "body" else pa.string()
    columns[column] = pa.Array.from_buffers(kind, ROWS, buffers)
    return batch.encode(pa.RecordBatch.from_arrays(list(columns.values()), list(columns)))


@pytest.mark.parametrize("column", ["body", "routing_key"])
@pytest.mark.parametrize("row", [1, 255, 256, 257, 300, 511, 512, 598, 599])
def test_offsets_outside_of_the_data_are_refused_in_every_row(row: int, column: str) -> None:
    good = [6 * i for i in range(ROWS + 1)]
    assert len(encoded(column, good)) == ROWS  # type: ignore[arg-type]
    for wrong in (good[-1] + 1, good[-1] + 5_000, 2**31 - 1, good[row - 1] - 1, -1, -(2**31)):
        with pytest.raises(ValueError, match="point outside of it"):
            encoded(column, [*good[:row], wrong, *good[row + 1 :]])
