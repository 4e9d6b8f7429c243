"""TLS and EXTERNAL with RabbitMQ: who logs in is the name in the client's certificate."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl

import pytest

from amqpcodec import aio
from tests import live_broker
from tests.aio.runs import run

x509 = pytest.importorskip("cryptography.x509")
from cryptography.hazmat.primitives import hashes, serialization  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import ec  # noqa: E402

#: EXTERNAL looks into the node's own options, whatever those of the listener are.
LISTEN = """
    {{ok, _}} = application:ensure_all_started(ssl),
    Options = [{{cacertfile, "{trusted}"}}, {{certfile, "{own}"}}, {{keyfile, "{own}"}},
               {{verify, verify_peer}}, {{fail_if_no_peer_cert, false}}],
    ok = application:set_env(rabbit, ssl_options, Options),
    rabbit_networking:start_ssl_listener({{"127.0.0.1", {port}}}, Options, 1).
"""


def common_name(text):
    return x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, text)])


def certified(name, authority, authority_key, can_sign=False):
    """A certificate for a name, signed by an authority (without one: by itself), and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = authority.subject if authority else common_name(name)
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    builder = (
        x509.CertificateBuilder(
            issuer, common_name(name), key.public_key(), x509.random_serial_number()
        )
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=can_sign, path_length=None), critical=True)
    )
    return builder.sign(authority_key or key, hashes.SHA256()), key


def in_file(path, certificate, *keys):
    pem = serialization.Encoding.PEM
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    parts = [key.private_bytes(pem, *plain) for key in keys]
    path.write_bytes(b"".join((*parts, certificate.public_bytes(pem))))
    return path


def test_the_certificate_is_the_login(url, unique, tmp_path):
    authority, authority_key = certified("authority", None, None, can_sign=True)
    trusted = in_file(tmp_path / "authority.pem", authority)
    broker, user = (
        in_file(tmp_path / f"{name}.pem", *certified(name, authority, authority_key))
        for name in ("broker", unique)
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    live_broker.rabbitmqctl("eval", LISTEN.format(port=port, trusted=trusted, own=broker))
    live_broker.rabbitmqctl("add_user", unique, "a password that nobody uses")
    live_broker.rabbitmqctl("set_permissions", unique, ".*", ".*", ".*")
    try:
        secure = f"amqps://127.0.0.1:{port}/%2F"
        anonymous = ssl.create_default_context(cafile=trusted)
        named = ssl.create_default_context(cafile=trusted)
        named.load_cert_chain(user)

        async def work():
            async with (
                aio.connect(secure, ssl=named, mechanism="EXTERNAL", name=unique) as connection,
                connection.channel() as channel,
            ):
                await channel.declare_queue(unique, exclusive=True)
                await channel.publish(b"one", routing_key=unique, user_id=unique)
                message = await channel.get(unique)
                assert (message.body, message.user_id) == (b"one", unique)
                users = live_broker.rabbitmqctl("list_connections", "user", "auth_mechanism")
                assert [unique, "EXTERNAL"] in [line.split() for line in users.splitlines()]
            with pytest.raises(aio.ConnectFailed, match="EXTERNAL"):
                await aio.connect(secure, ssl=anonymous, mechanism="EXTERNAL")
            with pytest.raises(aio.ConnectFailed, match="CERTIFICATE_VERIFY_FAILED"):
                await aio.connect(secure, mechanism="EXTERNAL")
            live_broker.rabbitmqctl("delete_user", unique)
            with pytest.raises(aio.AuthenticationFailed):
                await aio.connect(secure, ssl=named, mechanism="EXTERNAL")
            with pytest.raises(aio.ConnectFailed, match="EXTERNAL"):
                await aio.connect(url, mechanism="EXTERNAL")

        run(work)
    finally:
        stop = f'rabbit_networking:stop_tcp_listener({{"127.0.0.1", {port}}}).'
        live_broker.rabbitmqctl("eval", stop)
