"""Logins, challenges and tokens of both families, with a secret in each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amqpcodec import v0_9_1
from amqpcodec import v1_0 as v1
from tests.support import v1_talk

SECRET = b"hunter2-is-the-secret"
TOKEN = b"eyJhbGciOi-the-token-" + b"T" * 3000 + b"-end-of-it"
#: Mechanism -> what a client responds with, and what it responds to challenges.
MECHANISMS = {
    "PLAIN": [b"\0guest\0" + SECRET],
    "AMQPLAIN": [b"\x05LOGINS\0\0\0\x05guest\x08PASSWORDS\0\0\0\x15" + SECRET],
    "SCRAM-SHA-256": [b"n,,n=guest,r=nonce", b"c=biws,r=nonce,p=" + SECRET],
    "OAUTHBEARER": [b"n,a=u,\x01host=h\x01auth=Bearer " + SECRET + b"\x01\x01"],
    "XOAUTH2": [b"user=u\x01auth=Bearer " + SECRET + b"\x01\x01"],
    "RABBIT-CR-DEMO": [b"guest", b"My password is " + SECRET],
}


def login_0x(mechanism: str, properties: dict[str, Any]) -> bytes:
    responses = MECHANISMS[mechanism]
    connection = v0_9_1.Connection
    data = v0_9_1.PROTOCOL_HEADER + v0_9_1.encode(
        0,
        connection.StartOk(
            client_properties=properties, mechanism=mechanism, response=responses[0], locale="en_US"
        ),
    )
    for response in responses[1:]:
        data += v0_9_1.encode(0, connection.SecureOk(response))
    data += v0_9_1.encode(0, connection.UpdateSecret(SECRET, "expired"))
    return data + v0_9_1.encode(0, connection.TuneOk(1, 131072, 60))


def login_v1(mechanism: str) -> bytes:
    responses = MECHANISMS[mechanism]
    data = v1.SASL_HEADER + v1.encode(0, v1.SaslInit(mechanism, responses[0]))
    for response in responses[1:]:
        data += v1.encode(0, v1.SaslResponse(response))
    return data + v1.PROTOCOL_HEADER + v1_talk.opening()


#: Mechanism -> what a server asks, and what it says at the end (1.0 alone): salts and proofs.
CHALLENGES = {
    "SCRAM-SHA-256": ([b"r=nonce,s=" + SECRET + b",i=4096"], b"v=" + SECRET),
    "OAUTHBEARER": ([b'{"status":"invalid_token","scope":"' + SECRET + b'"}'], b""),
    "XOAUTH2": ([b'{"status":"401","schemes":"' + SECRET + b'"}'], b""),
    "RABBIT-CR-DEMO": ([b"Please tell me your password, " + SECRET], b""),
    "CRAM-MD5": ([b"<" + SECRET + b"@host>"], b""),
}


def put_token(*, frame: int = 0, body: Any = None, handle: int = 3, channel: int = 0) -> bytes:
    """What a client of Azure or of RabbitMQ's kind sends to $cbs."""
    message = v1.Message(
        TOKEN.decode() if body is None else body,
        message_id="shown-id",
        reply_to="cbs",
        application_properties={"operation": "put-token", "type": "jwt", "name": "amqp://h/q"},
    )
    return v1.encode_message(
        channel,
        v1.Transfer(handle=handle, delivery_id=0, delivery_tag=b"t"),
        message,
        frame_max=frame or 131072,
    )


def cbs(*, handle: int = 3, channel: int = 0) -> bytes:
    name = f"cbs-sender-{channel}-{handle}"
    link = v1.Attach(name, handle, False, source=v1.Source("me"), target=v1.Target("$cbs"))
    return v1.encode(channel, link)


#: What may stand where the body of a message to $cbs should be.
BODIES = {
    "bytes that begin no section": b"shown" + TOKEN,
    "a section that no message has": b"\0\x53\x24\x45" + TOKEN,
    "a section before the body that is cut off": b"\0\x53\x73\xd0\0\x10\0\0\0\0\0\1" + TOKEN,
    "a descriptor, and no more of the body": b"\0\x80" + (0x75).to_bytes(8, "big"),
}


def begin(channel: int) -> bytes:
    return v1.encode(channel, v1.Begin(None, 0, 100, 100))


def with_damage(data: bytes, start: int, secret: bytes) -> Iterator[bytes]:
    """The data with one byte changed, any from start on that is not part of a secret."""
    secrets = [at for at in range(len(data)) if data.startswith(secret, at)]
    for at in range(start, len(data)):
        if any(first <= at < first + len(secret) for first in secrets):
            continue
        for value in {0, 1, 2, 3, 9, 16, 0x40, 0xFF, data[at] ^ 1, data[at] ^ 0x80} - {data[at]}:
            yield data[:at] + bytes([value]) + data[at + 1 :]
