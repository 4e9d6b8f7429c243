"""Conditions of errors, as callers and handlers may give them."""

from __future__ import annotations

from enum import Enum

from ... import v1_0 as amqp

__all__ = ["error_of", "symbol_of"]


def symbol_of(condition: str) -> amqp.Symbol:
    """The symbol of a condition; the enums' members are no plain text to str()."""
    return amqp.Symbol(condition.value if isinstance(condition, Enum) else condition)


def error_of(error: amqp.Error | str | None, description: str | None = None) -> amqp.Error | None:
    """An Error of what callers may give: one, or the symbol of a condition."""
    if error is None or isinstance(error, amqp.Error):
        return error
    return amqp.Error(symbol_of(error), description)
