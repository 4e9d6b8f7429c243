"""A small capture of frames that claim very much is read to its end, in bounded memory."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest

from amqpcodec import capture
from amqpcodec import v1_0 as v1
from tests.support import recording as make
from tests.support import v1_talk
from tests.support.amqp10_wire import attach_with


@pytest.mark.parametrize("field_tables", ["json", "variant"])
@pytest.mark.parametrize("size", [55_000, 655_000])
def test_a_capture_of_claims_is_read_to_its_end(size: int, field_tables: str) -> None:
    one = attach_with(65536)
    stream = v1.PROTOCOL_HEADER + v1_talk.opening() + one * (size // len(one)) + v1_talk.attach()
    packets = make.opening()
    packets += [
        make.client(1001 + at, stream[at : at + 1400]) for at in range(0, len(stream), 1400)
    ]
    arrow_bytes = errors = rows = 0
    last = None
    for batch in capture.read(io.BytesIO(make.pcap(packets)), field_tables=field_tables):
        table = pa.record_batch(batch)
        arrow_bytes += table.nbytes
        rows += table.num_rows
        errors += sum("exceed the limit" in (text or "") for text in table["error"].to_pylist())
        last = table.to_pylist()[-1]
    assert rows == 3 + size // len(one)
    assert size // len(one) - 25 <= errors < size // len(one)
    assert arrow_bytes < 40 * size
    assert last is not None
    assert last["error"] is None
    assert last["method"] == "attach"
