"""A recording of RabbitMQ over TLS, made with pika (TLS 1.3 and 1.2, two suites) and py-amqp."""

from __future__ import annotations

import pytest

from amqpcodec import capture
from tests.capture.rows import rows
from tests.paths import REPO

pytest.importorskip("cryptography")

RECORDING, KEYS = REPO / "demo" / "tls.pcap.gz", REPO / "demo" / "tls_keys.log"


def test_every_connection_is_read():
    found = capture.stats(RECORDING, keylog=KEYS)
    assert (found["tls_connections"], found["tls_decrypted"], found["tls_reasons"]) == (4, 4, {})
    assert (found["errors"], found["gaps"], found["left_out_octets"]) == (0, 0, 0)
    assert found["versions"] == {"0-9-1": 4}
    assert found["frames"] == {"method": 104, "header": 19, "body": 19, "protocol-header": 4}


def test_messages():
    bodies = [
        row["body"]
        for row in rows(RECORDING.read_bytes(), keylog=KEYS, level="message")
        if row["method"] == "basic.publish"
    ]
    assert bodies == [b'{"order": %d}' % number for number in (0, 1, 2)] * 3 + [b"hello" * 3000]
