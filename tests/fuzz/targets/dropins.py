"""Clients with their drop-in give what they give without it: value for value, error for error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from random import Random
from typing import Any

from tests.dropins import wild
from tests.dropins.case import Case, compare, make
from tests.dropins.stock import V1_MODULES, Side, installed
from tests.dropins_v1.use_azure import reading
from tests.fuzz import mutators
from tests.fuzz.target import Choices, Target
from tests.fuzz.targets.v1 import message_bytes, stream_seeds
from tests.support import borders_dropins as borders
from tests.support import client_bytes as octets

AZURE = next(iter(V1_MODULES))
#: (stock, with the drop-in) of what is installed.
SIDES: dict[str, tuple[Side, Side]] = {}


def around(package: str) -> Callable[[], AbstractContextManager[None]]:
    """Both copies of a client, the drop-in installed meanwhile."""

    @contextmanager
    def within() -> Iterator[None]:
        with installed(package) as SIDES[package]:
            yield
        del SIDES[package]

    return within


def same(package: str, case: Case) -> None:
    """Both give the same."""
    stock, live = SIDES[package]
    _, difference = compare(case, 0, stock, live)
    assert difference is None, difference


def reader(package: str, what: str, read: Callable[[Side, bytes], Any]) -> Callable[[bytes], None]:
    """Reading an input as it stands."""

    def run(data: bytes) -> None:
        same(package, Case(what, data, lambda side: read(side, data)))

    return run


def generated_case(package: str) -> Callable[[bytes], None]:
    """A generated question, whose seed is the input: writing, and all that is no plain reading."""

    def run(data: bytes) -> None:
        same(package, make(package, int.from_bytes(data[:8])))

    return run


def azure(data: bytes) -> None:
    """The readers of frames and of messages, on a view."""
    what = ("decode_frame", "decode_payload")[data[:1] == b"\1"]
    same(AZURE, reading(what, data[1:]))


def frame_seeds() -> Iterator[bytes]:
    """Frames of every method, and properties."""
    return iter(octets.pool()[::60])


def number_seeds() -> Iterator[bytes]:
    """Numbers of cases."""
    return (number.to_bytes(8) for number in range(40))


def azure_seeds() -> Iterator[bytes]:
    """What the client gets: frames without their size, and messages."""
    for seed in stream_seeds():
        stream, place = seed[4:], 0
        while place + 8 <= len(stream) and stream[place : place + 4] != b"AMQP":
            size = int.from_bytes(stream[place : place + 4])
            yield b"\0" + stream[place + 8 : place + size]
            place += size
    for message in message_bytes():
        yield b"\1" + message


def reseeded(data: bytes, rng: Random) -> bytes:
    """Another number."""
    return rng.randbytes(8)


def at_border(package: str) -> Callable[[bytes], None]:
    """A value of the input's choice, written as far from the end of a buffer as it says."""

    def run(data: bytes) -> None:
        choices = Choices(data, 5)
        write = choices.pick(borders.WRITERS[package])
        fixed = borders.V1_VALUES if package == AZURE else borders.VALUES
        number = choices.byte()
        length = choices.byte() << 8 | choices.byte()
        seed = choices.byte()

        def ask(side: Side) -> Any:
            value = fixed[number % len(fixed)] if number < 128 else wild.any_value(Random(seed))
            return write(side, length, value)

        same(package, Case(write.__name__, data, ask))

    return run


def border_seeds() -> Iterator[bytes]:
    """Each writer at each capacity."""
    for capacity in borders.CAPACITIES:
        for choice in range(3):
            yield bytes((choice, choice)) + (capacity - 20).to_bytes(2) + b"\0"


def near_border(data: bytes, rng: Random) -> bytes:
    """Another writer, value or distance from the end of a buffer."""
    length = rng.choice(borders.CAPACITIES) - rng.randrange(borders.REACH)
    return rng.randbytes(2) + length.to_bytes(2) + rng.randbytes(1)


def borders_of(name: str, package: str) -> Target:
    """The target that writes at the borders of buffers."""
    return Target(name, at_border(package), border_seeds, near_border, around(package), 5)


TARGETS = (
    Target(
        "pika",
        reader("pika", "decode_frame", lambda side, data: side.frame.decode_frame(data)),
        frame_seeds,
        mutators.legacy(0),
        around("pika"),
    ),
    Target(
        "pamqp",
        reader("pamqp", "unmarshal", lambda side, data: side.frame.unmarshal(data)),
        frame_seeds,
        mutators.legacy(0),
        around("pamqp"),
    ),
    Target("pika-cases", generated_case("pika"), number_seeds, reseeded, around("pika"), 8),
    Target("pamqp-cases", generated_case("pamqp"), number_seeds, reseeded, around("pamqp"), 8),
    Target("py-amqp-cases", generated_case("amqp"), number_seeds, reseeded, around("amqp"), 8),
    Target("azure", azure, azure_seeds, mutators.plain(1), around(AZURE), 2048),
    Target("azure-cases", generated_case(AZURE), number_seeds, reseeded, around(AZURE), 8),
    borders_of("pika-borders", "pika"),
    borders_of("pamqp-borders", "pamqp"),
    borders_of("py-amqp-borders", "amqp"),
    borders_of("azure-borders", AZURE),
)
