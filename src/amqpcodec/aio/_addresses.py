"""URLs of brokers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

__all__ = ["Address", "parse", "parse_all"]

_PORTS = {"amqp": 5672, "amqps": 5671}
_NUMBERS = ("channel_max", "frame_max", "heartbeat")
_OPTIONS = ("auth_mechanism", *_NUMBERS)


@dataclass(frozen=True, slots=True)
class Address:
    """What a URL says; None where it says nothing.

    Attributes:
        tls: whether the scheme is amqps.
        options: what stands after the question mark, by the names of a session's options.
    """

    host: str
    port: int
    tls: bool
    username: str | None
    password: str | None = field(repr=False)
    virtual_host: str | None
    options: dict[str, int | str]

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
    path = parts.path[1:]
    if "/" in path:
        raise ValueError(
            f"URL: the virtual host {path!r} has a '/'; write {path.replace('/', '%2F')!r} for it"
        )
    options: dict[str, int | str] = {}
    for name, text in parse_qsl(parts.query, keep_blank_values=True):
        if name not in _OPTIONS:
            raise ValueError(f"URL: unknown option {name!r}; known are {', '.join(_OPTIONS)}")
        if name in _NUMBERS:
            if not (text.isascii() and text.isdigit()):
                raise ValueError(f"URL: {name} is {text!r} and not a number")
            options[name] = int(text)
        else:
            options["mechanism"] = text.upper()
    return Address(
        host=parts.hostname or "localhost",
        port=_PORTS[parts.scheme] if port is None else port,
        tls=parts.scheme == "amqps",
        username=None if parts.username is None else unquote(parts.username),
        password=None if parts.password is None else unquote(parts.password),
        virtual_host=unquote(path) if path else None,
        options=options,
    )


def parse_all(urls: str | Iterable[str]) -> list[Address]:
    """One URL or several.

    Raises:
        ValueError: there is none, or one is wrong.
    """
    addresses = [parse(url) for url in ([urls] if isinstance(urls, str) else urls)]
    if not addresses:
        raise ValueError("connect: no URL")
    return addresses
