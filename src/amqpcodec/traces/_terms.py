"""Erlang terms as RabbitMQ's tracing plugin prints them.

A term becomes a str (atom), bytes (binary), an int, a float, a tuple or a list.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["MAX_DEPTH", "TermError", "parse"]

#: Terms within each other, at most.
MAX_DEPTH = 100

_TOKEN = re.compile(
    rb'\s*(?:(<<"(?:[^"\\]|\\.)*+"(?:/utf8)?>>)|(<<[0-9,\s]*+>>)|"((?:[^"\\]|\\.)*+)"'
    rb"|(-?\d+\.\d+(?:e[+-]?\d+)?)|(-?\d+)|([a-z]\w*|'(?:[^'\\]|\\.)*+')|([\[\]{},]))",
    re.DOTALL | re.IGNORECASE,
)
_ESCAPE = re.compile(rb"\\(?:x\{([0-9A-Fa-f]+)\}|([0-7]{1,3})|(.))", re.DOTALL)
_LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f", b"v": b"\v",
            b"e": b"\x1b", b"s": b" ", b"d": b"\x7f"}  # fmt: skip
_CLOSING = {b"[": b"]", b"{": b"}"}


class TermError(ValueError):
    """What was printed is no term that is known here."""


def parse(text: bytes) -> Any:
    """The term that all of a text is.

    Raises:
        TermError: it is none, it is cut, or more terms stand within each other than MAX_DEPTH.
    """
    open_: list[tuple[bytes, list[Any]]] = [(b"", [])]
    at, wants_comma = 0, False
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            if text[at:].isspace():
                break
            raise TermError(f"no Erlang term at byte {at}")
        at = match.end()
        sign = match[7]
        if sign == b",":
            if not wants_comma or len(open_) == 1:
                raise TermError(f"a comma too many before byte {at}")
            wants_comma = False
            continue
        if sign in (b"]", b"}"):
            opener, items = open_.pop()
            if _CLOSING.get(opener) != sign or (items and not wants_comma):
                raise TermError(f"{sign.decode()} too many before byte {at}")
            open_[-1][1].append(items if opener == b"[" else tuple(items))
        elif wants_comma:
            raise TermError(f"a comma is missing before byte {at}")
        elif sign is not None:
            if len(open_) > MAX_DEPTH:
                raise TermError(f"more than {MAX_DEPTH} terms within each other")
            open_.append((sign, []))
            continue
        else:
            open_[-1][1].append(_scalar(match))
        wants_comma = True
    if len(open_) != 1 or len(open_[0][1]) != 1:
        raise TermError("an Erlang term that is cut")
    return open_[0][1][0]


def _scalar(match: re.Match[bytes]) -> Any:
    quoted, numbers, string, real, integer, atom, _ = match.groups()
    if quoted is not None:
        return _unescaped(quoted[3 : quoted.rindex(b'"')])
    if numbers is not None:
        try:
            return bytes(int(digits) for digits in numbers[2:-2].split(b",") if digits.strip())
        except ValueError:
            raise TermError("a binary with what is no byte") from None
    if string is not None:
        return list(_unescaped(string))  # of characters, to Erlang
    if real is not None:
        return float(real)
    if integer is not None:
        if len(integer) > 40:
            raise TermError("a number that is too long")
        return int(integer)
    return _unescaped(atom.strip(b"'")).decode("utf-8", "replace")


def _unescaped(text: bytes) -> bytes:
    """The bytes that a text in quotes stands for; the plugin prints them as they are."""

    def replaced(escape: re.Match[bytes]) -> bytes:
        code, octal, letter = escape.groups()
        if letter is not None:
            return _LETTERS.get(letter, letter)
        number = int(code, 16) if code is not None else int(octal, 8)
        if number > 0x10FFFF or 0xD800 <= number < 0xE000:
            raise TermError("an escape that is no character")
        return bytes([number]) if number < 256 else chr(number).encode()

    return _ESCAPE.sub(replaced, text)
