"""TLS by a throw-away certificate authority."""

from __future__ import annotations

import socket
import ssl

import pytest

pytest.importorskip("cryptography")
pika = pytest.importorskip("pika")

from amqpcodec.testing import Broker, tls_contexts  # noqa: E402


@pytest.mark.parametrize("few", [0, 1])
def test_pika_by_tls(few):
    server, client, ca_pem = tls_contexts()
    assert ca_pem.startswith("-----BEGIN CERTIFICATE-----")
    with Broker(tls=server) as broker:
        broker.read_bytes = few * 1000
        broker.write_bytes = few
        parameters = pika.URLParameters(broker.url)
        parameters.ssl_options = pika.SSLOptions(client, "127.0.0.1")
        connection = pika.BlockingConnection(parameters)
        channel = connection.channel()
        channel.queue_declare("q", durable=True)
        channel.confirm_delivery()
        body = b"x" * (500 if few else 400_000)
        channel.basic_publish("", "q", body)
        assert channel.basic_get("q")[2] == body
        connection.close()
        broker.connections(n=0)


@pytest.mark.parametrize(
    ("options", "name", "text"),
    [
        ({"host": "broker.example"}, "127.0.0.1", "IP address mismatch"),
        ({"days": -1}, "127.0.0.1", "expired"),
        ({}, "other", "Hostname mismatch"),
    ],
)
def test_certificates_that_are_wrong(options, name, text):
    server, client, _ = tls_contexts(**options)
    with (
        Broker(tls=server) as broker,
        socket.create_connection((broker.host, broker.port)) as line,
        pytest.raises(ssl.SSLCertVerificationError, match=text),
    ):
        client.wrap_socket(line, server_hostname=name)


def test_a_client_without_tls():
    server, client, _ = tls_contexts()
    with Broker(tls=server) as broker:
        with socket.create_connection((broker.host, broker.port)) as line:
            line.sendall(b"AMQP\x00\x00\x09\x01")
            line.settimeout(5)
            try:
                assert b"AMQP" not in line.recv(100)
            except ConnectionResetError:
                pass
        with socket.create_connection((broker.host, broker.port)) as line:
            client.wrap_socket(line, server_hostname="localhost").close()


def test_strict_clients_trust_it():
    """CPython 3.13 checks as RFC 5280 says, by default."""
    server, client, _ = tls_contexts()
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    with (
        Broker(tls=server) as broker,
        socket.create_connection((broker.host, broker.port)) as plain,
        client.wrap_socket(plain, server_hostname="127.0.0.1") as link,
    ):
        assert link.getpeercert()["subject"] == ((("commonName", "127.0.0.1"),),)
