"""IEEE 754 decimals in the binary (BID) encoding, to and from Decimal.

A decimal of width w has a sign bit, a combination field and a trailing significand. Where the two
bits after the sign are not 11, exponent and coefficient follow straight; otherwise the exponent
stands two bits later and the coefficient has an implicit 100 in front, or the value is no number.
Spec: IEEE 754-2008 §3.5.2.
"""

from __future__ import annotations

from decimal import Context, Decimal
from typing import NamedTuple

__all__ = ["decode", "encode"]


class _Format(NamedTuple):
    digits: int
    exponent_bits: int
    bias: int


_FORMATS = {32: _Format(7, 8, 101), 64: _Format(16, 10, 398), 128: _Format(34, 14, 6176)}

#: Text is turned into a Decimal as it is, whatever the caller's context says.
_EXACT = Context(prec=50, Emax=999999, Emin=-999999)


def decode(raw: bytes) -> tuple[Decimal, bool]:
    """The value of 4, 8 or 16 bytes, and whether ``encode`` gives those bytes of it.

    A coefficient of too many digits counts as 0, as IEEE 754 says.
    """
    width = 8 * len(raw)
    form = _FORMATS[width]
    bits = int.from_bytes(raw, "big")
    sign = "-" if bits >> (width - 1) else ""
    if bits >> (width - 5) & 0b1111 == 0b1111:
        value = _special(bits, width, form, sign)
    else:
        coefficient_bits = width - 1 - form.exponent_bits
        if bits >> (width - 3) & 0b11 == 0b11:
            exponent = bits >> (coefficient_bits - 2) & ((1 << form.exponent_bits) - 1)
            coefficient = 1 << coefficient_bits | bits & ((1 << (coefficient_bits - 2)) - 1)
        else:
            exponent = bits >> coefficient_bits & ((1 << form.exponent_bits) - 1)
            coefficient = bits & ((1 << coefficient_bits) - 1)
        if coefficient >= 10**form.digits:
            coefficient = 0
        value = _EXACT.create_decimal(f"{sign}{coefficient}E{exponent - form.bias}")
    return value, encode(value, width) == raw


def _special(bits: int, width: int, form: _Format, sign: str) -> Decimal:
    """Infinity and not-a-numbers. Payloads beyond the digits count as 0."""
    if not bits >> (width - 6) & 1:
        return Decimal(f"{sign}Infinity")
    kind = "sNaN" if bits >> (width - 7) & 1 else "NaN"
    payload = bits & ((1 << (width - 1 - form.exponent_bits - 3)) - 1)
    if payload >= 10 ** (form.digits - 1):
        payload = 0
    return Decimal(f"{sign}{kind}{payload or ''}")


def encode(value: Decimal, width: int) -> bytes:
    """The bytes of a value at 32, 64 or 128 bits.

    Raises:
        ValueError: it has too many digits, or its exponent is out of range.
    """
    form = _FORMATS[width]
    sign, digits, power = value.as_tuple()
    top = sign << (width - 1)
    text = "".join(map(str, digits))
    if not isinstance(power, int):
        return _encode_special(top, power, text, width, form)
    beyond = text[form.digits :]
    if beyond.strip("0"):
        raise _too_much(width, form)
    coefficient = int(text[: form.digits] or "0")
    coefficient_bits = width - 1 - form.exponent_bits
    exponent = power + len(beyond) + form.bias
    most = 3 * 2 ** (form.exponent_bits - 2) - 1
    while exponent < 0 and coefficient % 10 == 0 and coefficient:
        coefficient //= 10
        exponent += 1
    while exponent > most and 0 < coefficient * 10 < 10**form.digits:
        coefficient *= 10
        exponent -= 1
    if coefficient == 0:
        exponent = min(max(exponent, 0), most)
    if not 0 <= exponent <= most:
        raise _too_much(width, form)
    if coefficient >> coefficient_bits:
        bits = 0b11 << (width - 3) | exponent << (coefficient_bits - 2)
        bits |= coefficient & ((1 << (coefficient_bits - 2)) - 1)
    else:
        bits = exponent << coefficient_bits | coefficient
    return (top | bits).to_bytes(width // 8, "big")


def _too_much(width: int, form: _Format) -> ValueError:
    return ValueError(f"a decimal{width} holds {form.digits} digits, and not every exponent")


def _encode_special(top: int, kind: str, payload: str, width: int, form: _Format) -> bytes:
    if kind == "F":
        return (top | 0b11110 << (width - 6)).to_bytes(width // 8, "big")
    if len(payload) >= form.digits:
        raise ValueError(f"a decimal{width} that is not a number holds {form.digits - 1} digits")
    bits = 0b11111 << (width - 6) | (kind == "N") << (width - 7)
    return (top | bits | int(payload or "0")).to_bytes(width // 8, "big")
