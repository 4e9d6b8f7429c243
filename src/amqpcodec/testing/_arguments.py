"""Arguments of queues, exchanges, bindings and consumers: what is modelled, and what is refused."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from ._refusals import Refusal, not_modelled

__all__ = [
    "EXCHANGE_ARGUMENTS",
    "MAX_MILLISECONDS",
    "QUEUE_ARGUMENTS",
    "QueueOptions",
    "alternate_of",
    "arguments_of",
    "binding_arguments",
    "check_modelled",
    "consumer_options",
    "expiration_fault",
    "has_no_number",
    "inequivalent",
    "type_name",
]

#: RabbitMQ's times are at most ten years.
MAX_MILLISECONDS = 315_360_000_000


@dataclass(frozen=True)
class QueueOptions:
    """What the arguments of queue.declare ask for; times in seconds.

    Raises:
        Refusal: of `parse`: 406 for what is wrong or not modelled.
    """

    queue_type: str = "classic"
    message_ttl: float | None = None
    expires: float | None = None
    max_length: int | None = None
    max_length_bytes: int | None = None
    overflow: str = "drop-head"
    dead_letter_exchange: str | None = None
    dead_letter_routing_key: str | None = None
    max_priority: int | None = None
    single_active_consumer: bool = False
    delivery_limit: int | None = None
    consumer_timeout: float | None = None

    @classmethod
    def parse(cls, arguments: dict[str, Any], where: str) -> QueueOptions:
        """The options of a table. where: "queue 'q' in vhost '/'", for texts."""
        check_modelled(arguments, QUEUE_ARGUMENTS, where)
        values: dict[str, Any] = {}
        # RabbitMQ's order: first this one and the type, and what other types have at last.
        first = ("x-dead-letter-exchange", "x-queue-type")
        queue_type = "classic"
        for name in (*first, *(one for one in QUEUE_ARGUMENTS if one not in first)):
            if name not in arguments or name not in arguments_of(queue_type):
                continue
            option, kind = QUEUE_ARGUMENTS[name]
            checked = _checked(name, arguments[name], kind, where)
            if option:
                values[option] = checked
            if name == "x-queue-type":
                queue_type = checked
            if name == "x-dead-letter-routing-key" and "dead_letter_exchange" not in values:
                raise _invalid(name, where, "routing_key_but_no_dlx_defined")
        for name in arguments:
            if name not in arguments_of(queue_type):
                raise _of_other_type(name, where, queue_type)
        options = cls(**values)
        if options.overflow == "reject-publish-dlx" and options.queue_type == "quorum":
            raise _of_other_type("x-overflow", where, "quorum")
        return options


EXCHANGE_ARGUMENTS = ("alternate-exchange",)
#: Argument -> (option, kind of value); "" for what changes nothing that a client can notice. In the
#: order in which RabbitMQ looks at them.
QUEUE_ARGUMENTS = {
    "x-expires": ("expires", "milliseconds above 0"),
    "x-message-ttl": ("message_ttl", "milliseconds"),
    "x-dead-letter-exchange": ("dead_letter_exchange", "text"),
    "x-dead-letter-routing-key": ("dead_letter_routing_key", "key"),
    "x-max-length": ("max_length", "number"),
    "x-max-length-bytes": ("max_length_bytes", "number"),
    "x-max-priority": ("max_priority", "priority"),
    "x-overflow": ("overflow", "overflow"),
    "x-queue-mode": ("", "mode"),
    "x-queue-version": ("", "version"),
    "x-single-active-consumer": ("single_active_consumer", "bool"),
    "x-queue-type": ("queue_type", "type"),
    "x-delivery-limit": ("delivery_limit", "number"),
    "x-consumer-timeout": ("consumer_timeout", "milliseconds above 0"),
}
#: Type of queue -> the arguments that it has, in the order in which RabbitMQ compares them.
_ARGUMENTS_OF = {
    "classic": [name for name in QUEUE_ARGUMENTS if name != "x-delivery-limit"],
    "quorum": [
        "x-dead-letter-exchange",
        "x-dead-letter-routing-key",
        "x-expires",
        "x-max-length",
        "x-max-length-bytes",
        "x-overflow",
        "x-single-active-consumer",
        "x-queue-type",
        "x-delivery-limit",
        "x-message-ttl",
        "x-consumer-timeout",
    ],
}
#: Kind of value -> the values that there are.
_CHOICES: dict[str, tuple[Any, ...]] = {
    "mode": ("default", "lazy"),
    "type": ("classic", "quorum"),
    "version": (1, 2),
    "overflow": ("drop-head", "reject-publish", "reject-publish-dlx"),
}


def arguments_of(queue_type: str) -> list[str]:
    """The arguments that queues of a type have, in the order in which RabbitMQ compares them."""
    return _ARGUMENTS_OF[queue_type]


def check_modelled(arguments: dict[str, Any], modelled: Collection[str], where: str) -> None:
    """Refuse arguments of queue.declare or exchange.declare that are not modelled.

    Raises:
        Refusal: 406.
    """
    for name in arguments:
        if name not in modelled:
            raise not_modelled(f"the argument '{name}' of {where}", 406)


def _checked(name: str, value: Any, kind: str, where: str) -> Any:
    if kind == "type" and value == "stream":
        raise not_modelled(f"queues of the type '{value}', which {where} asks for", 406)
    if kind == "text":
        if not isinstance(value, str):
            text = f"invalid type '{type_name(value)}' for arg '{name}' in {where}"
            raise Refusal(406, text)
        return value
    if kind in ("bool", "key", "mode", "type", "overflow"):
        if not isinstance(value, bool if kind == "bool" else str):
            raise _invalid(name, where, f"{{unacceptable_type,{type_name(value)}}}")
        if value not in _CHOICES.get(kind, (value,)):
            is_named = kind in ("mode", "type")
            text = f"\"unsupported queue {kind} '{value}'\"" if is_named else "invalid_overflow"
            raise _invalid(name, where, text)
        return value
    _check_integer(name, value, where)
    if value < 0:
        raise _invalid(name, where, f"{{value_negative,{value}}}")
    if kind == "milliseconds above 0" and value == 0:
        raise _invalid(name, where, "{value_zero,0}")
    if kind.startswith("milliseconds") and value > MAX_MILLISECONDS:
        raise _invalid(name, where, f"{{value_too_large,{value}}}")
    if kind == "version" and value not in _CHOICES[kind]:
        raise _invalid(name, where, f"\"unsupported queue version '{value}'\"")
    if kind == "priority" and value > 255:
        raise _invalid(name, where, f"{{max_value_exceeded,{value}}}")
    return value / 1000 if kind.startswith("milliseconds") else value


def _invalid(name: str, where: str, reason: str) -> Refusal:
    return Refusal(406, f"invalid arg '{name}' for {where}: {reason}")


def _of_other_type(name: str, where: str, queue_type: str) -> Refusal:
    return Refusal(406, f"invalid arg '{name}' for {where} of queue type rabbit_{queue_type}_queue")


def _check_integer(name: str, value: Any, where: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _invalid(name, where, f'"expected integer, got {type_name(value)}"')


def has_no_number(value: Any) -> bool:
    """Whether a float in it is NaN or infinite: Erlang has none, so RabbitMQ cannot read it."""
    if isinstance(value, dict):
        return any(map(has_no_number, value.values()))
    if isinstance(value, list):
        return any(map(has_no_number, value))
    return isinstance(value, float) and not math.isfinite(value)


def expiration_fault(text: str) -> str | None:
    """What RabbitMQ says of the property expiration; None where it is a number that it takes."""
    match = re.fullmatch(r"([+-]?[0-9]+)(.*)", text, re.DOTALL)
    if match is None:
        return "no_integer"
    if match[2]:
        return f'{{leftover_string,"{match[2]}"}}'
    digits = match[1].removeprefix("+")
    if digits.startswith("-") and digits.strip("-0"):
        return f"{{value_negative,{digits}}}"
    is_large = (
        len(digits.lstrip("0")) > len(str(MAX_MILLISECONDS)) or int(digits) > MAX_MILLISECONDS
    )
    return f"{{value_too_large,{digits}}}" if is_large else None


def type_name(value: Any) -> str:
    """The name of a value's type in RabbitMQ's texts."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "signedint" if -(2**31) <= value < 2**31 else "long"
    names = {"float": "double", "dict": "table", "list": "array", "NoneType": "void"}
    names |= {"str": "longstr", "bytes": "binary"}
    return names.get(type(value).__name__, type(value).__name__.lower())


def inequivalent(name: str, where: str, received: Any, current: Any) -> Refusal | None:
    """What declaring again with another value is answered with; None where both are equal."""
    if received == current and isinstance(received, bool) == isinstance(current, bool):
        return None
    if name == "x-queue-type" and {received, current} == {None, "classic"}:
        return None  # a queue without a type is a classic one
    if isinstance(received, bool) and isinstance(current, bool):
        shown = (f"'{str(received).lower()}'", f"'{str(current).lower()}'")
        text = f"received {shown[0]} but current is {shown[1]}"
    elif received is not None and current is not None:
        text = f"received '{received}' but current is '{current}'"
    else:
        text = f"received {_shown(received, 'the ')} but current is {_shown(current, 'the ')}"
    return Refusal(406, f"inequivalent arg '{name}' for {where}: {text}")


def _shown(value: Any, article: str) -> str:
    shown = str(value).lower() if isinstance(value, bool) else value
    return "none" if value is None else f"{article}value '{shown}' of type '{type_name(value)}'"


def alternate_of(arguments: dict[str, Any], where: str) -> str | None:
    """The alternate exchange that exchange.declare asks for, or None."""
    name = "alternate-exchange"
    return _checked(name, arguments[name], "text", where) if name in arguments else None


def binding_arguments(exchange_type: str, arguments: dict[str, Any], where: str) -> dict[str, Any]:
    """Arguments of a binding, checked for the exchange that it is of."""
    if exchange_type == "headers":
        mode = arguments.get("x-match", "all")
        if mode not in ("all", "any", "all-with-x", "any-with-x"):
            text = f'value <<"{mode}">>; expected all, any, all-with-x, or any-with-x'
            if not isinstance(mode, str):
                text = f"type {type_name(mode)} (value {mode}); expected longstr"
            raise Refusal(406, f"Invalid x-match field {text}")
    return dict(arguments)


def consumer_options(arguments: dict[str, Any], where: str) -> tuple[int, float | None]:
    """Priority and acknowledgement timeout (seconds, None for the queue's) of basic.consume."""
    priority, timeout = 0, None
    for name, value in arguments.items():
        if name == "x-priority":
            _check_integer(name, value, where)
            priority = value
        elif name == "x-consumer-timeout":
            timeout = _checked(name, value, "milliseconds above 0", where)
        else:
            raise not_modelled(f"the argument '{name}' of basic.consume on {where}", 406)
    return priority, timeout
