"""Frames to columns: every level, layout, form of tables and choice of columns."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pyarrow as pa

from amqpcodec import _codec, batch, limits, v0_8, v0_9, v0_9_1
from tests.columns.test_fast_path_differential import NAMED
from tests.columns.test_v1_fast_path_differential import HEARTBEAT as V1_HEARTBEAT
from tests.columns.v1_rows import ASKED
from tests.fuzz import mutators, v1_mutators
from tests.fuzz.target import Choices, Target
from tests.fuzz.targets.legacy import stream_seeds
from tests.fuzz.targets.v1 import stream_seeds as v1_seeds
from tests.support import amqp091_gen, amqp10_wire, borders, v1_gen
from tests.support import amqp091_wire as w
from tests.support.borders_columns import CASES as BORDERS
from tests.support.guarded import guarded_value
from tests.support.like_messages import messages as like_messages

HEAD = 7
LEVELS = ("frame", "message")
MODES = ("PERMISSIVE", "PERMISSIVE", "DROPMALFORMED")
TABLES = ("json", "variant", "map")
LAYOUTS = ("plain", "view")
#: Bytes of columns for each byte of input, and for nothing: what a row costs whatever is in it.
GROWTH, START = 400, 200_000
#: Bytes of columns for an element of 1.0 without bytes: `false,`, or an empty list of a variant and
#: its offset. A frame or section may have as many as the limit, whatever its own bytes.
EMPTY_ELEMENT = 6
BORDER_NAMES = sorted(BORDERS)


@functools.cache
def slow(version: Any) -> Any:
    """The same protocol without its fast paths."""
    return _codec.Protocol(version.PROTOCOL.table, False)


def same(one: Any, other: Any) -> bool:
    """Whether two record batches have the same values; for Arrow no NaN is equal to another one."""
    return bool(
        one.equals(other)
        or (one.schema == other.schema and repr(one.to_pydict()) == repr(other.to_pydict()))
    )


def decode_unchecked(data: Any, **options: Any) -> Any:
    """A record batch into which pyarrow has not looked."""
    return pa.record_batch(batch.decode(data, **options))


def decode(data: Any, **options: Any) -> Any:
    """A record batch that pyarrow finds sound."""
    record_batch = decode_unchecked(data, **options)
    record_batch.validate(full=True)
    return record_batch


def some_columns(choices: Choices, level: str) -> list[str] | None:
    """None, or some names that the level has."""
    rng = Random(choices.byte())
    if rng.randrange(8) == 0:
        return None
    return [*rng.sample(NAMED, rng.randrange(1, 9)), "payload" if level == "frame" else "body"]


def chosen(choices: Choices) -> tuple[Any, dict[str, Any]]:
    """A version of 0-x, and how its frames become columns."""
    version = choices.pick((v0_9_1, v0_9_1, v0_9, v0_8))
    level = choices.pick(LEVELS)
    return version, {
        "level": level,
        "mode": choices.pick(MODES),
        "layout": choices.pick(LAYOUTS),
        "field_tables": choices.pick(TABLES),
        "fields": some_columns(choices, level) if version is v0_9_1 else None,
    }


def quick_legacy(data: bytes) -> None:
    """The fast path and the slow one give the same columns."""
    choices = Choices(data, HEAD)
    version, options = chosen(choices)
    octets = guarded_value(choices.rest) if choices.byte() % 8 == 7 else choices.rest
    fast = decode_unchecked(octets, protocol=version.PROTOCOL, **options)
    again = decode_unchecked(octets, protocol=slow(version), **options)
    assert same(fast, again), options


def legacy(data: bytes) -> None:
    """The fast path and the slow one give the same columns, and nothing of the input is lost."""
    choices = Choices(data, HEAD)
    version, options = chosen(choices)
    octets = guarded_value(choices.rest) if choices.byte() % 8 == 7 else choices.rest
    fast = decode(octets, protocol=version.PROTOCOL, **options)
    assert fast.nbytes <= START + GROWTH * len(choices.rest), fast.nbytes
    again = decode(octets, protocol=slow(version), **options)
    assert same(fast, again), options
    frame_rows = decode(
        choices.rest, protocol=version.PROTOCOL, fields=["frame", "offset", "error"]
    )
    assert b"".join(frame_rows.column("frame").to_pylist()) == choices.rest


@functools.lru_cache(maxsize=2000)
def similar_messages(seed: int, count: int, change: float) -> bytes:
    """Kept for other inputs: to make a stream takes several times as long as to read it."""
    return like_messages(Random(seed), count, change)


def runs(data: bytes, read: Callable[..., Any] = decode) -> None:
    """Many messages alike with some bytes changed: a run of rows has the checks of a single one."""
    choices = Choices(data, HEAD)
    seed = choices.byte()
    count = 6 + choices.byte() % 40
    change = choices.pick((0.0, 0.0, 0.02, 0.3))
    level = choices.pick(LEVELS)
    options = {
        "level": level,
        "field_tables": choices.pick(TABLES),
        "layout": choices.pick(LAYOUTS),
    }
    options["fields"] = some_columns(choices, level)
    stream = bytearray(similar_messages(seed, count, change))
    edits = choices.rest
    for at in range(0, len(edits) - 2, 3):
        stream[int.from_bytes(edits[at : at + 2]) % len(stream)] = edits[at + 2]
    octets = bytes(stream) + w.HEARTBEAT * 3
    fast = read(octets, protocol=v0_9_1.PROTOCOL, **options)
    assert same(fast, read(octets, protocol=slow(v0_9_1), **options)), options


def run_seeds() -> Iterator[bytes]:
    """Without and with a few changes."""
    for number in range(40):
        rng = Random(number)
        head = bytes(rng.randrange(256) for _ in range(HEAD))
        yield head + rng.randbytes(3 * rng.randrange(3))


def v1(data: bytes, read: Callable[..., Any] = decode) -> None:
    """A frame alone and one with more after it give the same row; nothing of the input is lost."""
    choices = Choices(data, HEAD)
    level = choices.pick(LEVELS)
    options: dict[str, Any] = {
        "level": level,
        "mode": choices.pick(MODES),
        "layout": choices.pick(LAYOUTS),
        "field_tables": choices.pick(TABLES),
        "protocol": "1.0",
    }
    if choices.byte() % 2 and level == "message":
        options["fields"] = ASKED
    octets = guarded_value(choices.rest) if choices.byte() % 8 == 7 else choices.rest
    alone = read(octets, **options)
    most = START + EMPTY_ELEMENT * limits.get_max_empty_elements() + GROWTH * len(choices.rest)
    assert alone.nbytes <= most, alone.nbytes
    frame_rows = read(choices.rest, protocol="1.0", fields=["frame", "error"])
    assert b"".join(frame_rows.column("frame").to_pylist()) == choices.rest
    if frame_rows.num_rows and frame_rows.column("error").null_count == frame_rows.num_rows:
        # Framing is whole: heartbeats after it change nothing but let the fast path go on.
        more = read(choices.rest + V1_HEARTBEAT * 3, **options)
        assert level == "message" or same(more.slice(0, alone.num_rows), alone), options


def v1_column_seeds() -> Iterator[bytes]:
    """Streams, and properties with as many elements without bytes as a section may have."""
    yield from padded(v1_seeds(), 4)
    for code, field_tables in ((0x42, "json"), (0x45, "variant")):
        elements = amqp10_wire.empty_elements(limits.get_max_empty_elements(), code)
        properties = amqp10_wire.compound(amqp10_wire.MAP32, b"\xa1\1k" + elements, 2)
        head = (LEVELS.index("message"), 0, 0, TABLES.index(field_tables))
        yield bytes(head).ljust(HEAD, b"\0") + amqp10_wire.performative(
            amqp10_wire.TRANSFER,
            amqp10_wire.ZERO,
            amqp10_wire.ZERO,
            b"\xa0\1t",
            payload=b"\0\x53\x74" + properties,
        )


def padded(seeds: Iterator[bytes], head: int) -> Iterator[bytes]:
    """Seeds with this many random choosing bytes instead of their own."""
    for number, seed in enumerate(seeds):
        yield Random(number).randbytes(HEAD) + seed[head:]


@functools.cache
def other_rows(seed: bytes, v1: bool) -> tuple[bytes, ...]:
    """Random rows, kept for other inputs: to make them takes longer than to read them."""
    rng = Random(seed)
    if v1:
        return tuple(v1_gen.frame(rng) for _ in range(5))
    return tuple(amqp091_gen.conversation(rng, 2) for _ in range(3))


def at_border(data: bytes) -> None:
    """Random rows say the same after a row of any size as alone."""
    choice, length, seed = borders.read_input(data)
    case = BORDERS[BORDER_NAMES[choice % len(BORDER_NAMES)]]
    others = other_rows(seed, case.options.get("protocol") == "1.0")
    case.check(borders.SHORT + length, others)


TARGETS = (
    Target(
        "columns",
        legacy,
        lambda: padded(stream_seeds(), 6),
        mutators.legacy(HEAD),
        largest=1024,
        quick=quick_legacy,
    ),
    Target(
        "columns-runs",
        runs,
        run_seeds,
        mutators.plain(HEAD),
        largest=60,
        quick=functools.partial(runs, read=decode_unchecked),
    ),
    Target(
        "v1-columns",
        v1,
        v1_column_seeds,
        v1_mutators.streams(HEAD),
        quick=functools.partial(v1, read=decode_unchecked),
    ),
    Target(
        "columns-borders",
        at_border,
        lambda: borders.seeds(len(BORDERS)),
        borders.near_border,
        largest=borders.LARGEST,
    ),
)
