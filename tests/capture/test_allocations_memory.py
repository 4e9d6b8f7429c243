"""Memory that runs out anywhere in the reading of captures is a MemoryError, and no more."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from amqpcodec import capture
from tests.paths import REPO
from tests.support import mangle, no_memory, v1_talk, wrap
from tests.support import recording as make
from tests.support.translation import BOTH, capture_of, sightings

PARTS = mangle.parts(REPO / "demo" / "kombu_celery.pcap.gz")[:150]


LOSSY = make.pcap(mangle.records(mangle.lossy(PARTS, 1, loss=0.05)))
PCAPNG = make.section() + make.interface("<", 1)
PCAPNG += b"".join(
    make.enhanced("<", 0, k, make.ethernet(part.raw())) for k, part in enumerate(PARTS)
)
#: Captured again, without the last packets of the second time.
TWICE = capture_of(sightings(PARTS[:40], BOTH, delay_ns=9000)[:-5])


def fragmented() -> bytes:
    packets = [part.raw() for part in PARTS[:60]]
    return make.pcap(map(make.ethernet, wrap.fragmented(packets, 3)))


def read(data: bytes, **options: Any) -> Callable[[], Any]:
    def call() -> Any:
        batches = [pa.record_batch(batch) for batch in capture.read(io.BytesIO(data), **options)]
        assert batches
        return pa.Table.from_batches(batches)

    return call


def saved(data: bytes) -> Callable[[], Any]:
    """Half of it, the state, and the other half by another reader."""

    def call() -> Any:
        reader = capture.Reader(io.BytesIO(data))
        batches = list(reader.read(stop=len(data) // 2))
        other = capture.Reader(io.BytesIO(data))
        other.resume(reader.state())
        batches += other.read()
        return pa.Table.from_batches([pa.record_batch(batch) for batch in batches])

    return call


CASES: dict[str, Callable[[], Callable[[], Any]]] = {
    f"{name} {level} {order}": partial(read, capture_bytes, level=level, order=order, batch_rows=50)
    for name, capture_bytes in (("lossy", LOSSY), ("1.0 and 0-9-1", v1_talk.both_families()))
    for level in ("frame", "message")
    for order in ("packets", "none")
}
CASES["fragments"] = partial(read, fragmented())
CASES["a state"] = partial(saved, LOSSY)
CASES["a state of pcapng"] = partial(saved, PCAPNG)
CASES["captured twice"] = partial(read, TWICE)
CASES["captured twice, a state"] = partial(saved, TWICE)


@pytest.mark.parametrize("case", CASES)
def test_each_allocation_may_fail(case: str, tmp_path: Path) -> None:
    no_memory.check("tests.capture.test_allocations_memory", case, tmp_path, python=False)
