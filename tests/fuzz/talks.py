"""Random conversations of every protocol that captures are read as, for `packets`."""

from __future__ import annotations

import ssl
from functools import cache
from importlib.util import find_spec
from random import Random

from amqpcodec import v1_0 as v1
from tests.fuzz import v1_model as model
from tests.fuzz.mutators import below, fresh
from tests.support import amqp091_gen as gen
from tests.support import amqp091_wire as w
from tests.support import v1_talk
from tests.support.bridge import V0_8, V0_9
from tests.support.tls_talk import CLIENT, SERVER, Payloads, Talker
from tests.support.web_socket import EXTENSIONS, over_web

#: Of 0-9-1 first, then of the others, and of one that nobody speaks.
HEADERS = (
    *(w.PROTOCOL_HEADER, w.PROTOCOL_HEADER, b"AMQP\0\0\x09\0", b"AMQP\1\1\0\x09"),
    *(b"AMQP\1\1\x08\0", b"AMQP\1\1\x09\1", b"AMQP\0\0\x09\2", b"AMQP\0\0\x0a\0"),
)
#: What a proxy says first, of both versions.
PROXIES = (
    b"PROXY TCP4 192.0.2.7 192.0.2.8 40000 5672\r\n",
    b"PROXY TCP6 2001:db8::7 2001:db8::8 65535 5672\r\n",
    b"PROXY UNKNOWN\r\n",
    b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + bytes(range(12)),
    b"\r\n\r\n\0\r\nQUIT\n\x21\x21\0\x26" + bytes(38),
    b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0",
)
NAMES = (b"password", b"X-Api-Key", b"token", b"product", b"", b"Authorization", b"pwd")
LOGINS = ("start-ok", "secure", "secure-ok", "update-secret", "start", "tune-ok", "tune")
#: Of an open.
SECRETS = {v1.Symbol("password"): ["p", {"k": 1}, True], v1.Symbol("x"): {"token": True}}


def login(rng: Random) -> bytes:
    """A method of connection with something to hide, in tables within tables too."""
    entries = [
        (NAMES[below(rng, len(NAMES))], gen.value(rng, below(rng, 4))) for _ in range(below(rng, 4))
    ]
    if rng.random() < 0.5:
        arguments = {
            "client_properties": w.table(*entries),
            "mechanism": b"PLAIN",
            "response": b"\0u\0p",
        }
        return w.method_frame("connection.start-ok", channel=0, **arguments)
    return gen.method_frame(rng, 0, f"connection.{LOGINS[below(rng, len(LOGINS))]}")


def legacy(rng: Random) -> Payloads:
    """Of 0-9-1, 0-9 or 0-8, each with its header or another one's, or none."""
    messages: Payloads = []
    version = (None, None, V0_9, V0_8)[below(rng, 4)]
    if rng.random() < 0.06:
        messages.append((CLIENT, PROXIES[below(rng, len(PROXIES))]))
    if rng.random() < 0.85:
        messages.append((CLIENT, HEADERS[below(rng, 3 if version is None else len(HEADERS))]))
    for _ in range(1 + below(rng, 9)):
        side, how = below(rng, 2), below(rng, 10)
        if how == 0:
            data = login(rng)
        elif how == 1:
            data = gen.any_frame(rng)
        elif how == 2:
            data = gen.conversation(rng, 2)
        elif version is not None and how < 8:
            data = b"".join(fresh(rng, version))
        elif how < 6:
            data = b"".join(gen.message(rng, 1 + below(rng, 2)))
        else:
            data = gen.method_frame(rng, below(rng, 3))
        if rng.random() < 0.06:
            data = gen.spoil(rng, data, 1)
        messages.append((side, data))
    return messages


def put_token(rng: Random) -> bytes:
    """A transfer that puts a token, or begins to."""
    body = ({"value": "secret"}, {"value": [b"secret", {"k": True}]}, {"data": [b"a" * 50, b"b"]})
    properties = {"operation": "put-token", "type": "jwt"}
    encoded_message = v1.Message(**body[below(rng, 3)], application_properties=properties).encode()
    more = rng.random() < 0.3
    piece = encoded_message[: below(rng, len(encoded_message))] if more else encoded_message
    where = {"channel": below(rng, 2), "handle": below(rng, 3)}
    return bytes(v1_talk.transfer(piece, 0, **where, more=more))


def deliveries(rng: Random) -> list[bytes]:
    """Messages in pieces on several links: those of one link in order, some never completed."""
    queues = [
        model.delivery(rng) if rng.random() < 0.8 else [put_token(rng)]
        for _ in range(1 + below(rng, 4))
    ]
    out = []
    while queues := [queue for queue in queues if queue]:
        out.append(queues[below(rng, len(queues))].pop(0))
    return out


def attach(rng: Random) -> bytes:
    """A link, some to the node that tokens are put to."""
    address = ("$cbs", "$cbs", "q")[below(rng, 3)]
    link = v1.Attach(
        name="l",
        handle=below(rng, 3),
        role=rng.random() < 0.3,
        source=v1.Source(address="q"),
        target=v1.Target(address=address),
    )
    return bytes(v1.encode(below(rng, 2), link))


def v1_side(rng: Random, side: int) -> list[bytes]:
    """What one side says, mostly from its header on."""
    out = []
    if rng.random() < 0.4:
        out += [v1_talk.SASL, v1_talk.init() if side == CLIENT else model.frame(rng)]
        if rng.random() < 0.5:
            out.append(
                v1.encode(0, v1.SaslResponse(b"secret") if side == CLIENT else v1.SaslOutcome(0))
            )
    if rng.random() < 0.85:
        out += [(v1_talk.AMQP, v1_talk.AMQP, v1_talk.AMQP, v1_talk.TLS)[below(rng, 4)]]
        opened = v1.Open(container_id="c", properties=SECRETS) if rng.random() < 0.1 else None
        out.append(v1.encode(0, opened) if opened else v1_talk.opening((512, 4096)[below(rng, 2)]))
    for _ in range(below(rng, 3)):
        out.append(attach(rng))
    for _ in range(below(rng, 4)):
        if rng.random() < 0.5:
            out += deliveries(rng)
        else:
            out.append(model.frame(rng))
    if rng.random() < 0.3:
        ends = (v1.Detach(0, True), v1.End(), v1.Close())
        out += [v1.encode(below(rng, 2), performative) for performative in ends[below(rng, 3) :]]
    return out


def v1_talks(rng: Random) -> Payloads:
    """Both sides of 1.0, in turns."""
    sides = [v1_side(rng, CLIENT), v1_side(rng, SERVER)]
    messages: Payloads = []
    while any(sides):
        side = below(rng, 2) if all(sides) else int(not sides[0])
        messages.append((side, sides[side].pop(0)))
    return messages


def plain(rng: Random) -> Payloads:
    """A conversation of either family, or at times what is none."""
    if rng.random() < 0.03:
        return [(below(rng, 2), gen.octets(rng, 1 + below(rng, 300)))]
    return legacy(rng) if rng.random() < 0.55 else v1_talks(rng)


def web(rng: Random) -> Payloads:
    """The same over WebSocket, and a frame or a line of it changed at times."""
    extension = EXTENSIONS[below(rng, len(EXTENSIONS))]
    messages = over_web(plain(rng)[:9], extension, 1 + below(rng, 3))
    if rng.random() < 0.3:
        which = below(rng, len(messages))
        messages[which] = (messages[which][0], gen.spoil(rng, messages[which][1], 1))
    return messages


@cache
def tls() -> list[tuple[Payloads, bytes]]:
    """Some over TLS, with their key logs; none where what reads them is missing."""
    if find_spec("cryptography") is None:
        return []
    rng = Random(1)
    old = ssl.TLSVersion.TLSv1_2
    talkers = [
        *(Talker(), Talker(old), Talker(old, tickets=False), Talker(old, "AES128-SHA")),
        *(Talker(old, "ECDHE-ECDSA-CHACHA20-POLY1305"), Talker(old, "ECDHE-ECDSA-AES256-SHA384")),
    ]
    recordings = []
    for talker in talkers:
        for make in (legacy, v1_talks, web):
            messages = [message for message in make(rng)[:12] if len(message[1]) < 1000]
            try:
                recordings.append((talker.talk(messages, close=make is not web), talker.keys))
            except ssl.SSLError:  # a cipher that this OpenSSL, or this certificate, has not
                break
    header = (CLIENT, v1_talk.TLS), (SERVER, v1_talk.TLS)
    recordings += [([*header, *messages], keys) for messages, keys in recordings[1::3]]
    return recordings
