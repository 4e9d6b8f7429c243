"""URLs of brokers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

__all__ = ["Address", "parse"]

_PORTS = {"amqp": 5672, "amqps": 5671}
_NUMBERS = ("channel_max", "frame_max", "heartbeat")
_MECHANISMS = ("PLAIN", "AMQPLAIN", "EXTERNAL")
_OPTIONS = ("auth_mechanism", *_NUMBERS)


@dataclass(frozen=True, slots=True)
class Address:
    """What a URL says.

    Attributes:
        tls: whether the scheme is amqps.
        options: of a session, such as username and heartbeat: those that it names.
        ip: the address of the host that is meant; "" until it was asked for.
    """

    host: str
    port: int
    tls: bool
    options: dict[str, Any] = field(repr=False)
    ip: str = ""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'amqps' if self.tls else 'amqp'}://{host}:{self.port}"


def parse(url: str) -> Address:
    """Take a URL apart: ``amqp[s]://user:password@host:port/vhost?heartbeat=10``.

    Raises:
        ValueError: names the part that is wrong, never the password.
    """
    parts = urlsplit(url)
    if parts.scheme not in _PORTS:
        raise ValueError(f"URL: the scheme is {parts.scheme!r}, not 'amqp' or 'amqps'")
    if parts.fragment:
        raise ValueError("URL: it has a '#'; write %23 for one in a name or password")
    try:
        port = parts.port
    except ValueError:
        raise ValueError("URL: the port is no number from 0 to 65535") from None
    host = parts.hostname or "localhost"
    try:
        host.encode("idna")
    except UnicodeError:
        raise ValueError(f"URL: {host!r} is no host name") from None
    path = parts.path[1:]
    if "/" in path and "@" in path:  # the path may hold a part of the password
        raise ValueError("URL: write %2F for a '/' in a name, a password or the virtual host")
    if "/" in path:
        raise ValueError(
            f"URL: the virtual host {path!r} has a '/'; write {path.replace('/', '%2F')!r} for it"
        )
    quoted = {"username": parts.username, "password": parts.password, "virtual_host": path or None}
    options: dict[str, Any] = {
        name: unquote(text) for name, text in quoted.items() if text is not None
    }
    for name, text in parse_qsl(parts.query, keep_blank_values=True):
        if name not in _OPTIONS:
            raise ValueError(f"URL: unknown option {name!r}; known are {', '.join(_OPTIONS)}")
        if name in _NUMBERS and text.isascii() and text.isdigit():
            options[name] = int(text)
        elif name not in _NUMBERS and text.upper() in _MECHANISMS:
            options["mechanism"] = text.upper()
        else:
            expected = "a number" if name in _NUMBERS else f"one of {', '.join(_MECHANISMS)}"
            raise ValueError(f"URL: {name} is {text!r} and not {expected}")
    port = _PORTS[parts.scheme] if port is None else port
    return Address(host, port, parts.scheme == "amqps", options)
