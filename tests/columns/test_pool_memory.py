"""Memory: given back, bounded in the pool, and never taken because of a length that lies."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import textwrap
from collections.abc import Iterator

import pytest

from amqpcodec import DecodeError, batch
from tests.columns.batch_rows import pa
from tests.support import amqp091_wire as w

MESSAGE = (
    w.method_frame("basic.deliver", consumer_tag="ctag1", exchange="orders", routing_key="key")
    + w.header_frame(100, headers={"n": 1, "text": "some text"}, message_id="an-id")
    + w.body_frame(1, bytes(100))
)
BAD = w.header_frame(5, headers=w.table(("k", b"S\0\0\0\1a"), ("z", b"Z")))


def run(code: str) -> str:
    """Measured in a process of its own, where nothing else allocates."""
    prelude = """
        import resource, sys
        import pyarrow as pa
        import amqpcodec
        from amqpcodec import batch
        from tests.columns.test_pool_memory import BAD, MESSAGE

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * resource.getpagesize()
    """
    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(prelude) + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


linux = pytest.mark.skipif(
    sys.platform != "linux" or "asan" in os.environ.get("LD_PRELOAD", ""),
    reason="reads /proc, and no memory is as it is under a sanitizer",
)


@linux
def test_many_cycles() -> None:
    """Decoded and released over and over: good and bad frames, errors, schemas, both inputs."""
    growth = run(
        """
        bytes = MESSAGE * 500 + BAD * 20
        values = pa.array([MESSAGE, None, BAD, MESSAGE * 3] * 200, pa.binary())

        def cycle():
            for data in (bytes, values):
                taken = [pa.record_batch(batch.decode(data)) for _ in range(2)]
                batch.decode(data, mode="DROPMALFORMED").__arrow_c_array__()
                batch.decode(data, fields=["arguments", "error"])
                batch.schema().__arrow_c_schema__()
                try:
                    batch.decode(data, mode="FAILFAST")
                except amqpcodec.DecodeError:
                    pass
                for wrong in (["x"], 5):
                    try:
                        batch.decode(data, fields=wrong)
                    except (TypeError, ValueError):
                        pass
        for _ in range(30):
            cycle()
        before = resident()
        for _ in range(300):
            cycle()
        print(resident() - before)
        """
    )
    assert int(growth) < 4 << 20


@linux
def test_held_results_are_given_back() -> None:
    output = run(
        """
        import gc
        batch.decode(MESSAGE)
        before = resident()
        for _ in range(8):
            held = [pa.record_batch(batch.decode(MESSAGE * 5000)) for _ in range(20)]
            print(resident() - before)
            del held
            gc.collect()
            batch.release_memory()
            print(resident() - before)
        """
    )
    sizes = list(map(int, output.split()))
    _, first, *others = sizes[::2]
    assert first > 50 << 20
    assert max(others) < first * 1.2
    if platform.libc_ver()[0] == "glibc":  # other mallocs are not told to let go
        assert max(sizes[1::2]) < 8 << 20


def test_pool_is_bounded_and_used() -> None:
    batch.release_memory()
    assert batch.kept_memory() == 0
    for _ in range(10):
        pa.record_batch(batch.decode(MESSAGE * 1000))
    pool_bytes = batch.kept_memory()
    if not pool_bytes:
        pytest.skip("built with a sanitizer, without a pool")
    address = pa.record_batch(batch.decode(MESSAGE * 1000)).column("frame").buffers()[2].address
    for _ in range(20):
        again = pa.record_batch(batch.decode(MESSAGE * 1000)).column("frame").buffers()[2].address
        assert again == address
    assert batch.kept_memory() == pool_bytes
    many = [batch.decode(MESSAGE * 20000) for _ in range(20)]
    del many
    full_pool_bytes = batch.kept_memory()
    assert pool_bytes < full_pool_bytes <= 64 << 20
    assert batch.release_memory() == full_pool_bytes
    assert batch.kept_memory() == 0


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or platform.libc_ver()[0] != "glibc",
    reason="threads cannot be told, or do not know, where they run",
)
def test_a_processor_takes_the_blocks_that_it_wrote() -> None:
    before = os.sched_getaffinity(0)
    if len(before) < 2:
        pytest.skip("one processor")

    def decoded(processor: int) -> tuple[object, set[int]]:
        os.sched_setaffinity(0, {processor})
        record_batch = pa.record_batch(batch.decode(MESSAGE * 1000))
        blocks = [block for column in record_batch.columns for block in column.buffers() if block]
        return record_batch, {block.address for block in blocks}

    one, other = sorted(before)[:2]
    batch.release_memory()
    try:
        first, ours = decoded(one)
        second, theirs = decoded(other)
        ours, theirs = ours - theirs, theirs - ours
        del first, second  # theirs are the newest
        if not batch.kept_memory():
            pytest.skip("built with a sanitizer, without a pool")
        _, addresses = decoded(one)
    finally:
        os.sched_setaffinity(0, before)
    assert len(addresses & ours) > len(addresses & theirs)


@pytest.fixture
def limit() -> Iterator[int]:
    """The limit before the test, and after it again."""
    before = batch.limit_memory(1 << 20)
    yield before
    batch.limit_memory(before)


def test_the_limit_of_the_pool(limit: int) -> None:
    assert limit == 64 << 20
    assert batch.limit_memory(1 << 20) == 1 << 20
    for _ in range(10):
        pa.record_batch(batch.decode(MESSAGE * 2000))
    assert batch.kept_memory() <= 1 << 20
    batch.limit_memory(32 << 20)
    for _ in range(10):
        pa.record_batch(batch.decode(MESSAGE * 6000))
    pool_bytes = batch.kept_memory()
    if not pool_bytes:
        pytest.skip("built with a sanitizer, without a pool")
    assert 1 << 20 < pool_bytes <= 32 << 20
    assert batch.limit_memory(0) == 32 << 20
    assert batch.kept_memory() == 0
    pa.record_batch(batch.decode(MESSAGE * 2000))
    assert batch.kept_memory() == 0
    assert batch.release_memory() == 0


def test_the_pool_keeps_as_much_as_its_limit(limit: int) -> None:
    batch.limit_memory(32 << 20)
    for _ in range(3):
        batch.decode(MESSAGE * 2000)
    pool_bytes = batch.kept_memory()
    batch.limit_memory(pool_bytes)
    batch.decode(MESSAGE * 2000)
    assert batch.kept_memory() == pool_bytes


def test_limits_that_are_none() -> None:
    with pytest.raises(ValueError, match="0 or more bytes, not -1"):
        batch.limit_memory(-1)
    with pytest.raises(OverflowError):
        batch.limit_memory(1 << 70)
    with pytest.raises(TypeError):
        batch.limit_memory("64 MiB")  # type: ignore[arg-type]


def test_results_in_use_are_not_released() -> None:
    record_batch = pa.record_batch(batch.decode(MESSAGE * 1000))
    expected = record_batch.to_pylist()
    batch.release_memory()
    assert record_batch.to_pylist() == expected


@linux
def test_lengths_that_lie_take_no_memory() -> None:
    growth = run(
        """
        import resource
        lies = [
            b"\\1\\0\\1\\xff\\xff\\xff\\xff" + b"x" * 50,
            MESSAGE[:20] + b"\\xff" * 8 + MESSAGE[28:],
            b"\\2\\0\\1\\0\\0\\0\\x1a\\0\\x3c\\0\\0" + b"\\xff" * 8 + b"\\x20\\0"
            + b"\\xff" * 4 + b"\\0" * 6 + b"\\xce",
        ]
        batch.decode(MESSAGE)
        resource.setrlimit(resource.RLIMIT_AS, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                           * 1024 + (4 << 30), -1))
        before = resident()
        held = []
        for data in lies * 50:
            held.append(batch.decode(data))
        print(resident() - before)
        """
    )
    assert int(growth) < 8 << 20


@linux
def test_no_memory_left() -> None:
    """MemoryError, and the process goes on."""
    output_lines = run(
        """
        data = MESSAGE * 300_000
        batch.decode(MESSAGE)
        limit = resource.getrlimit(resource.RLIMIT_AS)
        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        for more in range(0, 200, 10):
            resource.setrlimit(resource.RLIMIT_AS, (now + (more << 20), limit[1]))
            try:
                batch.decode(data)
            except MemoryError:
                print("none")
            batch.release_memory()
        resource.setrlimit(resource.RLIMIT_AS, limit)
        print(len(batch.decode(data)))
        """
    ).split()
    assert output_lines[-1] == "900000"
    assert output_lines.count("none") > 5


def test_errors_keep_nothing() -> None:
    batch.release_memory()
    for _ in range(50):
        with pytest.raises(DecodeError):
            batch.decode(MESSAGE * 100 + BAD, mode="FAILFAST")
    first = batch.kept_memory()
    for _ in range(50):
        with pytest.raises(DecodeError):
            batch.decode(MESSAGE * 100 + BAD, mode="FAILFAST")
    assert batch.kept_memory() == first
