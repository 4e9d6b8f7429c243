"""Sessions of 0-9-1, 0-9 and 0-8: valid frames in any order, made from the model."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, partial
from typing import Any

from amqpcodec import EncodeError, protocol
from amqpcodec import session as s
from tests.fuzz.session_talk import Script, Talk, mutate, quick, random_scripts, run
from tests.fuzz.target import Target

VERSIONS = ("0-9-1", "0-9-1", "0-9", "0-8")
TAGS = (1, 2, 3, 0, 5, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
#: Values of arguments by name; the first is the likely one.
NAMED: dict[str, tuple[Any, ...]] = {
    "delivery_tag": (*(1,) * 20, *TAGS),
    "multiple": (False, True),
    "consumer_tag": (*("c",) * 12, "", "d", "x" * 255),
    "queue": ("q", "", "r"),
    "exchange": ("", "e"),
    "reply_code": (200, 0, 312, 404, 406, 530, 65_535),
    "channel_max": (10, 0, 1, 65_535),
    "frame_max": (131_072, 0, 4096, 4095, 1, 0xFFFF_FFFF),
    "heartbeat": (0, 1, 65_535),
    "mechanism": ("PLAIN", "AMQPLAIN", "EXTERNAL", "X"),
    "mechanisms": (b"PLAIN AMQPLAIN", b"", b"X", b"\xff"),
    "locales": (b"en_US", b"", b"de_DE"),
    "locale": ("en_US", "", "de_DE"),
    "response": (b"\0u\0p", b"", b"\0u", b"\0\xff\0p", b"\x05LOGINS\0\0\0\1u", b"\xff" * 5),
    "challenge": (b"c", b""),
    "class_id": (0, 60, 20, 65_535),
    "method_id": (0, 40, 10, 65_535),
    "nowait": (False, True),
    "no_wait": (False, True),
    "active": (True, False),
    "version_minor": (9, 8, 0),
    "version_major": (0, 8, 99),
}
#: Values of other arguments by the type of their default.
TYPED: dict[type, tuple[Any, ...]] = {
    bool: (False, True),
    int: (0, 1, 2, 65_535),
    str: ("", "a", "x" * 200),
    bytes: (b"", b"a"),
    dict: ({}, {"k": 1}),
}
CAPABILITIES = {"capabilities": {"publisher_confirms": True, "authentication_failure_close": True}}
#: Methods that most talks are about.
LIKELY = (
    *("basic.ack", "basic.nack", "basic.reject", "basic.deliver", "basic.publish", "basic.get-ok"),
    *("basic.ack", "basic.deliver", "basic.publish", "basic.return", "basic.get-empty"),
    *("basic.consume", "basic.consume-ok", "basic.cancel", "basic.cancel-ok", "basic.get"),
    *("basic.recover", "basic.recover-ok", "basic.recover-async", "basic.qos", "basic.qos-ok"),
    *("tx.select", "tx.select-ok", "tx.commit", "tx.commit-ok", "tx.rollback", "tx.rollback-ok"),
    *("confirm.select", "confirm.select-ok", "queue.declare", "queue.declare-ok"),
    *("channel.open", "channel.open-ok", "channel.flow"),
)


class Model:
    """The methods of a version, and the values of their arguments."""

    def __init__(self, version: str) -> None:
        self.module: Any = protocol(version)
        self.methods = {kind.NAME: kind for kind in self.module.METHODS.values()}
        likely = [self.methods[name] for name in LIKELY if name in self.methods]
        #: What each role sends without being asked.
        self.likely = {
            role: [kind for kind in likely if role in kind.SENT_BY and not self.is_reply(kind)]
            for role in ("client", "server")
        }
        names = {
            "client": ("start-ok", "secure-ok", "tune-ok", "open"),
            "server": ("start", "secure", "tune", "open-ok"),
        }
        self.handshake = {
            role: [self.methods[f"connection.{name}"] for name in method_names]
            for role, method_names in names.items()
        }
        self.all = tuple(self.methods.values())
        self.values = {kind: self.arguments(kind) for kind in self.all}

    def is_reply(self, kind: Any) -> bool:
        """Whether it answers another method, so that it has to be asked for."""
        return any(kind in other.RESPONSES for other in self.methods.values())

    def arguments(self, kind: Any) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        """The arguments of a method, those that are reserved left as they are."""
        default = kind()
        entries = []
        for name in kind.FIELDS:
            default_value = getattr(default, name)
            values = NAMED.get(name)
            if values is None or (
                default_value is not None and type(values[0]) is not type(default_value)
            ):
                values = TYPED.get(type(default_value), (default_value,))
            if not name.startswith(("reserved", "ticket")):
                entries.append((name, tuple(v for v in values if self.has_room(kind, name, v))))
        return tuple(entries)

    def has_room(self, kind: Any, name: str, value: Any) -> bool:
        """Whether the argument takes the value."""
        try:
            self.module.encode(1, kind(**{name: value}))
        except EncodeError:
            return False
        return True


@cache
def model_of(version: str) -> Model:
    return Model(version)


class LegacyTalk(Talk):
    """A talk of 0-9-1, 0-9 or 0-8."""

    closed_event = s.ConnectionClosed

    def __init__(self, script: Script, pieces: Any = None) -> None:
        super().__init__(script, pieces)
        head = script.byte()
        self.role = "client" if head & 1 else "server"
        self.peer = "server" if head & 1 else "client"
        version = VERSIONS[(head >> 1) & 3]
        self.model = model_of(version)
        self.module = self.model.module
        options: dict[str, Any] = {"max_body_size": 300, "max_requests": 20, "channel_max": 10}
        self.engine = s.Connection(self.role, protocol=version, **options)
        self.published = 0
        self.delivered = 0
        self.confirmed: dict[Any, set[int]] = {}
        self.done: set[int] = set()
        self.requests: list[Any] = []
        self.asked: list[Any] = []
        self.tags: list[tuple[Any, int]] = []
        self.take_output()
        self.open((head >> 3) & 7)

    def open(self, how: int) -> None:
        """Begin with a connection and a channel: what most steps need."""
        if how == 0:
            if self.role == "server":
                self.give(self.module.PROTOCOL_HEADER)
            return
        methods = self.model.methods
        if self.role == "client":
            major, minor = self.module.PROTOCOL.table["version"][:2]
            start = methods["connection.start"](
                version_major=major, version_minor=minor, mechanisms=b"PLAIN", locales=b"en_US"
            )
            self.frame(start)
            self.land()
            self.frame(methods["connection.tune"](channel_max=10, frame_max=131_072, heartbeat=0))
            self.frame(methods["connection.open-ok"]())
            self.land()
            if how > 1:
                self.outstanding += 3
                self.call(self.engine.open_channel)
                self.frame(methods["channel.open-ok"](), 1)
                self.land()
            channel = self.engine.channels.get(1)
            if how > 3 and channel is not None:
                self.call(channel.consume, "q", consumer_tag="c")
                self.frame(methods["basic.consume-ok"](consumer_tag="c"), 1)
                if how > 5 and "confirm.select" in methods:
                    self.call(channel.confirm)
                    self.frame(methods["confirm.select-ok"](), 1)
                self.land()
            return
        self.give(self.module.PROTOCOL_HEADER)
        properties = CAPABILITIES if self.module.PROTOCOL.name == "0-9-1" else {}
        self.frame(methods["connection.start-ok"](
            client_properties=properties, mechanism="PLAIN", response=b"\0u\0p", locale="en_US"
        ))  # fmt: skip
        self.land()
        self.frame(methods["connection.tune-ok"](channel_max=10, frame_max=131_072, heartbeat=0))
        self.frame(methods["connection.open"](virtual_host="/"))
        self.land()
        if how > 1:
            self.frame(methods["channel.open"](), 1)
            self.land()
        if how > 3:
            self.frame(methods["basic.consume"](queue="q", consumer_tag="c"), 1)
            if how > 5 and "confirm.select" in methods:
                self.frame(methods["confirm.select"](), 1)
            self.land()

    def frame(self, frame: Any, channel: int = 0) -> None:
        self.outstanding += 2
        self.give(self.module.encode(channel, frame))

    # --- steps ------------------------------------------------------------------------------------

    def step(self) -> None:
        """One frame of the peer, or one call after the flight was read."""
        script = self.script
        code = script.byte()
        if code >= 0xB0:
            self.land()
            ACTIONS[code % len(ACTIONS)](self)
            self.take_output()
            return
        channel = 1 if code < 0x98 else script.pick((1, 0, 2, 3))
        if channel == 1:  # the likely one: one that is open
            channel = next((n for n, one in self.engine.channels.items() if one.is_open), 1)
        if code >= 0xA8:
            self.rare(channel)
            return
        if not self.engine.is_open and code < 0x90:
            kind, channel = self.model.handshake[self.peer][code % 4], 0
        elif code < 0x20 and self.asked:
            kind, channel = self.reply_due()
        elif code < 0xA0:
            likely = self.model.likely[self.peer]
            kind = likely[code % len(likely)]
        else:
            kind = script.pick(self.model.all)
        if kind.NAME.startswith("connection.") and code & 7:
            channel = 0
        elif kind.NAME == "channel.open" and code & 7:
            channel = len(self.engine.channels) + 1
        method = kind(**{name: script.likely(values) for name, values in self.model.values[kind]})
        if "delivery_tag" in kind.FIELDS and kind.HAS_CONTENT and method.delivery_tag == 1:
            self.delivered += 1
            method.delivery_tag = self.delivered
        if not kind.HAS_CONTENT:
            if "delivery_tag" in kind.FIELDS and method.delivery_tag == 1:
                method.delivery_tag += script.byte() % max(self.published, self.delivered, 1)
            self.frame(method, channel)
            return
        how = script.byte()
        body = (b"", b"body", b"x" * 90, b"x" * 400)[how & 3]
        if how < 220:
            self.steps += 1
            self.outstanding += 3
            parts = self.module.encode_parts(channel, method, None, body, 4096)
            self.give(b"".join(parts))
        else:
            self.frame(method, channel)

    def reply_due(self) -> tuple[Any, int]:
        """What answers the oldest request of the application, and its channel."""
        request = self.asked.pop(0)
        return self.script.likely(request.method.RESPONSES), request.channel.number

    def request(self, function: Any, *arguments: Any, **options: Any) -> None:
        """A call whose answer the peer owes."""
        request = self.call(function, *arguments, **options)
        if request is not None and request.channel is not None:
            self.asked.append(request)

    @property
    def empty(self) -> Any:
        return self.module.Basic.Properties()

    def rare(self, channel: int) -> None:
        """Frames that are no methods."""
        module, how = self.module, self.script.byte() % 6
        if how == 0:
            self.frame(module.Heartbeat(), 0)
        elif how == 1:
            self.frame(module.Header(self.script.pick((4, 0, 90, 301)), self.empty), channel)
        elif how == 2:
            self.frame(module.Body(b"body"), channel)
        elif how == 3:
            self.frame(module.Body(b""), channel)
        elif how == 4:
            self.give(module.PROTOCOL_HEADER)
        else:
            self.give(module.encode(0, module.Heartbeat())[:1] + b"\0\1\0\0\0\0\xce")

    # --- the application --------------------------------------------------------------------------

    def answer(self, event: Any) -> None:
        """Go along, refuse, or leave it."""
        byte = self.script.byte()
        how = byte & 3 if byte >= 200 else 0
        call, engine = self.call, self.engine
        match event:
            case s.LoginRequested() | s.LoginContinued():
                if how == 3:
                    call(engine.refuse_login)
                elif how == 2:
                    call(engine.challenge, b"more")
                else:
                    call(engine.accept_login)
            case s.OpenRequested():
                call(engine.refuse_open) if how == 3 else call(engine.accept_open)
            case s.Requested(request=request):
                if how == 3:
                    self.requests.append(request)
                else:
                    self.respond(request)
            case s.Published(channel=channel, tag=tag) if tag is not None:
                if how == 0:
                    call(channel.ack, tag)
                elif how == 1:
                    call(channel.ack, tag, multiple=True)
                else:
                    self.tags.append((channel, tag))
            case s.Delivered(consumer=consumer, message=message):
                tag = message.method.delivery_tag
                if how == 1:
                    call(consumer.channel.ack, tag)
                else:
                    self.tags.append((consumer.channel, tag))

    def respond(self, request: Any) -> None:
        """The first answer that the specification has, with its defaults."""
        if not request.expects_response:
            return
        replies = request.method.RESPONSES
        reply = replies[self.script.byte() % len(replies)]
        values = {
            name: self.script.likely(options)
            for name, options in self.model.values[reply]
            if name != "delivery_tag"
        }
        if "delivery_tag" in reply.FIELDS:
            values["delivery_tag"] = self.delivered = self.delivered + 1
        self.payload += 400
        self.call(request.respond, reply(**values))

    def check(self, event: Any) -> None:
        """Confirms and replies come once."""
        match event:
            case s.Acked(channel=channel, tags=tags) | s.Nacked(channel=channel, tags=tags):
                confirmed_tags = self.confirmed.setdefault(channel, set())
                assert not confirmed_tags & set(tags), "confirmed twice"
                confirmed_tags |= set(tags)
                assert max(confirmed_tags) <= self.published
            case s.Replied(request=request) | s.RequestFailed(request=request):
                assert id(request) not in self.done, "answered twice"
                self.done.add(id(request))
                self.requests.append(request)  # so that no other one gets its id

    @staticmethod
    def name_of(value: Any) -> Any:
        """A value of an event, comparable between two engines."""
        if isinstance(value, s.Channel):
            return ("channel", value.number, value.is_open)
        if isinstance(value, s.Consumer):
            return ("consumer", value.tag, value.channel.number)
        if isinstance(value, s.Request | s.PeerRequest):
            return ("request", repr(value.method))
        return repr(value)


# --- calls of the application ---------------------------------------------------------------------


def channel_of(talk: LegacyTalk) -> Any:
    channels = list(talk.engine.channels.values())
    return channels[talk.script.byte() % len(channels)] if channels else None


def open_channel(talk: LegacyTalk) -> None:
    talk.outstanding += 3
    talk.call(talk.engine.open_channel)


def publish(talk: LegacyTalk) -> None:
    channel = channel_of(talk)
    if channel is not None:
        body = talk.script.pick((b"body", b"", b"z" * 9000))
        mandatory = talk.script.byte() & 3 == 3
        talk.payload += len(body) + 200
        if talk.call(channel.publish, "", "q", body, mandatory=mandatory) is not None:
            talk.published += 1
            talk.outstanding += 2


def ask(talk: LegacyTalk) -> None:
    """Any request that takes no arguments but names."""
    channel = channel_of(talk)
    if channel is None:
        return
    name = talk.script.pick(
        ("consume", "get", "qos", "confirm", "select_tx", "commit_tx", "rollback_tx", "recover",
         "declare_queue", "purge_queue", "delete_queue", "cancel", "declare_exchange")
    )  # fmt: skip
    names = {"consume": "q", "get": "q", "purge_queue": "q", "delete_queue": "q", "cancel": "c",
             "declare_exchange": "e", "declare_queue": "q"}  # fmt: skip
    options = {"consumer_tag": "c"} if name == "consume" else {}
    talk.outstanding += 3
    talk.request(getattr(channel, name), *([names[name]] if name in names else []), **options)


def settle(talk: LegacyTalk) -> None:
    """An answer to a delivery or publication, at times to one that is none."""
    if talk.tags and talk.script.byte() & 3:
        channel, tag = talk.tags.pop(talk.script.byte() % len(talk.tags))
    else:
        channel, tag = channel_of(talk), talk.script.pick(TAGS)
    if channel is None:
        return
    how = talk.script.byte() % 5
    if how == 0:
        talk.call(channel.ack, tag)
    elif how == 1:
        talk.call(channel.ack, tag, multiple=True)
    elif how == 2:
        talk.call(channel.nack, tag, multiple=True)
    elif how == 3:
        talk.call(channel.nack, tag)
    else:
        talk.call(channel.reject, tag)


def respond_late(talk: LegacyTalk) -> None:
    requests = [request for request in talk.requests if hasattr(request, "respond")]
    if requests:
        request = requests[talk.script.byte() % len(requests)]
        talk.requests.remove(request)
        talk.respond(request)


def deliver(talk: LegacyTalk) -> None:
    """Server: a delivery to a consumer."""
    channel = channel_of(talk)
    if channel is not None:
        talk.delivered += 1
        tag = talk.script.pick(("c", "", "d"))
        method = talk.model.methods["basic.deliver"](consumer_tag=tag, delivery_tag=talk.delivered)
        talk.payload += 300
        talk.outstanding += 2
        talk.call(channel.send, method, None, b"delivered")


def flow(talk: LegacyTalk) -> None:
    channel = channel_of(talk)
    if channel is not None:
        talk.outstanding += 2
        talk.request(channel.flow, bool(talk.script.byte() & 1))


def close_channel(talk: LegacyTalk) -> None:
    channel = channel_of(talk)
    if channel is not None:
        talk.call(channel.close)


def close(talk: LegacyTalk) -> None:
    if talk.script.byte() % 4 == 3:
        talk.call(talk.engine.close)


def nothing(talk: LegacyTalk) -> None:
    """The flight was read: that is all."""


ACTIONS = (
    *(nothing, nothing, nothing, *(publish,) * 6, ask, ask, ask, settle, settle, settle),
    *(respond_late, deliver, deliver, flow, open_channel, close_channel, close),
)


# --- the target -----------------------------------------------------------------------------------


def seeds() -> Iterable[bytes]:
    """Each way to begin, and random steps."""
    for head in range(64):
        yield bytes([head])
        yield bytes([head]) + bytes(range(0, 250, 7))
    yield from random_scripts(1, 60, 300)


TARGETS = [
    Target(
        "sessions",
        partial(run, LegacyTalk),
        seeds,
        mutate,
        largest=600,
        python=tuple(
            f"amqpcodec.session.{name}"
            for name in (
                *("_channel", "_checks", "_client", "_connection", "_ending", "_engine"),
                *("_heartbeats", "_model", "_operations", "_output", "_receive", "_rules"),
                *("_sasl", "_server", "_settling", "_state", "_tags", "_tuning"),
            )
        ),
        quick=partial(quick, LegacyTalk),
        core=False,
    )
]
