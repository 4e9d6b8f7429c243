"""What clients of 0-9-1 say about exchanges, queues and bindings, on one connection or several."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from amqpcodec import v0_9_1 as amqp
from tests.support.event_talk import (
    TO_CLIENT,
    TO_SERVER,
    Say,
    client,
    consume,
    login,
    open_channel,
    server,
)
from tests.support.recording import ACK, CLIENT, SERVER, SYN, segment

START = [*login(), *open_channel()]
Table = Mapping[str, Any]


def declare(exchange: str, kind: str, channel: int = 1, **options: Any) -> list[Say]:
    method = amqp.Exchange.Declare(exchange=exchange, type=kind, **options)
    return [client(method, channel), server(amqp.Exchange.DeclareOk(), channel)]


def queue(name: str, channel: int = 1, **options: Any) -> list[Say]:
    method = amqp.Queue.Declare(queue=name, **options)
    return [client(method, channel), server(amqp.Queue.DeclareOk(queue=name), channel)]


def bind(name: str, exchange: str, key: str = "", arguments: Table | None = None) -> list[Say]:
    method = amqp.Queue.Bind(
        queue=name, exchange=exchange, routing_key=key, arguments=dict(arguments or {})
    )
    return [client(method), server(amqp.Queue.BindOk())]


def unbind(name: str, exchange: str, key: str = "", arguments: Table | None = None) -> list[Say]:
    method = amqp.Queue.Unbind(
        queue=name, exchange=exchange, routing_key=key, arguments=dict(arguments or {})
    )
    return [client(method), server(amqp.Queue.UnbindOk())]


def bind_exchange(target: str, source: str, key: str = "") -> list[Say]:
    method = amqp.Exchange.Bind(destination=target, source=source, routing_key=key)
    return [client(method), server(amqp.Exchange.BindOk())]


def unbind_exchange(target: str, source: str, key: str = "") -> list[Say]:
    method = amqp.Exchange.Unbind(destination=target, source=source, routing_key=key)
    return [client(method), server(amqp.Exchange.UnbindOk())]


def delete_queue(name: str) -> list[Say]:
    return [client(amqp.Queue.Delete(queue=name)), server(amqp.Queue.DeleteOk())]


def delete_exchange(name: str) -> list[Say]:
    return [client(amqp.Exchange.Delete(exchange=name)), server(amqp.Exchange.DeleteOk())]


def cancel(tag: str = "c1") -> list[Say]:
    return [
        client(amqp.Basic.Cancel(consumer_tag=tag)),
        server(amqp.Basic.CancelOk(consumer_tag=tag)),
    ]


def send(
    exchange: str,
    key: str = "",
    headers: Table | None = None,
    name: str | None = None,
    mandatory: bool = False,
    body: bytes = b"x",
    channel: int = 1,
) -> Say:
    method = amqp.Basic.Publish(exchange=exchange, routing_key=key, mandatory=mandatory)
    properties = amqp.Basic.Properties(headers=headers, message_id=name)
    return TO_SERVER, amqp.encode_message(channel, method, properties, body)


def give_back(
    exchange: str, key: str = "", name: str | None = None, body: bytes = b"x", code: int = 312
) -> Say:
    method = amqp.Basic.Return(
        reply_code=code, reply_text="NO_ROUTE", exchange=exchange, routing_key=key
    )
    properties = amqp.Basic.Properties(message_id=name)
    return TO_CLIENT, amqp.encode_message(1, method, properties, body)


def together(says: Iterable[tuple[int, Say]]) -> list[bytes]:
    """Packets of several connections: (its number, what one side says)."""
    out = []
    place: dict[int, list[int]] = {}
    for number, (side, data) in says:
        ends = (CLIENT[0], 40000 + number), SERVER
        if number not in place:
            place[number] = [1001, 5001]
            out.append(segment(ends[0], ends[1], 1000, b"", SYN))
            out.append(segment(ends[1], ends[0], 5000, b"", SYN | ACK, 1001))
        here = place[number]
        out.append(segment(ends[side], ends[1 - side], here[side], data, ACK, here[1 - side]))
        here[side] += len(data)
    return out


def on(number: int, says: Iterable[Say]) -> Iterator[tuple[int, Say]]:
    return ((number, say) for say in says)


# ---- a broker, slow and plain ----


def is_topic_match(pattern: list[str], words: list[str]) -> bool:
    if not pattern:
        return not words
    if pattern[0] == "#":
        return is_topic_match(pattern[1:], words) or (
            bool(words) and is_topic_match(pattern, words[1:])
        )
    fits = bool(words) and pattern[0] in ("*", words[0])
    return fits and is_topic_match(pattern[1:], words[1:])


def words_of(text: str) -> list[str]:
    return text.split(".") if text else []


def is_header_match(arguments: Table, headers: Table) -> bool:
    mode = arguments.get("x-match", b"all")
    mode = mode.decode() if isinstance(mode, bytes) else mode
    fits = []
    for name, value in arguments.items():
        if name == "x-match" or (name.startswith("x-") and not mode.endswith("with-x")):
            continue
        fits.append(name in headers and (value is None or headers[name] == value))
    return any(fits) if mode.startswith("any") else all(fits)


class Model:
    """A virtual host by the letter: exchanges, bindings, and where a message goes."""

    def __init__(self) -> None:
        self.types: dict[str, str] = {}
        self.alternates: dict[str, str] = {}
        self.used: set[str] = set()
        self.bindings: list[tuple[str, str, str, str, dict[str, Any]]] = []

    def fits(self, exchange: str, binding: Any, key: str, headers: Table) -> bool:
        kind = self.types[exchange]
        if kind == "direct":
            return binding[3] == key
        if kind == "topic":
            return is_topic_match(words_of(binding[3]), words_of(key))
        if kind == "headers":
            return is_header_match(binding[4], headers)
        return True

    def route(self, exchange: str, key: str, headers: Table) -> list[str] | None:
        """None: it is not known."""
        queues: set[str] = set()
        reached = [exchange]
        for here in reached:
            if here not in self.types or here not in self.used:
                return None
            found = False
            for binding in self.bindings:
                if binding[0] == here and self.fits(here, binding, key, headers):
                    found = True
                    if binding[1] == "queue":
                        queues.add(binding[2])
                    elif binding[2] not in reached:
                        reached.append(binding[2])
            if not found and here in self.alternates:
                alternate = self.alternates[here]
                if alternate not in reached:
                    reached.append(alternate)
        return sorted(queues)


def topology(chance: random.Random, n: int) -> Iterator[tuple[list[Say], list[str] | None, bool]]:
    """(what a client says, the route if it publishes, whether it does) of a random talk."""
    model = Model()
    names = ["a", "b", "c", "d"]
    queues = [f"q{i}" for i in range(6)]
    parts = ["x", "y", "*", "#", ""]
    kinds = ["direct", "fanout", "topic", "headers"]

    def arguments() -> dict[str, Any]:
        out: dict[str, Any] = {}
        if chance.random() < 0.7:
            out["x-match"] = chance.choice(["all", "any", "all-with-x", "any-with-x"])
        for name in chance.sample(["h", "i", "x-j"], chance.randrange(3)):
            out[name] = chance.choice([1, 2, "t", None])
        return out

    def key() -> str:
        return ".".join(chance.choice(parts) for _ in range(chance.randrange(5)))

    for _ in range(n):
        step = chance.random()
        exchange = chance.choice(names)
        if step < 0.12 and exchange not in model.types:
            kind = chance.choice(kinds)
            more: dict[str, Any] = {}
            if chance.random() < 0.3:
                model.alternates[exchange] = chance.choice(names)
                more["arguments"] = {"alternate-exchange": model.alternates[exchange]}
            model.types[exchange] = kind
            yield declare(exchange, kind, **more), None, False
        elif step < 0.3 and exchange in model.types:
            own = arguments() if model.types[exchange] == "headers" else {}
            name, pattern = chance.choice(queues), key()
            binding = exchange, "queue", name, pattern, own
            if binding not in model.bindings:
                model.bindings.append(binding)
            model.used.add(exchange)
            yield bind(name, exchange, pattern, own), None, False
        elif step < 0.4 and exchange in model.types:
            target, pattern = chance.choice(list(model.types)), key()
            binding = exchange, "exchange", target, pattern, {}
            if binding not in model.bindings:
                model.bindings.append(binding)
            model.used.add(exchange)
            yield bind_exchange(target, exchange, pattern), None, False
        elif step < 0.47 and model.bindings:
            source, kind, target, pattern, own = model.bindings.pop(
                chance.randrange(len(model.bindings))
            )
            said = unbind(target, source, pattern, own)
            if kind == "exchange":
                said = unbind_exchange(target, source, pattern)
            yield said, None, False
        elif step < 0.5:
            name = chance.choice(queues)
            model.bindings = [one for one in model.bindings if one[1:3] != ("queue", name)]
            yield delete_queue(name), None, False
        elif step < 0.52 and exchange in model.types:
            del model.types[exchange]
            model.alternates.pop(exchange, None)
            model.used.discard(exchange)
            model.bindings = [
                one
                for one in model.bindings
                if one[0] != exchange and one[1:3] != ("exchange", exchange)
            ]
            yield delete_exchange(exchange), None, False
        else:
            words = ".".join(chance.choice(["x", "y", "z", ""]) for _ in range(chance.randrange(5)))
            headers: dict[str, Any] = {}
            for name in chance.sample(["h", "i", "x-j"], chance.randrange(4)):
                headers[name] = chance.choice([1, 2, "t"])
            route = model.route(exchange, words, headers)
            yield [send(exchange, words, headers)], route, True


__all__ = [
    "START", "Model", "bind", "bind_exchange", "cancel", "consume", "declare", "delete_exchange",
    "delete_queue", "give_back", "on", "queue", "send", "together", "topology", "unbind",
    "unbind_exchange",
]  # fmt: skip
