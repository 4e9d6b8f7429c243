"""What a peer gives to be timed, and the check that it does what the others do."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from bench import wire
from bench.workloads import Event, Workload


class Absent(Exception):
    """This peer, or this piece of it, is not there; the text says why."""


class WrongResultError(Exception):
    """A piece of work gives other information than the workload holds."""


@dataclass(frozen=True)
class Work:
    """One thing to time.

    `run` goes over the whole workload once and drops what it makes. `outcome` makes the same calls
    and keeps what they give; `check` looks at that. Nothing is timed that was not checked.
    """

    run: Callable[[], object]
    frames: int
    check: Callable[[], None]


class Peer:
    """A codec. Its methods `decode`, `encode` and so on take a workload and give its Work."""

    name: str
    distribution: str

    def decoded_value(self, value: Any, *, in_headers: bool) -> Any:
        """What this peer makes of a value it decodes, where that differs from the value."""
        return value

    def written(self, value: Any) -> Any:
        """What this peer puts on the wire for a value, where that differs from the value."""
        return value

    def work(self, operation: str, workload: Workload) -> Work:
        """The Work for an operation; Absent if the peer has none."""
        make: Callable[[Workload], Work] | None = getattr(self, operation, None)
        if make is None:
            raise Absent(f"{self.name} has no {operation}")
        return make(workload)


# ---------------------------------------------------------------- loops, the same for all


def over(call: Callable[[Any], object], workload: Workload, groups: Sequence[Any]) -> Any:
    """A function that calls `call` for each prepared frame, in the order of the stream."""
    if workload.triples:

        def flat() -> None:
            for method, header, body in groups:
                call(method)
                call(header)
                call(body)

        return flat
    return one_by_one(call, [item for group in groups for item in group])


def one_by_one(call: Callable[[Any], object], items: Sequence[Any]) -> Callable[[], None]:
    """A function that calls `call` for each item."""

    def run() -> None:
        for item in items:
            call(item)

    return run


# ---------------------------------------------------------------- equal information


def canonical(value: Any) -> Any:
    """A value with its kind spelled out, so that True is not 1 and 1 is not 1.0."""
    match value:
        case bool() | None:
            return value
        case float():
            return ("float", value)
        case int():
            return ("int", int(value))
        case Decimal():
            return ("decimal", value)
        case datetime():
            return ("datetime", value)
        case str():
            return value
        case bytes() | bytearray() | memoryview():
            return bytes(value)
        case dict():
            return {key: canonical(item) for key, item in value.items()}
        case list() | tuple():
            return [canonical(item) for item in value]
    return (type(value).__name__, repr(value))


def through(view: Callable[..., Any], value: Any) -> Any:
    """A value with `view` applied to its leaves."""
    if isinstance(value, dict):
        return {key: through(view, item) for key, item in value.items()}
    if isinstance(value, list):
        return [through(view, item) for item in value]
    return view(value)


def compare(who: str, results: Iterable[Any], expected: Iterable[Any]) -> None:
    """WrongResultError at the first difference."""
    results, expected = list(results), list(expected)
    for index, (one, other) in enumerate(zip(results, expected, strict=False)):
        if canonical(one) != canonical(other):
            raise WrongResultError(f"{who}, item {index}: {one!r}\nis not {other!r}")
    if len(results) != len(expected):
        raise WrongResultError(f"{who}: {len(results)} items, not {len(expected)}")


def _properties(properties: dict[str, Any], view: Callable[..., Any]) -> dict[str, Any]:
    return {
        name: through(lambda item: view(item, in_headers=True), value)
        if name == "headers"
        else view(value, in_headers=False)
        for name, value in properties.items()
    }


def check_frames(who: Peer, frames: Iterable[tuple[Any, ...]], workload: Workload) -> None:
    """Decoded frames, in the form of `wire.read_frames`, against the workload."""
    expected = [
        (*item[:3], _properties(item[3], who.decoded_value)) if item[0] == "header" else item
        for item in workload.expected_frames()
    ]
    compare(f"{who.name}, {workload.name}", frames, expected)


def _event(event: Event, view: Callable[..., Any]) -> tuple[Any, ...]:
    properties = None if event.properties is None else _properties(event.properties, view)
    return (event.channel, event.method, event.arguments, properties, event.body)


def check_events(who: Peer, events: Iterable[Event], workload: Workload) -> None:
    """Decoded methods and messages against the workload."""
    compare(
        f"{who.name}, {workload.name}",
        (_event(event, lambda value, **_: value) for event in events),
        (_event(event, who.decoded_value) for event in workload.events),
    )


def check_octets(who: Peer, pieces: Iterable[bytes], workload: Workload) -> None:
    """Encoded frames against the workload: read back, the information must be the same."""
    expected = [
        (*item[:3], through(who.written, item[3])) if item[0] == "header" else item
        for item in workload.expected_frames()
    ]
    frames = wire.read_frames(b"".join(pieces))
    compare(f"{who.name} encodes {workload.name}", frames, expected)
