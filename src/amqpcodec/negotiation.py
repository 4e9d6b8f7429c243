"""The eight bytes that open a connection: what they ask for, and what a server answers."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any, Literal, NamedTuple, TypeAlias

from ._facade.public import listing
from ._facade.versions import PROTOCOLS, protocol_of

__all__ = ["Negotiation", "negotiate"]

__dir__ = listing(__name__)

Layer: TypeAlias = Literal["amqp", "tls", "sasl"]

#: The four bytes after "AMQP" -> versions that they may mean, the likeliest first.
_ASKED: dict[bytes, tuple[str, ...]] = {
    b"\x00\x00\x09\x01": ("0-9-1",),
    # By the letter 0-9, but most clients that send it speak 0-9-1, and RabbitMQ answers so.
    b"\x01\x01\x00\x09": ("0-9-1", "0-9"),
    b"\x01\x01\x08\x00": ("0-8",),
    # What the text of 0-8 says; few clients do.
    b"\x01\x01\x09\x01": ("0-8",),
    b"\x00\x01\x00\x00": ("1.0",),
    b"\x02\x01\x00\x00": ("1.0",),
    b"\x03\x01\x00\x00": ("1.0",),
}
_LETTER = {b"\x01\x01\x00\x09": ("0-9",)}
_LAYERS: dict[int, Layer] = {2: "tls", 3: "sasl"}

#: Version -> the header that a server names it by, and what its connection.start says.
_ANSWERS: dict[str, tuple[bytes, tuple[int, int] | None]] = {
    "0-9-1": (b"AMQP\x00\x00\x09\x01", (0, 9)),
    "0-9": (b"AMQP\x01\x01\x00\x09", (0, 9)),
    "0-8": (b"AMQP\x01\x01\x08\x00", (8, 0)),
    "1.0": (b"AMQP\x03\x01\x00\x00", None),
}


class Negotiation(NamedTuple):
    """What a protocol header comes to. Made by :func:`negotiate`.

    Attributes:
        header: the eight bytes that came.
        accepted: whether a supported version is asked for.
        version: that version, such as "0-9-1"; None where there is none.
        candidates: versions that such a header may mean, the likeliest first, supported or not.
        layer: "amqp"; of 1.0 also "tls" or "sasl", which come before it.
        start: (version-major, version-minor) of the connection.start that answers; None where
            none does.
        reply: bytes that the server sends before all else: none where connection.start is the
            answer; for 1.0 the same header; on refusal a header that it does take, after which
            it closes the socket.
        reason: why it is refused, in words; None where it is not.
    """

    header: bytes
    accepted: bool
    version: str | None
    candidates: tuple[str, ...]
    layer: Layer
    start: tuple[int, int] | None
    reply: bytes
    reason: str | None

    @property
    def protocol(self) -> ModuleType | None:
        """The protocol module that speaks the version; None on refusal."""
        return None if self.version is None else protocol_of(self.version)


def negotiate(
    header: Any, supported: Iterable[str] | None = None, *, letter: bool = False
) -> Negotiation:
    """Which version a protocol header asks for, and what a server answers.

    ``0 0 9 1`` is 0-9-1. ``1 1 0 9`` is 0-9 by the letter, but real clients send it and then speak
    0-9-1, and are answered so. ``1 1 8 0`` and ``1 1 9 1`` are 0-8. ``0 1 0 0``, ``2 1 0 0`` and
    ``3 1 0 0`` are 1.0: plain, TLS and SASL. Everything else is refused.

    Args:
        header: the first eight bytes of a connection (what follows them is not looked at), or a
            ProtocolHeader of any protocol module.
        supported: versions that the server speaks, the one it likes best first, such as
            ("0-9-1", "0-8"); None: all that this package has.
        letter: take ``1 1 0 9`` for 0-9, as the specification does.

    Raises:
        ValueError: fewer than eight bytes, which may still become a header; or a version that
            there is not.

    Spec: 0-9-1 §4.2.2, 1.0 §2.2.
    """
    raw = _bytes(header)
    versions = _supported(supported)
    if len(raw) < 8 and b"AMQP".startswith(raw[:4]):
        raise ValueError(f"a protocol header has 8 bytes, not {len(raw)}")
    version_bytes = raw[4:8] if raw.startswith(b"AMQP") else b""
    candidates = _ASKED.get(version_bytes, ())
    if letter:
        candidates = _LETTER.get(version_bytes, candidates)
    version = next((one for one in candidates if one in versions), None)
    layer: Layer = _LAYERS.get(version_bytes[0], "amqp") if candidates == ("1.0",) else "amqp"
    if version is None:
        return Negotiation(
            raw[:8],
            accepted=False,
            version=None,
            candidates=candidates,
            layer=layer,
            start=None,
            reply=_refusal(candidates, versions),
            reason=_reason(raw, version_bytes, candidates),
        )
    start = _ANSWERS[version][1]
    return Negotiation(
        raw[:8],
        accepted=True,
        version=version,
        candidates=candidates,
        layer=layer,
        start=start,
        reply=raw[:8] if start is None else b"",
        reason=None,
    )


def _bytes(header: Any) -> bytes:
    # By its fields: each module has a class of its own, and none needs to be loaded here.
    if getattr(header, "FIELDS", None) == ("protocol_id", "major", "minor", "revision"):
        return b"AMQP" + bytes(getattr(header, name) for name in header.FIELDS)
    try:
        return bytes(memoryview(header).cast("B")[:8])
    except TypeError:
        kind = type(header).__qualname__
        raise TypeError(f"takes bytes or a ProtocolHeader, not {kind}") from None


def _supported(names: Iterable[str] | None) -> tuple[str, ...]:
    if isinstance(names, str):
        raise TypeError(f"supported takes versions in a tuple, not {names!r}")
    versions = tuple(PROTOCOLS) if names is None else tuple(names)
    for name in versions:
        if name not in PROTOCOLS:
            raise ValueError(f"no protocol {name!r}; there is {', '.join(map(repr, PROTOCOLS))}")
    if not versions:
        raise ValueError("a server supports one version at least")
    return versions


def _refusal(candidates: tuple[str, ...], versions: tuple[str, ...]) -> bytes:
    """A header that the server does take: of the same family where it speaks one."""
    newest = candidates == ("1.0",)
    kin = [one for one in versions if (one == "1.0") is newest]
    return _ANSWERS[(kin or versions)[0]][0]


def _reason(raw: bytes, version_bytes: bytes, candidates: tuple[str, ...]) -> str:
    if candidates:
        return f"AMQP {candidates[0]} is not supported"
    if version_bytes:
        return f"no version of AMQP has the header {' '.join(map(str, version_bytes))}"
    other = other_protocol(raw)
    if other == "TLS":
        return "not AMQP but TLS: the peer takes this port for one with TLS"
    if other is not None:
        return f"not AMQP but {other}: the peer takes this port for one of {other}"
    return "not AMQP: the bytes do not begin with its name"


def other_protocol(start: Any) -> str | None:
    """Which other protocol a stream begins with: "HTTP", "TLS", "MQTT", "STOMP" or "SSH".

    None for AMQP, for any other, and for fewer than 7 bytes.
    """
    from ._facade.interpreter import _codec

    return _codec.foreign_protocol_name(start)


def version_name(header_or_version: Any, *, letter: bool = False) -> str:
    """What a peer calls its version, such as "0-8".

    Args:
        header_or_version: a ProtocolHeader, or (version_major, version_minor) of connection.start.
        letter: take the header ``1 1 0 9`` for 0-9, as the specification does.
    """
    if isinstance(header_or_version, tuple):
        name = next(
            (name for name, (_, start) in _ANSWERS.items() if start == header_or_version), None
        )
        return name or "-".join(map(str, header_or_version))
    negotiation = negotiate(header_or_version, letter=letter)
    if negotiation.candidates:
        layer = "" if negotiation.layer == "amqp" else f" ({negotiation.layer.upper()})"
        return negotiation.candidates[0] + layer
    return f"{header_or_version.major}-{header_or_version.minor}-{header_or_version.revision}"
