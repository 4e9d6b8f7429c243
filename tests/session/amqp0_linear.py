"""Talks of 0-x whose cost must grow as their size: counted by `make linear-test`.

In each, what stands open (deliveries, publications, consumers, channels, requests) and how often
the peer asks for something about it grow together. A session that looks at all that stands open,
for each method, takes four times as long for twice as much. METHODS says which of them holds each
method that a peer may send; `test_linear_unit.py` keeps it complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from amqpcodec import v0_9, v0_9_1
from amqpcodec.session import Connection

WIDE: dict[str, Any] = {"channel_max": 65535, "max_requests": 1 << 30}


class End:
    """A session behind its handshake, and what its peer says to it.

    `give` answers requests, drops what the session would send, and counts events.
    """

    def __init__(self, role: Any, amqp: Any = v0_9_1) -> None:
        self.amqp = amqp
        self.events = 0
        connection = amqp.Connection
        self.session: Any = Connection(role, protocol=amqp, **WIDE)
        if role == "server":
            self.feed(amqp.PROTOCOL_HEADER)
            self.give([connection.StartOk({}, "PLAIN", b"\0a\0b", "en_US")], 0)
            self.session.accept_login()
            self.give([connection.TuneOk(65535, 131072, 0), connection.Open("/")], 0)
            self.session.accept_open()
            self.give([amqp.Channel.Open()])
        else:
            start = connection.Start(0, 9, {}, b"PLAIN", b"en_US")
            self.give([start, connection.Tune(65535, 131072, 0), connection.OpenOk()], 0)
            self.session.open_channel()
            self.give([amqp.Channel.OpenOk()])
        self.channel = self.session.channels[1]

    def feed(self, data: bytes) -> None:
        for event in self.session.receive_data(data):
            self.events += 1
            request = getattr(event, "request", None)
            if type(event).__name__ == "Requested" and request.expects_response:
                self.answer(request)
        self.session.buffers_to_send()

    def answer(self, request: Any) -> None:
        reply = request.method.RESPONSES[0]
        values = {}
        if "consumer_tag" in reply.FIELDS:
            values["consumer_tag"] = request.method.consumer_tag
        if reply.HAS_CONTENT and "delivery_tag" in reply.FIELDS:
            values["delivery_tag"] = self.channel.deliveries.last + 1
        request.respond(reply(**values))

    def give(self, methods: Iterable[Any], number: int = 1) -> None:
        encode, content = self.amqp.encode, self.amqp.encode_message
        self.feed(
            b"".join(
                [
                    content(number, method, None, b"")
                    if method.HAS_CONTENT
                    else encode(number, method)
                    for method in methods
                ]
            )
        )

    def deliver(self, tags: Iterable[int], tag: str = "t") -> None:
        """A server's deliveries."""
        basic = self.amqp.Basic
        for number in tags:
            self.channel.send(basic.Deliver(tag, number, False, "", "q"), None, b"")
        self.session.buffers_to_send()


Basic, Queue, Exchange, Tx = v0_9_1.Basic, v0_9_1.Queue, v0_9_1.Exchange, v0_9_1.Tx


def server_with_deliveries(tags: Iterable[int], *, transactional: bool = False) -> End:
    end = End("server")
    end.give([Basic.Consume(queue="q", consumer_tag="t"), Queue.Purge("q")])
    if transactional:
        end.give([Tx.Select()])
    end.deliver(tags)
    return end


def settled_one_by_one(n: int, method: Any = Basic.Ack, step: int = 1) -> None:
    end = server_with_deliveries(range(1, n + 1))
    order = [*range(1, n + 1, 2), *range(2, n + 1, 2)][::step]
    end.give([method(tag) for tag in order])
    assert not end.channel.deliveries


def settled_in_groups(n: int, method: Any = Basic.Ack) -> None:
    end = server_with_deliveries(range(1, n + 1))
    end.give([method(tag, multiple=True) for tag in range(1, n + 1)])
    assert not end.channel.deliveries


def spaced_tags(n: int) -> None:
    end = server_with_deliveries(range(1, n << 20, 1 << 20))
    end.give([Basic.Ack(tag, multiple=True) for tag in range(1, n << 20, 1 << 20)])
    assert not end.channel.deliveries


def rolled_back(n: int, tags: Callable[[int], Iterable[int]]) -> None:
    """Ack of all, rollback, as often as there are deliveries."""
    numbers = list(tags(n))
    end = server_with_deliveries(numbers, transactional=True)
    for _ in range(n // 8):
        end.give([Basic.Ack(numbers[-1], multiple=True), Basic.Ack(0, multiple=True)][:1])
        end.give([Tx.Rollback()])
    assert len(end.channel.deliveries) == n


def cut_and_rolled_back(n: int) -> None:
    """Ack of some, of one, of all, and rollback, with holes."""
    numbers = list(range(1, 2 * n, 2))
    end = server_with_deliveries(numbers, transactional=True)
    for step in range(n // 8):
        end.give(
            [
                Basic.Ack(numbers[step], multiple=True),
                Basic.Nack(numbers[-1 - step], multiple=False),
                Basic.Reject(numbers[len(numbers) // 2]),
                Basic.Ack(0, multiple=True),
                Tx.Rollback(),
            ]
        )
    assert len(end.channel.deliveries) == n


def committed(n: int) -> None:
    end = server_with_deliveries(range(1, n + 1), transactional=True)
    for tag in range(1, n + 1):
        end.give([Basic.Ack(tag), Tx.Commit()])
    assert not end.channel.deliveries


def recovered(n: int, method: Any) -> None:
    """basic.recover while deliveries of before are rolled back again and again."""
    end = server_with_deliveries(range(1, n + 1), transactional=True)
    for _ in range(n // 8):
        end.give([Basic.Ack(0, multiple=True), method(), Tx.Rollback()])
    assert len(end.channel.deliveries) == n


def published(n: int, *, confirm: bool) -> None:
    end = End("server")
    if confirm:
        end.give([v0_9_1.Confirm.Select()])
    end.give([Basic.Publish("", "q")] * n)
    assert len(end.channel.publications) == (n if confirm else 0)


def requests(n: int, method: Any) -> None:
    """Requests that wait for their answers, and are answered then."""
    end = End("server")
    answer, pending = end.answer, []
    end.answer = pending.append  # type: ignore[method-assign]
    end.give([method] * n)
    for request in pending:
        answer(request)
    assert not end.channel.received


def consumers(n: int, *, no_wait: bool = False) -> None:
    end = End("server")
    names = [f"c{number}" for number in range(n)]
    end.give([Basic.Consume(queue="q", consumer_tag=name, no_wait=no_wait) for name in names])
    assert len(end.channel.consumers) == n
    end.give([Basic.Cancel(name, no_wait=no_wait) for name in names])
    assert not end.channel.consumers


def channels(n: int) -> None:
    n = min(n, 60_000)
    end = End("server")
    amqp = v0_9_1
    for method in (amqp.Channel.Open(), amqp.Channel.Flow(True), amqp.Channel.Close()):
        data = [amqp.encode(number, method) for number in range(2, n + 2)]
        end.feed(b"".join(data))
    assert len(end.session.channels) == 1


def closed_by_the_server(n: int) -> None:
    """Channels that the server closes for a fault, and whose client answers late."""
    n = min(n, 60_000)
    end = End("server")
    amqp = v0_9_1
    for method in (amqp.Channel.Open(), Basic.Ack(9), amqp.Channel.CloseOk()):
        data = [amqp.encode(number, method) for number in range(2, n + 2)]
        end.feed(b"".join(data))
    assert len(end.session.channels) == 1


def secrets(n: int) -> None:
    end = End("server")
    end.give([v0_9_1.Connection.UpdateSecret(b"x", "y")] * n, 0)
    assert not end.session.received


def challenged(n: int) -> None:
    """A login in many steps."""
    amqp = v0_9_1
    session: Any = Connection("server", mechanisms=["X"])
    session.receive_data(amqp.PROTOCOL_HEADER)
    session.receive_data(amqp.encode(0, amqp.Connection.StartOk({}, "X", b"-", "en_US")))
    for _ in range(n):
        session.challenge(b"?")
        session.receive_data(amqp.encode(0, amqp.Connection.SecureOk(b"!")))
    session.buffers_to_send()


def challenges_of_client(n: int) -> None:
    """The same of a client."""
    amqp = v0_9_1
    session: Any = Connection("client", mechanism="X", sasl=lambda challenge: b"-")
    session.receive_data(amqp.encode(0, amqp.Connection.Start(0, 9, {}, b"X", b"en_US")))
    session.receive_data(amqp.encode(0, amqp.Connection.Secure(b"?")) * n)
    session.buffers_to_send()


def capable(n: int) -> None:
    """A table of many entries in connection.start-ok and start."""
    amqp = v0_9_1
    table = {f"k{number:06}": number for number in range(n)}
    server: Any = Connection("server", frame_max=0)
    server.receive_data(amqp.PROTOCOL_HEADER)
    server.receive_data(amqp.encode(0, amqp.Connection.StartOk(table, "PLAIN", b"\0a\0b", "en_US")))
    client: Any = Connection("client", frame_max=0)
    names = b" ".join([b"m%06d" % number for number in range(n)]) + b" PLAIN"
    client.receive_data(amqp.encode(0, amqp.Connection.Start(0, 9, table, names, names)))


# ---- to a client ----


def client_with_consumer() -> End:
    end = End("client")
    end.channel.consume("q", "t")
    end.give([Basic.ConsumeOk("t")])
    return end


def deliveries(n: int, step: int) -> None:
    """Deliveries that are acknowledged in groups, numbered as the server likes."""
    end = client_with_consumer()
    tags = range(1, n * step + 1, step)
    end.give([Basic.Deliver("t", tag, False, "", "q") for tag in tags])
    for tag in tags[::4]:
        end.channel.ack(tag, multiple=True)
    end.channel.ack(0, multiple=True)
    assert not end.channel.deliveries


def confirms(n: int, methods: Callable[[int], Iterable[Any]]) -> None:
    end = End("client")
    end.channel.confirm()
    end.give([v0_9_1.Confirm.SelectOk()])
    for _ in range(n):
        end.channel.publish("", "q", b"")
    end.session.buffers_to_send()
    end.give(methods(n))
    assert not end.channel.publications


def out_of_order(n: int) -> Iterable[Any]:
    """The upper half one by one from above, the lower half in groups."""
    yield from (Basic.Ack(tag) for tag in range(n, n // 2, -1))
    yield from (Basic.Nack(tag, multiple=True) for tag in range(1, n // 2 + 1))


def returned(n: int) -> None:
    end = End("client")
    end.give([Basic.Return(312, "NO_ROUTE", "", "q")] * n)


def replies(n: int, name: str, reply: Any, **arguments: Any) -> None:
    """Requests that wait all at once."""
    end = End("client")
    for _ in range(n):
        getattr(end.channel, name)(**arguments)
    end.session.buffers_to_send()
    end.give([reply] * n)
    assert not end.channel.sent


def got(n: int) -> None:
    end = End("client")
    for _ in range(2 * n):
        end.channel.get("q")
    end.session.buffers_to_send()
    end.give([Basic.GetOk(tag, False, "", "q", 1) for tag in range(1, n + 1)])
    end.give([Basic.GetEmpty()] * n)
    assert not end.channel.sent


def recovering(n: int) -> None:
    end = client_with_consumer()
    for tag in range(1, n + 1):
        end.channel.recover()
        end.give([Basic.Deliver("t", tag, False, "", "q")])
        end.channel.ack(tag)
    end.session.buffers_to_send()
    end.give([Basic.RecoverOk()] * n)
    assert not end.channel.deliveries


def transactions(n: int) -> None:
    end = client_with_consumer()
    end.channel.select_tx()
    end.give([Tx.SelectOk(), *(Basic.Deliver("t", tag, False, "", "q") for tag in range(1, n + 1))])
    for _ in range(n // 8):
        end.channel.ack(0, multiple=True)
        end.channel.rollback_tx()
        end.give([Tx.RollbackOk()])
        end.channel.commit_tx()
        end.give([Tx.CommitOk()])
    end.session.buffers_to_send()
    assert len(end.channel.deliveries) == n


def cancelled(n: int) -> None:
    """Consumers that the server ends, and that the client leaves without asking for a reply."""
    end = End("client")
    for number in range(2 * n):
        end.channel.consume("q", f"c{number}")
    end.give([Basic.ConsumeOk(f"c{number}") for number in range(2 * n)])
    end.give([Basic.Cancel(f"c{number}", no_wait=True) for number in range(n)])
    for number in range(n, 2 * n):
        end.channel.cancel(f"c{number}", no_wait=number % 2 == 0)
    end.session.buffers_to_send()
    end.give([Basic.CancelOk(f"c{number}") for number in range(n, 2 * n) if number % 2])
    for _ in range(2):
        end.channel.qos()
        end.give([Basic.QosOk()])
    assert not end.channel.consumers


def client_channels(n: int) -> None:
    n = min(n, 60_000)
    end = End("client")
    amqp = v0_9_1
    for _ in range(n):
        end.session.open_channel()
    for method in (amqp.Channel.OpenOk(), amqp.Channel.Flow(False), amqp.Channel.FlowOk()):
        if isinstance(method, amqp.Channel.FlowOk):
            for number in range(2, n + 2):
                end.session.channels[number].flow(True)
        end.feed(b"".join([amqp.encode(number, method) for number in range(2, n + 2)]))
    half = range(2, n // 2)
    for number in half:
        end.session.channels[number].close()
    end.feed(b"".join([amqp.encode(number, amqp.Channel.CloseOk()) for number in half]))
    end.feed(amqp.encode(0, amqp.Connection.Close(320, "CONNECTION_FORCED")))
    assert not end.session.channels


def blocked(n: int) -> None:
    end = End("client")
    end.give([v0_9_1.Connection.Blocked("memory"), v0_9_1.Connection.Unblocked()] * n, 0)


def client_secrets(n: int) -> None:
    end = End("client")
    for _ in range(n):
        end.session.update_secret(b"x")
    end.session.buffers_to_send()
    end.give([v0_9_1.Connection.UpdateSecretOk()] * n, 0)
    assert not end.session.sent


def passed_over(n: int, role: Any) -> None:
    """What still comes while this end closes."""
    end = End(role)
    method = Basic.Return(312, "", "", "q") if role == "client" else Basic.Publish("", "q")
    end.channel.close()
    end.give([method] * n)
    end.session.close()
    end.give([method] * n)
    close_ok = v0_9_1.Connection.CloseOk()
    end.give([close_ok], 0)
    assert end.session.closed


def files(n: int) -> None:
    """0-9: open, open-ok, stage, in both directions."""
    amqp = v0_9
    end = End("server", amqp)
    end.give([amqp.File.Open("f", 1)] * n)
    end.give([amqp.File.Stage()] * n)
    for _ in range(n):
        end.channel.send(amqp.File.Open("f", 1))
    end.session.buffers_to_send()
    end.give([amqp.File.OpenOk()] * n)
    assert not end.channel.sent
    assert not end.channel.received


def handled_by_the_caller(n: int) -> None:
    """Methods that the session passes on: it keeps nothing of them."""
    end = End("server", v0_9)
    file, stream = v0_9.File, v0_9.Stream
    end.give([file.Ack(1, True), file.Reject(1, True), file.Publish(), stream.Publish()] * n)


CONSTRUCTS: dict[str, Callable[[int], Any]] = {
    "session: acks one by one": settled_one_by_one,
    "session: rejects": lambda n: settled_one_by_one(n, Basic.Reject),
    "session: acks of groups": settled_in_groups,
    "session: nacks of groups": lambda n: settled_in_groups(n, Basic.Nack),
    "session: acks of spaced tags": spaced_tags,
    "session: rollbacks": lambda n: rolled_back(n, lambda n: range(1, n + 1)),
    "session: rollbacks of spaced tags": lambda n: rolled_back(n, lambda n: range(1, 3 * n, 3)),
    "session: rollbacks of parts": cut_and_rolled_back,
    "session: commits": committed,
    "session: recover and rollbacks": lambda n: recovered(n, Basic.Recover),
    "session: recover-async and rollbacks": lambda n: recovered(n, Basic.RecoverAsync),
    "session: publications": lambda n: published(n, confirm=False),
    "session: publications with confirms": lambda n: published(n, confirm=True),
    "session: requests that wait": lambda n: requests(n, Queue.Declare("q")),
    "session: gets": lambda n: requests(n, Basic.Get(queue="q")),
    "session: consumers": consumers,
    "session: consumers without replies": lambda n: consumers(n, no_wait=True),
    "session: channels": channels,
    "session: channels with faults": closed_by_the_server,
    "session: secrets": secrets,
    "session: a login in steps": challenged,
    "session: a login in steps, of a client": challenges_of_client,
    "session: tables of peers": capable,
    "session: deliveries": lambda n: deliveries(n, 1),
    "session: deliveries with spaced tags": lambda n: deliveries(n, 1 << 20),
    "session: confirms one by one": lambda n: confirms(
        n, lambda n: map(Basic.Ack, range(1, n + 1))
    ),
    "session: confirms out of order": lambda n: confirms(n, out_of_order),
    "session: confirms of all": lambda n: confirms(n, lambda n: [Basic.Ack(0, multiple=True)]),
    "session: returns": returned,
    "session: replies": lambda n: replies(n, "declare_queue", Queue.DeclareOk("q"), queue="q"),
    "session: messages of get": got,
    "session: recover, of a client": recovering,
    "session: transactions, of a client": transactions,
    "session: consumers that end": cancelled,
    "session: channels, of a client": client_channels,
    "session: blocked": blocked,
    "session: secrets, of a client": client_secrets,
    "session: passed over by a client": lambda n: passed_over(n, "client"),
    "session: passed over by a server": lambda n: passed_over(n, "server"),
    "session: files": files,
    "session: left to the caller": handled_by_the_caller,
}

REQUESTS = ("session: requests that wait",)
REPLIES = ("session: replies",)

#: Method of 0-9-1 that a peer may send -> constructs that hold it, or why it needs none.
METHODS: dict[str, tuple[str, ...] | str] = {
    "connection.start": ("session: tables of peers",),
    "connection.start-ok": ("session: tables of peers",),
    "connection.secure": ("session: a login in steps, of a client",),
    "connection.secure-ok": ("session: a login in steps",),
    "connection.tune": "once a connection",
    "connection.tune-ok": "once a connection",
    "connection.open": "once a connection",
    "connection.open-ok": "once a connection",
    "connection.close": ("session: channels, of a client",),
    "connection.close-ok": ("session: passed over by a client",),
    "connection.blocked": ("session: blocked",),
    "connection.unblocked": ("session: blocked",),
    "connection.update-secret": ("session: secrets",),
    "connection.update-secret-ok": ("session: secrets, of a client",),
    "channel.open": ("session: channels",),
    "channel.open-ok": ("session: channels, of a client",),
    "channel.flow": ("session: channels", "session: channels, of a client"),
    "channel.flow-ok": ("session: channels, of a client",),
    "channel.close": ("session: channels",),
    "channel.close-ok": ("session: channels with faults", "session: channels, of a client"),
    "exchange.declare": REQUESTS,
    "exchange.declare-ok": REPLIES,
    "exchange.delete": REQUESTS,
    "exchange.delete-ok": REPLIES,
    "exchange.bind": REQUESTS,
    "exchange.bind-ok": REPLIES,
    "exchange.unbind": REQUESTS,
    "exchange.unbind-ok": REPLIES,
    "queue.declare": REQUESTS,
    "queue.declare-ok": REPLIES,
    "queue.bind": REQUESTS,
    "queue.bind-ok": REPLIES,
    "queue.unbind": REQUESTS,
    "queue.unbind-ok": REPLIES,
    "queue.purge": REQUESTS,
    "queue.purge-ok": REPLIES,
    "queue.delete": REQUESTS,
    "queue.delete-ok": REPLIES,
    "basic.qos": REQUESTS,
    "basic.qos-ok": REPLIES,
    "basic.consume": ("session: consumers", "session: consumers without replies"),
    "basic.consume-ok": ("session: consumers that end",),
    "basic.cancel": ("session: consumers", "session: consumers that end"),
    "basic.cancel-ok": ("session: consumers that end",),
    "basic.publish": ("session: publications", "session: publications with confirms"),
    "basic.return": ("session: returns", "session: passed over by a client"),
    "basic.deliver": ("session: deliveries", "session: deliveries with spaced tags"),
    "basic.get": ("session: gets",),
    "basic.get-ok": ("session: messages of get",),
    "basic.get-empty": ("session: messages of get",),
    "basic.ack": (
        *("session: acks one by one", "session: acks of groups", "session: acks of spaced tags"),
        *("session: confirms one by one", "session: confirms of all"),
    ),
    "basic.reject": ("session: rejects",),
    "basic.nack": ("session: nacks of groups", "session: confirms out of order"),
    "basic.recover-async": ("session: recover-async and rollbacks",),
    "basic.recover": ("session: recover and rollbacks",),
    "basic.recover-ok": ("session: recover, of a client",),
    "tx.select": ("session: rollbacks",),
    "tx.select-ok": ("session: transactions, of a client",),
    "tx.commit": ("session: commits",),
    "tx.commit-ok": ("session: transactions, of a client",),
    "tx.rollback": ("session: rollbacks of spaced tags", "session: rollbacks of parts"),
    "tx.rollback-ok": ("session: transactions, of a client",),
    "confirm.select": ("session: publications with confirms",),
    "confirm.select-ok": ("session: confirms one by one",),
}

#: Methods of 0-9 and 0-8 that a session has code of its own for; all others are left to the caller.
OLD_METHODS = ("session: files", "session: left to the caller", "session: passed over by a server")
