"""Random programs of AMQP 0-9-1, run frame by frame on two brokers that have to answer the same.

A program is a list of steps. After each one the runner waits for a round trip on every open channel
and asks for the counts of every queue, so that no race is compared. Where RabbitMQ is free:

| free in RabbitMQ | here |
|---|---|
| order between confirms, deliveries and replies of a channel | three lists; confirms sorted |
| several confirms as one | a confirm for each publication |
| order in which several queues feed one channel | the program ends there |
| order in which the channels of a connection end | the program ends there, if two have deliveries |
| whose turn it is when a prefetch of several consumers has room | the program ends there |
| its crash (541): a queue of another type with the name of a deleted one | the program ends there |
| the count of get-ok while messages expire | the program ends there |
| what a connection is sent while it is closed for a mistake | only the close is compared |
| when an answer that nobody waits for comes | waited for, `PATIENCE` seconds at most |
| what happens once in a thousand times | a difference counts if the program differs again |
| generated names of queues, times of x-death | left out |
| x-delivery-count of 0, which RabbitMQ 3.10 has after basic.get alone, and 3.13 never | left out |
| how much a quorum queue takes above its limit, when it refuses | such queues drop their head |
"""

from __future__ import annotations

import random
import re
import socket
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from amqpcodec import v0_9_1 as amqp
from amqpcodec.testing import Broker

PATIENCE = 2.0
QUEUES = ("q1", "q2", "q3", "q4")
EXCHANGES = ("x1", "x2", "x3")
CHANNELS = ("a1", "a2", "b1")
UNOPENED = 7  # a number of a channel that nobody opens
#: What a step showed: "a1" -> replies, "a1 deliveries", "a1 confirms", "q1" -> its counts.
Seen = dict[str, list[str]]


@dataclass(frozen=True)
class Step:
    """A method on a channel: "a1" is channel 1 of connection a.

    method: None where the socket is closed.
    pause: seconds to wait before looking at what happened.
    """

    where: str
    method: Any
    properties: Any = None
    body: bytes = b""
    pause: float = 0.0

    def __str__(self) -> str:
        content = "" if self.properties is None else f" {self.properties} {self.body.decode()}"
        return f"{self.where}  {self.method or 'the socket ends'}{content}" + (
            f"  then {self.pause} s" if self.pause else ""
        )


class Gone(Exception):
    """The connection is over."""


@dataclass
class ChannelState:
    """What a client knows of its channel."""

    published: int = 0
    unconfirmed: list[int] | None = None
    unsettled: list[int] = field(default_factory=list)
    no_ack: dict[str, bool] = field(default_factory=dict)
    gets_settled: bool = False
    transactional: bool = False
    shared_prefetch: bool = False


class Line:
    """A connection that sends any frame, right or wrong."""

    def __init__(self, address: tuple[str, int], name: str) -> None:
        self.name = name
        self.channels: dict[int, ChannelState] = {}
        self.observed: Seen = defaultdict(list)
        self.is_open = True
        self.round_trips: set[int] = set()
        self.unanswered: set[int] = set()
        self.socket = socket.create_connection(address, timeout=20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._decoder = amqp.MessageDecoder()
        capabilities = {"consumer_cancel_notify": True, "basic.nack": True}
        answers = {
            amqp.Connection.Start: [
                amqp.Connection.StartOk(
                    {"capabilities": capabilities}, "PLAIN", b"\0guest\0guest", "en_US"
                )
            ],
            amqp.Connection.Tune: [
                amqp.Connection.TuneOk(2047, 131072, 0),
                amqp.Connection.Open("/"),
            ],
        }
        self.socket.sendall(amqp.PROTOCOL_HEADER)
        while not isinstance(event := self._receive()[0][1], amqp.Connection.OpenOk):
            for answer in answers[type(event)]:
                self.send(0, answer)

    def send(self, channel: int, method: Any, properties: Any = None, body: bytes = b"") -> None:
        if isinstance(method, amqp.Channel.Close | amqp.Connection.Close | amqp.Tx.Commit):
            self.unanswered.add(channel)  # nothing may be sent before the answer
        if properties is None:
            self.socket.sendall(amqp.encode(channel, method))
        else:
            self.socket.sendall(amqp.encode_message(channel, method, properties, body))

    def _receive(self) -> list[tuple[int, Any]]:
        data = self.socket.recv(262144)
        if not data:
            raise Gone
        return list(self._decoder.feed(data))

    def open(self, channel: int) -> None:
        if channel not in self.channels:
            self.send(channel, amqp.Channel.Open())
            self.channels[channel] = ChannelState()

    def settle(self) -> None:
        """A round trip on every channel: what was to come to it by then is here."""
        self.round_trips = {*self.channels, *self.unanswered}
        try:
            if 0 not in self.unanswered:
                for channel in self.channels.keys() - self.unanswered:
                    self.send(channel, amqp.Channel.Flow(True))
            while self.round_trips and self.is_open:
                for channel, event in self._receive():
                    self._act(channel, event)
        except (Gone, ConnectionError):
            self._over("the socket ended")
        except TimeoutError:
            self._over("no answer")

    def _over(self, text: str) -> None:
        if self.is_open:
            self.observed[self.name].append(text)
        self.is_open = False

    def _act(self, number: int, event: Any) -> None:
        method = event.method if isinstance(event, amqp.Message) else event
        state = self.channels.get(number)
        match method:
            case amqp.Channel.FlowOk():
                self.round_trips.discard(number)
            case amqp.Channel.OpenOk() | amqp.Heartbeat():
                pass
            case amqp.Connection.Close():
                self._over(shown(event))
                self.send(0, amqp.Connection.CloseOk())
            case amqp.Connection.CloseOk():
                self._over(shown(event))
            case amqp.Tx.CommitOk():
                self._say(number, event)
                self.round_trips.discard(number)
                self.unanswered.discard(number)
            case amqp.Channel.Close() | amqp.Channel.CloseOk():
                self._say(number, event)
                self.channels.pop(number, None)
                self.round_trips.discard(number)
                self.unanswered.discard(number)
                if isinstance(method, amqp.Channel.Close):
                    self.send(number, amqp.Channel.CloseOk())
            case amqp.Basic.Ack() | amqp.Basic.Nack() if state and state.unconfirmed is not None:
                for tag in settled(state.unconfirmed, method):
                    self.observed[f"{self.name}{number} confirms"].append(f"{tag} {method.NAME}")
            case amqp.Basic.Deliver() | amqp.Basic.GetOk() if state is not None:
                is_get = isinstance(method, amqp.Basic.GetOk)
                tag = "" if is_get else method.consumer_tag
                if not (state.gets_settled if is_get else state.no_ack.get(tag, True)):
                    state.unsettled.append(method.delivery_tag)
                self._say(number, event, "" if is_get else " deliveries")
            case _:
                self._say(number, event)

    def _say(self, number: int, event: Any, which: str = "") -> None:
        self.observed[f"{self.name}{number}{which}"].append(shown(event))

    def close(self) -> None:
        """Close it and wait for the answer: its exclusive queues are gone then."""
        with suppress(OSError, Gone):
            if self.is_open:
                self.send(0, amqp.Connection.Close(200, ""))
                while not any(
                    isinstance(event, amqp.Connection.CloseOk) for _, event in self._receive()
                ):
                    pass
        self.socket.close()


def settled(tags: list[int], method: Any) -> list[int]:
    """The tags that an acknowledgement is of; they are removed."""
    tag = method.delivery_tag
    multiple = getattr(method, "multiple", False)
    result = [one for one in tags if one == tag or (multiple and (one <= tag or not tag))]
    tags[:] = [one for one in tags if one not in result]
    return result


def shown(event: Any) -> str:
    """An event as text, without what is made for a run."""
    text = str(event)
    if isinstance(event, amqp.Message):
        properties = {
            name: value
            for name in event.properties.FIELDS
            if (value := comparable(getattr(event.properties, name))) is not None
        }
        text = f"{event.method} {properties} {event.body.decode()}"
    return re.sub(r"amq\.gen-[\w-]+", "amq.gen-NAME", text)


def comparable(value: Any) -> Any:
    """A value of a table, in one order and without times; None where nothing is left."""
    if isinstance(value, dict):
        left_out = {"time"} | (
            {"x-delivery-count"} if value.get("x-delivery-count") == 0 else set()
        )
        return {key: comparable(value[key]) for key in sorted(value) if key not in left_out} or None
    return [comparable(one) for one in value] if isinstance(value, list) else value


class Run:
    """A broker, and the connections of a program."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self.lines: dict[str, Line] = {}
        self.queues: list[str] = []  # that there are
        self.is_free = False  # whether RabbitMQ may do something else
        self.observer = Line(address, "observer ")

    def __enter__(self) -> Run:
        self.clean()
        return self

    def __exit__(self, *exception: object) -> None:
        for line in self.lines.values():
            line.close()
        self.clean()
        self.observer.close()

    def clean(self) -> None:
        """Delete what programs make; wait where a connection that ended still has it."""
        deadline = time.monotonic() + 10
        names = [amqp.Queue.Delete(name) for name in QUEUES]
        names += [amqp.Exchange.Delete(name) for name in EXCHANGES]
        while time.monotonic() < deadline:
            for method in names:
                self.observer.open(1)
                self.observer.send(1, method)
                self.observer.settle()
            replies = self.observer.observed.pop("observer 1", [])
            if not any("Close(" in reply for reply in replies):
                return
            time.sleep(0.01)

    def state(self, where: str) -> ChannelState | None:
        line = self.lines.get(where[0])
        return line.channels.get(int(where[1])) if line and line.is_open else None

    def do(self, step: Step, expected: Seen | None = None) -> Seen:
        """Do a step; what it shows, which is waited for where it is known."""
        states = [state for line in self.lines.values() for state in line.channels.values()]
        self.is_free = any(one.shared_prefetch and len(one.no_ack) > 1 for one in states)
        self._send(step)
        line = self.lines[step.where[0]]
        busy = sum(bool(state.unsettled) for state in line.channels.values())
        time.sleep(step.pause)
        observed: Seen = {}
        deadline = time.monotonic() + PATIENCE
        while True:
            self._observe(observed)
            self.is_free = self.is_free or (busy > 1 and not line.is_open)
            if expected is None or observed == expected or time.monotonic() > deadline:
                return observed
            time.sleep(0.002)

    def _send(self, step: Step) -> None:
        name, number = step.where[0], int(step.where[1])
        line = self.lines.get(name)
        if line is None or not line.is_open:
            if line is not None:
                line.socket.close()
            line = self.lines[name] = Line(self.address, name)
        if step.method is None:
            line.socket.close()
            line.is_open = False
            return
        is_connection = isinstance(step.method, amqp.Connection.Close)
        if not is_connection and number != UNOPENED:
            line.open(number)
            remember(line.channels[number], step.method)
        line.send(0 if is_connection else number, step.method, step.properties, step.body)

    def _observe(self, observed: Seen) -> None:
        """Add what came, and what queues have."""
        for line in self.lines.values():
            if line.is_open:
                line.settle()
            for key, lines in line.observed.items():
                observed[key] = observed.get(key, []) + lines
                if key.endswith("confirms"):
                    observed[key].sort()
            line.observed.clear()
            if not line.is_open:
                for number in range(UNOPENED):
                    observed.pop(f"{line.name}{number} deliveries", None)
        for number, name in enumerate(QUEUES, 1):
            self.observer.open(number)
            self.observer.send(number, amqp.Queue.Declare(name, passive=True))
        self.observer.settle()
        for number, name in enumerate(QUEUES, 1):
            observed[name] = self.observer.observed.pop(f"observer {number}")
        self.queues = [name for name in QUEUES if "Declare" in observed[name][0]]


def remember(state: ChannelState, method: Any) -> None:
    """What a client knows by what it sends."""
    match method:
        case amqp.Basic.Publish():
            if state.unconfirmed is not None:
                state.published += 1
                state.unconfirmed.append(state.published)
        case amqp.Confirm.Select():
            state.unconfirmed = state.unconfirmed or []
        case amqp.Basic.Qos(global_=True):
            state.shared_prefetch = True
        case amqp.Tx.Select():
            state.transactional = True
        case amqp.Basic.Get():
            state.gets_settled = method.no_ack
        case amqp.Basic.Consume():
            state.no_ack.setdefault(method.consumer_tag, method.no_ack)
        case amqp.Basic.Ack() | amqp.Basic.Nack() | amqp.Basic.Reject():
            settled(state.unsettled, method)
        case amqp.Basic.Recover() | amqp.Basic.RecoverAsync():
            state.unsettled.clear()


# ---- making programs ----

#: Argument -> values. The last one of most is wrong.
QUEUE_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "x-message-ttl": (0, 600_000, 600_000, 600_000, -1, "1"),
    "x-expires": (600_000, 600_000, 0),
    "x-max-length": (1, 2, 2, 3, 5, 0, -1),
    "x-max-length-bytes": (8, 16, 40, 0, True),
    "x-overflow": ("reject-publish", "reject-publish-dlx", "drop-head", "drop-tail"),
    "x-dead-letter-exchange": ("", "", "x1", "x2", "x3", 1),
    "x-dead-letter-routing-key": (*QUEUES, "k", 1),
    "x-max-priority": (2, 5, 255, 0, 256),
    "x-single-active-consumer": (True, True, False, "yes"),
    "x-delivery-limit": (1, 2, 0),
    "x-queue-mode": ("lazy", "default", "fast"),
    "x-queue-type": ("quorum", "quorum", "classic", "nonsense"),
}
KEYS = ("k", "a.b", "a", "", *QUEUES)
PATTERNS = ("#", "a.*", "*.b", "a.#", *KEYS)
HEADERS = ({"h": 1}, {"h": 2}, {"h": 1, "x-g": "t"}, {}, {"i": [1, {"j": None}]})


class Maker:
    """Makes steps by what the run of them shows."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.bodies = 0
        self.declared: dict[str, Any] = {}
        kinds: list[tuple[int, Callable[[str], Step]]] = [
            (9, self.queue), (4, self.exchange), (9, self.bind), (2, self.unbind),
            (40, self.publish), (12, self.get), (10, self.consume), (4, self.cancel),
            (25, self.settle), (3, self.qos), (3, self.recover), (5, self.mode), (2, self.delete),
            (1, self.purge), (3, self.end), (1, self.wrong),
        ]  # fmt: skip
        self.weights = [weight for weight, _ in kinds]
        self.makers = [maker for _, maker in kinds]
        self.state: ChannelState | None = None
        self.queues: list[str] = []

    def step(self, run: Run) -> Step:
        where = self.random.choice(CHANNELS)
        self.state = run.state(where)
        self.queues = run.queues
        if len(self.declared) < 4:
            return self.one((self.queue, self.queue, self.exchange))(where)
        return self.random.choices(self.makers, self.weights)[0](where)

    def one(self, values: Sequence[Any]) -> Any:
        return self.random.choice(values)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def queue(self, where: str) -> Step:
        name = self.one(QUEUES) if not self.chance(0.03) else self.one(("", "amq.q"))
        if self.chance(0.05):
            return Step(where, amqp.Queue.Declare(name, passive=True))
        if name in self.declared and self.chance(0.6 if name in self.queues else 0.3):
            return Step(where, self.declared[name])
        names = self.random.sample(sorted(QUEUE_ARGUMENTS), self.one((0, 0, 1, 1, 2, 3)))
        arguments = {key: self.valid(QUEUE_ARGUMENTS[key]) for key in names}
        if "x-dead-letter-routing-key" in arguments:
            arguments.setdefault("x-dead-letter-exchange", "")
        if "x-delivery-limit" in arguments and self.chance(0.9):
            arguments["x-queue-type"] = "quorum"
        is_quorum = arguments.get("x-queue-type") == "quorum"
        if is_quorum:
            arguments.pop("x-overflow", None)
        method = amqp.Queue.Declare(
            name,
            durable=self.chance(0.95 if is_quorum else 0.7),
            exclusive=self.chance(0.02 if is_quorum else 0.1) or not name,
            auto_delete=self.chance(0.02 if is_quorum else 0.1),
            no_wait=self.chance(0.03),
            arguments=arguments,
        )
        self.declared[name] = method
        return Step(where, method)

    def valid(self, values: Sequence[Any]) -> Any:
        """Most often no wrong one."""
        return self.one(values if self.chance(0.1) else values[:-1])

    def exchange(self, where: str) -> Step:
        name = self.one(EXCHANGES) if not self.chance(0.03) else self.one(("", "amq.x"))
        if self.chance(0.05):
            return Step(where, amqp.Exchange.Declare(name, passive=True))
        if name in self.declared and self.chance(0.5):
            return Step(where, self.declared[name])
        kinds = ("direct", "fanout", "topic", "headers", "fanout", "nonsense")
        arguments: dict[str, Any] = {}
        if self.chance(0.2):
            arguments["alternate-exchange"] = self.valid((*EXCHANGES, 1))
        method = amqp.Exchange.Declare(
            name,
            self.valid(kinds),
            durable=self.chance(0.3),
            auto_delete=self.chance(0.15),
            internal=self.chance(0.05),
            no_wait=self.chance(0.03),
            arguments=arguments,
        )
        self.declared[name] = method
        return Step(where, method)

    def source(self) -> str:
        names = [name for name in EXCHANGES if name in self.declared]
        return str(self.one((*names, *names, *names, *EXCHANGES, "amq.fanout", "amq.topic", "")))

    def table(self) -> dict[str, Any]:
        if self.chance(0.6):
            return {}
        return {
            **self.one(HEADERS),
            **self.one(({}, {"x-match": "any"}, {"x-match": "all-with-x"})),
        }

    def bind(self, where: str) -> Step:
        source = self.source() or self.source()
        if self.chance(0.25):
            destination = self.one(EXCHANGES)
            return Step(
                where,
                amqp.Exchange.Bind(destination, source, self.one(PATTERNS), False, self.table()),
            )
        key = self.one(PATTERNS)
        return Step(where, amqp.Queue.Bind(self.name(), source, key, False, self.table()))

    def unbind(self, where: str) -> Step:
        source, key = self.source(), self.one(PATTERNS)
        if self.chance(0.25):
            return Step(where, amqp.Exchange.Unbind(self.one(EXCHANGES), source, key))
        return Step(where, amqp.Queue.Unbind(self.name(), source, key))

    def name(self) -> str:
        if self.chance(0.03):
            return ""
        return str(self.one(self.queues if self.queues and self.chance(0.95) else QUEUES))

    def publish(self, where: str) -> Step:
        self.bodies += 1
        exchange = "" if self.chance(0.6) else self.source()
        key = self.one(KEYS) if exchange else self.name() or "k"
        properties: dict[str, Any] = {}
        headers = dict(self.one(HEADERS)) if self.chance(0.3) else {}
        for copies in ("CC", "BCC"):
            if self.chance(0.08):
                headers[copies] = self.random.sample(KEYS, 2) if self.chance(0.95) else "k"
        if headers:
            properties["headers"] = headers
        pause = 0.0
        if self.chance(0.1):
            properties["expiration"] = self.valid(("0", "0", "600000", "30", "30", "1.5"))
            pause = 0.1 if properties["expiration"] == "30" else 0.0
        if self.chance(0.3):
            properties["priority"] = self.one((0, 1, 2, 4, 9))
        if self.chance(0.4):
            properties["delivery_mode"] = self.one((1, 2))
        method = amqp.Basic.Publish(
            exchange, key, mandatory=self.chance(0.3), immediate=self.chance(0.005)
        )
        body = f"m{self.bodies}{'-' * self.one((0, 0, 3, 7))}".encode()
        return Step(where, method, amqp.Basic.Properties(**properties), body, pause)

    def get(self, where: str) -> Step:
        return Step(where, amqp.Basic.Get(self.name(), self.chance(0.4)))

    def consume(self, where: str) -> Step:
        arguments = {}
        if self.chance(0.2):
            arguments["x-priority"] = self.one((-1, 0, 1, 5, 5, "high"))
        return Step(
            where,
            amqp.Basic.Consume(
                self.name(),
                f"c{self.random.randint(1, 4)}",
                no_ack=self.chance(0.3),
                exclusive=self.chance(0.1),
                no_wait=self.chance(0.03),
                arguments=arguments,
            ),
        )

    def cancel(self, where: str) -> Step:
        tags = sorted(self.state.no_ack) if self.state is not None else []
        return Step(where, amqp.Basic.Cancel(self.one(tags or ["c1"])))

    def settle(self, where: str) -> Step:
        tags = self.state.unsettled if self.state is not None else []
        if not tags and not self.chance(0.1):
            return self.publish(where)
        tag = self.one(tags) if tags and self.chance(0.95) else self.random.randint(0, 5)
        requeue, multiple = self.chance(0.5), self.chance(0.3)
        return Step(
            where,
            self.one(
                (
                    amqp.Basic.Ack(tag, multiple),
                    amqp.Basic.Nack(tag, multiple, requeue),
                    amqp.Basic.Reject(tag, requeue),
                )
            ),
        )

    def qos(self, where: str) -> Step:
        count = self.one((0, 1, 2, 3))
        return Step(where, amqp.Basic.Qos(0, count, self.chance(0.2)))

    def recover(self, where: str) -> Step:
        if self.chance(0.2):
            return Step(where, amqp.Basic.RecoverAsync(True))
        return Step(where, amqp.Basic.Recover(self.chance(0.95)))

    def mode(self, where: str) -> Step:
        methods = (amqp.Confirm.Select, amqp.Tx.Select, amqp.Tx.Commit, amqp.Tx.Rollback)
        is_transactional = self.state is not None and self.state.transactional
        weights = (0.2, 0.2, 4, 3) if is_transactional else (6, 4, 0.2, 0.2)
        return Step(where, self.random.choices(methods, weights)[0]())

    def delete(self, where: str) -> Step:
        if self.chance(0.3):
            return Step(where, amqp.Exchange.Delete(self.one(EXCHANGES), self.chance(0.3)))
        conditions = self.chance(0.3), self.chance(0.3)
        return Step(where, amqp.Queue.Delete(self.name(), *conditions))

    def purge(self, where: str) -> Step:
        return Step(where, amqp.Queue.Purge(self.name()))

    def end(self, where: str) -> Step:
        if self.chance(0.6):
            return Step(where, amqp.Channel.Close(200, "bye"))
        if self.chance(0.7):
            return Step(where, amqp.Connection.Close(200, "bye"))
        return Step(where, None, pause=0.1)

    def wrong(self, where: str) -> Step:
        wrong = (
            amqp.Channel.Flow(False),
            amqp.Basic.Qos(1, 0),
            amqp.Channel.Open(),
            amqp.Exchange.Delete("amq.direct"),
            amqp.Exchange.Bind("", "x1", "k"),
            amqp.Exchange.Bind("x1", "", "k"),
            amqp.Queue.Bind("q1", "", "k"),
        )
        if self.chance(0.2):
            return Step(f"{where[0]}{UNOPENED}", self.one((amqp.Basic.Ack(1), *wrong[:2])))
        return Step(where, self.one(wrong))


def make(seed: int, count: int, address: tuple[str, int]) -> tuple[list[Step], list[Seen]]:
    """A program of so many steps, and what a broker does with it."""
    maker = Maker(seed)
    steps, expected = [], []
    with Run(address) as run:
        for _ in range(count):
            steps.append(maker.step(run))
            expected.append(run.do(steps[-1]))
    return steps, expected


# ---- comparing ----


@dataclass
class Difference:
    """The first step that two brokers answer otherwise."""

    steps: list[Step]
    expected: Seen
    observed: Seen

    def __str__(self) -> str:
        lines = [str(step) for step in self.steps] + ["shows at the end"]
        for key in sorted({*self.expected, *self.observed}):
            ours, theirs = self.expected.get(key, []), self.observed.get(key, [])
            if ours != theirs:
                lines += [f"{key} of the double:", *(f"    {one}" for one in ours)]
                lines += [f"{key} of RabbitMQ:", *(f"    {one}" for one in theirs)]
        return "\n".join(lines)


def replay(steps: list[Step], expected: list[Seen], address: tuple[str, int]) -> Difference | None:
    """Run a program whose results are known elsewhere."""
    with Run(address) as run:
        for number, (step, result) in enumerate(zip(steps, expected, strict=True), 1):
            observed = run.do(step, result)
            if observed != result:
                if (
                    run.is_free
                    or has_crashed(observed)
                    or without_order(observed) == without_order(result)
                ):
                    return None
                return Difference(steps[:number], result, observed)
    return None


def has_crashed(observed: Seen) -> bool:
    """Whether RabbitMQ did not understand itself."""
    return any(
        "reply_text='INTERNAL_ERROR'" in line for lines in observed.values() for line in lines
    )


def without_order(observed: Seen) -> Seen:
    """What is left to compare where several queues feed one channel, or messages expire."""
    result = dict(observed)
    for key, lines in observed.items():
        result[key] = [re.sub(r"(GetOk.*), message_count=\d+\)", r"\1)", line) for line in lines]
        if key.endswith(" deliveries") and len({line.split("'")[1] for line in lines}) > 1:
            result[key] = sorted(re.sub(r"delivery_tag=\d+", "", line) for line in lines)
    return result


def record(steps: list[Step], address: tuple[str, int]) -> list[Seen]:
    """What a broker does with a program."""
    with Run(address) as run:
        return [run.do(step) for step in steps]


def shrink(
    difference: Difference, double: tuple[str, int], real: tuple[str, int], seconds: float = 60
) -> Difference:
    """Leave out steps as long as the brokers differ."""
    deadline = time.monotonic() + seconds
    size = max(len(difference.steps) // 2, 1)
    while size and time.monotonic() < deadline:
        place, before = 0, len(difference.steps)
        while place < len(difference.steps) and time.monotonic() < deadline:
            steps = difference.steps[:place] + difference.steps[place + size :]
            smaller = replay(steps, record(steps, double), real)
            if smaller is not None:
                difference = smaller
            else:
                place += size
        if size > 1 or len(difference.steps) == before:
            size //= 2
    return difference


def find_difference(seed: int, real: tuple[str, int], count: int = 60) -> Difference | None:
    """The small program by which a broker differs from the double, if it differs twice."""
    with Broker(profile="3.13") as broker:
        double = broker.host, broker.port
        steps, expected = make(seed, count, double)
        difference = replay(steps, expected, real)
        if difference is not None:
            again = replay(difference.steps, record(difference.steps, double), real)
            difference = None if again is None else shrink(again, double, real)
    return difference
