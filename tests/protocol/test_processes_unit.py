"""Decoders in many threads, after fork and spawn, and in the other interpreters of a process."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import amqpcodec
from amqpcodec import v0_9_1 as old
from amqpcodec import v1_0 as new
from tests.support.samples_amqp0 import two_channels
from tests.support.samples_v1 import deliveries

SOURCE = Path(amqpcodec.__file__).resolve().parents[1]
# CPython's own advice, from 3.12 on, where some library of the tests has started a thread.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
POSIX_ONLY = pytest.mark.skipif(os.name == "nt", reason="takes fork")

#: Threads, and how often each reads everything.
THREADS, ROUNDS = 8, 20


def read(seed: int, *, chunk: int = 37) -> list[Any]:
    """All frames and messages of both families, through decoders of the caller's own."""
    events: list[Any] = []
    for decoder, data in (
        (old.Decoder(), two_channels(seed)),
        (old.MessageDecoder(), two_channels(seed)),
        (new.MessageDecoder(opened=True), deliveries(seed)),
    ):
        for at in range(0, len(data), chunk):
            events.extend(decoder.feed(data[at : at + chunk]))
    return events


def wrong_in_threads(right: Callable[[int], bool]) -> list[Any]:
    """Seeds for which it was not right, and errors: each seed many times in a thread of its own."""
    wrong: list[Any] = []
    barrier = threading.Barrier(THREADS)

    def work(seed: int) -> None:
        try:
            barrier.wait()
            wrong.extend(seed for _ in range(ROUNDS) if not right(seed))
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


def test_decoders_in_many_threads() -> None:
    expected = [read(seed) for seed in range(THREADS)]
    assert wrong_in_threads(lambda seed: read(seed) == expected[seed]) == []


NO_METHOD = bytes.fromhex("01 0001 00000004 00000000 ce")
NO_VALUE = bytes.fromhex("0000000c 02 00 0001 01000000")
DECODERS = [
    (old.Decoder, two_channels),
    (old.MessageDecoder, two_channels),
    (partial(new.Decoder, opened=True), deliveries),
    (partial(new.MessageDecoder, opened=True), deliveries),
]


def in_thread(call: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result()


@pytest.mark.parametrize(("make", "talk"), DECODERS)
def test_a_decoder_goes_from_thread_to_thread(
    make: Callable[[], Any], talk: Callable[[int], bytes]
) -> None:
    data = talk(3)
    decoder = make()
    events: list[Any] = []
    for at in range(0, len(data), 101):
        frames = in_thread(partial(decoder.feed, data[at : at + 101]))
        events += next(frames, ()), *in_thread(partial(list, frames))
    assert [event for event in events if event] == list(make().feed(data))


@pytest.mark.parametrize(("make", "talk"), DECODERS)
def test_feeding_while_another_thread_reads_is_an_error(
    make: Callable[[], Any], talk: Callable[[int], bytes]
) -> None:
    decoder = make()
    frames = decoder.feed(talk(1))
    first = next(frames)
    later_events = in_thread(lambda: list(decoder.feed(talk(2))))
    assert [first, *later_events] == list(make().feed(talk(1) + talk(2)))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="another thread fed this decoder"):
            next(frames)
    decoder.reset()
    assert list(decoder.feed(talk(1))) == list(make().feed(talk(1)))


@pytest.mark.parametrize(
    ("make", "bad"),
    [(make, NO_METHOD if talk is two_channels else NO_VALUE) for make, talk in DECODERS],
)
def test_a_decoder_in_use_is_refused(
    make: Callable[..., Any], bad: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runs inside of a call, as an error's constructor does, could otherwise take away the
    bytes that the call reads."""
    decoder = make(errors="frame")
    calls: list[Callable[[], Any]] = [
        partial(decoder.feed, b"x" * 100_000),
        decoder.reset,
        decoder.eof,
    ]
    if hasattr(decoder, "discard"):
        calls.append(partial(decoder.discard, *((1,) if bad is NO_METHOD else (1, 0))))
    refused = []

    def constructor(self: Any, *args: Any, **kwargs: Any) -> None:
        original_init(self, *args, **kwargs)
        for call in calls:
            with pytest.raises(RuntimeError, match="in use"):
                call()
            refused.append(call)

    original_init = amqpcodec.DecodeError.__init__
    assert list(decoder.feed(bad[:5])) == []
    monkeypatch.setattr(amqpcodec.DecodeError, "__init__", constructor)
    raw_frames = [frame.raw for _, frame in decoder.feed(bad[5:] + bad)]
    assert refused == calls * 2
    assert raw_frames == [bad, bad]


def test_columns_in_many_threads() -> None:
    pa = pytest.importorskip("pyarrow")
    from amqpcodec import batch

    data = [two_channels(seed) for seed in range(THREADS)]
    expected = [pa.record_batch(batch.decode(stream)) for stream in data]

    def right(seed: int) -> bool:
        return bool(pa.record_batch(batch.decode(data[seed])).equals(expected[seed]))

    assert wrong_in_threads(right) == []


def halves(decoder: Any, data: bytes) -> Iterator[Any]:
    middle = len(data) // 2 + 3
    yield from decoder.feed(data[:middle])
    yield None
    yield from decoder.feed(data[middle:])


@POSIX_ONLY
@pytest.mark.parametrize("make", [old.Decoder, old.MessageDecoder])
def test_both_sides_of_a_fork_go_on(make: Callable[[], Any]) -> None:
    data = two_channels(7)
    complete = [event for event in halves(make(), data) if event is not None]
    frames = halves(make(), data)
    before = list(iter(frames.__next__, None))
    assert 0 < len(before) < len(complete)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, pickle.dumps(list(frames) == complete[len(before) :]))
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        assert pickle.loads(pipe.read()) is True
    assert os.waitpid(child, 0)[1] == 0
    assert before + list(frames) == complete


@pytest.mark.slow
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_a_pool_of_processes(method: str) -> None:
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        frames = list(pool.map(frames_of, range(4)))
    assert frames == [frames_of(seed) for seed in range(4)]


def frames_of(seed: int) -> list[Any]:
    """Objects, which a pool sends back by pickle."""
    return list(old.Decoder().feed(two_channels(seed)))


#: Ways into the package that load compiled modules.
ENTRIES = [
    *("v0_9_1", "v0_9", "v0_8", "v1_0", "_facade.decoder", "limits", "batch", "capture"),
    *("compat.pika", "compat.pamqp", "compat.amqp", "compat.azure"),
]

OTHERS = """
import sys
ROUND_TRIP = "from amqpcodec import v0_9_1 as a; assert a.decode(a.encode(1, a.Basic.Ack(5)))"
if sys.version_info >= (3, 13):
    import _interpreters
    def other(isolated, code):
        made = _interpreters.create("isolated" if isolated else "legacy")
        failed = _interpreters.exec(made, code)
        if failed:
            raise RuntimeError(failed.formatted)
else:
    import _xxsubinterpreters
    def other(isolated, code):
        _xxsubinterpreters.run_string(_xxsubinterpreters.create(isolated=isolated), code)
"""

REFUSED = """
try:
    import importlib
    importlib.import_module({name!r})
except ImportError as error:
    assert str(error).startswith("amqpcodec cannot be used in this interpreter"), str(error)
    assert "threads or processes" in str(error)
else:
    raise AssertionError("not refused")
"""


def python(code: str) -> None:
    """Run code in a process of its own, which has to end well."""
    process = subprocess.run(
        [sys.executable, "-c", OTHERS + code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(SOURCE), os.getcwd()))},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES)
def test_a_second_interpreter_is_refused_with_the_reason(entry: str) -> None:
    refused = REFUSED.format(name=f"amqpcodec.{entry}")
    # Below 3.12 an isolated one that came first would get the core.
    first = "" if sys.version_info < (3, 12) else f"other(True, {refused!r})"
    then = "".join(f"other({isolated}, {refused!r})\n" for isolated in (False, True))
    python(f"{first}\nexec(ROUND_TRIP)\n{then}exec(ROUND_TRIP)")


def test_the_one_interpreter_may_be_another_than_the_first() -> None:
    """As in a server that gives each application an interpreter, with one GIL for all."""
    python(f"other(False, ROUND_TRIP)\nexec({REFUSED.format(name='amqpcodec.v0_9_1')!r})")


def test_the_errors_are_there_in_every_interpreter() -> None:
    python("exec(ROUND_TRIP)\nother(True, 'from amqpcodec import DecodeError')")
