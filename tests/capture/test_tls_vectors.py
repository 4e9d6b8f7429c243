"""Recordings over TLS: RabbitMQ with pika, py-amqp and openssl; Azure's client over WebSocket."""

from __future__ import annotations

import pytest

from amqpcodec import capture
from amqpcodec.capture import KeyLog
from tests.capture.rows import rows
from tests.paths import REPO

pytest.importorskip("cryptography")

RECORDING, KEYS = REPO / "demo" / "tls.pcap.gz", REPO / "demo" / "tls_keys.log"
#: openssl s_client: TLS 1.3 with key updates of both sides, its session resumed, TLS 1.2 with
#: ChaCha20 and with CBC and SHA-256.
MADE = REPO / "tests" / "capture" / "recordings"
OPENSSL, OPENSSL_KEYS = MADE / "tls_openssl.pcap.gz", MADE / "tls_openssl_keys.log"


def test_every_connection_is_read():
    counters = capture.stats(RECORDING, keylog=KEYS)
    assert (counters["tls_connections"], counters["tls_decrypted"], counters["tls_reasons"]) == (
        4,
        4,
        {},
    )
    assert (counters["errors"], counters["gaps"], counters["skipped_bytes"]) == (0, 0, 0)
    assert counters["versions"] == {"0-9-1": 4}
    assert counters["frames"] == {"method": 104, "header": 19, "body": 19, "protocol-header": 4}


def test_messages():
    bodies = [
        row["body"]
        for row in rows(RECORDING.read_bytes(), keylog=KEYS, level="message")
        if row["method"] == "basic.publish"
    ]
    assert bodies == [b'{"order": %d}' % number for number in (0, 1, 2)] * 3 + [b"hello" * 3000]


def test_openssl():
    keys = KeyLog(OPENSSL_KEYS)
    assert keys.bad_lines == []
    counters = capture.stats(OPENSSL, keylog=keys)
    assert (counters["tls_connections"], counters["tls_decrypted"], counters["tls_reasons"]) == (
        4,
        4,
        {},
    )
    assert (counters["errors"], counters["gaps"], counters["skipped_bytes"]) == (0, 0, 0)
    assert counters["frames"] == {"method": 72, "header": 16, "body": 16, "protocol-header": 4}
    bodies = [
        (row["method"], row["body"])
        for row in rows(OPENSSL.read_bytes(), keylog=keys, level="message")
        if row["body"] is not None
    ]
    ways = ("basic.publish", "basic.get-ok")
    assert bodies == [(way, body) for way in ways for body in (b"before", b"after")] * 4


def test_azure_over_websocket():
    """Azure's client through a WebSocket server that passes on to a server of amqpcodec.session."""
    recording = MADE / "websocket_azure.pcap.gz"
    options = {"keylog": MADE / "websocket_azure_keys.log", "ports": (4430,)}
    counters = capture.stats(recording, **options)
    assert (counters["websockets"], counters["tls_decrypted"], counters["versions"]) == (
        2,
        2,
        {"1.0": 2},
    )
    assert (counters["errors"], counters["gaps"], counters["skipped_bytes"]) == (0, 0, 0)
    assert counters["methods"]["close"] == 2
    bodies = [
        (row["direction"], row["body"])
        for row in rows(recording.read_bytes(), level="message", protocol="1.0", **options)
        if row["performative"] == "transfer"
    ]
    sent = [b"order 1", b"order 2", b"order 3", b"line 4\n" * 850]
    assert bodies == [(side, body) for side in ("client", "server") for body in sent]
