"""A throw-away certificate authority, for tests of TLS."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import tempfile
from pathlib import Path

__all__ = ["tls_contexts"]


def tls_contexts(
    host: str = "127.0.0.1", *, days: int = 1
) -> tuple[ssl.SSLContext, ssl.SSLContext, str]:
    """Contexts for a Broker and for its clients, by a certificate authority made for the purpose.

    Needs ``cryptography`` (the extra ``crypto``). Each call makes new keys and leaves nothing on
    disk::

        server, client, ca_pem = tls_contexts()
        with Broker(tls=server) as broker:
            connect(broker.url, ssl=client)  # broker.url begins with amqps://

    Args:
        host: name or address that the certificate is for; another one than "127.0.0.1" and
            "localhost" shows what a client does about a wrong name.
        days: how long it is valid; a negative number makes one that has expired.

    Returns:
        the server's context, the client's, which trusts that authority alone, and the authority's
        certificate as PEM text.

    Raises:
        ImportError: ``cryptography`` is not installed.
    """
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import NameOID
    except ImportError as error:
        raise ImportError("tls_contexts() needs the package cryptography") from error

    def name(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    now = datetime.datetime.now(datetime.UTC)
    authority_key = ec.generate_private_key(ec.SECP256R1())
    server_key = ec.generate_private_key(ec.SECP256R1())

    def certificate(
        subject: str, key: ec.EllipticCurvePublicKey, extensions: list[x509.ExtensionType], end: int
    ) -> x509.Certificate:
        builder = (
            x509.CertificateBuilder()
            .subject_name(name(subject))
            .issuer_name(name("amqpcodec.testing"))
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=max(1, 1 - end)))
            .not_valid_after(now + datetime.timedelta(days=end))
        )
        for extension in extensions:
            # RFC 5280, sections 4.2.1.3 and 4.2.1.9: what says that it is an authority is critical.
            is_critical = isinstance(extension, x509.BasicConstraints | x509.KeyUsage)
            builder = builder.add_extension(extension, critical=is_critical)
        return builder.sign(authority_key, hashes.SHA256())

    authority = certificate(
        "amqpcodec.testing",
        authority_key.public_key(),
        [
            x509.BasicConstraints(ca=True, path_length=0),
            x509.KeyUsage(
                key_cert_sign=True,
                crl_sign=True,
                digital_signature=False,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                encipher_only=False,
                decipher_only=False,
            ),
            x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()),
        ],
        max(days, 1),
    )
    try:
        alternative: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        alternative = x509.DNSName(host)
    names = [alternative]
    if host == "127.0.0.1":
        names.append(x509.DNSName("localhost"))
    leaf = certificate(
        host,
        server_key.public_key(),
        [
            x509.SubjectAlternativeName(names),
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()),
        ],
        days,
    )
    pem = serialization.Encoding.PEM
    authority_pem = authority.public_bytes(pem).decode()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:  # the ssl module reads keys from files only
        path = Path(folder, "server.pem")
        path.touch(mode=0o600)
        path.write_bytes(
            server_key.private_bytes(
                pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + leaf.public_bytes(pem)
        )
        server.load_cert_chain(path)
    client = ssl.create_default_context(cadata=authority_pem)
    return server, client, authority_pem
