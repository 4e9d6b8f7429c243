"""Arguments of queues, exchanges, bindings and consumers: what is modelled, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._refusals import Refusal, not_modelled

__all__ = [
    "MAX_MILLISECONDS",
    "QueueOptions",
    "alternate_of",
    "binding_arguments",
    "consumer_options",
    "inequivalent",
    "type_name",
]

#: RabbitMQ's timers count so far.
MAX_MILLISECONDS = 2**32 - 1
_OVERFLOWS = ("drop-head", "reject-publish", "reject-publish-dlx")


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
        values: dict[str, Any] = {}
        for name, value in arguments.items():
            if name not in _QUEUE_ARGUMENTS:
                raise not_modelled(f"the argument '{name}' of {where}", 406)
            option, kind = _QUEUE_ARGUMENTS[name]
            checked = _checked(name, value, kind, where)
            if option:
                values[option] = checked
        options = cls(**values)
        if options.dead_letter_routing_key is not None and options.dead_letter_exchange is None:
            raise _invalid("x-dead-letter-routing-key", where, "routing_key_but_no_dlx_defined")
        quorum_only = options.delivery_limit is not None
        classic_only = options.max_priority is not None or options.overflow == "reject-publish-dlx"
        if quorum_only and options.queue_type == "classic":
            raise _invalid("x-delivery-limit", where, "a classic queue does not have it")
        if classic_only and options.queue_type == "quorum":
            name = "x-overflow" if options.max_priority is None else "x-max-priority"
            raise _invalid(name, where, "a quorum queue does not have it")
        return options


#: Argument -> (option, kind of value); "" for what changes nothing that a client can notice.
_QUEUE_ARGUMENTS = {
    "x-queue-type": ("queue_type", "type"),
    "x-message-ttl": ("message_ttl", "milliseconds"),
    "x-expires": ("expires", "milliseconds above 0"),
    "x-max-length": ("max_length", "number"),
    "x-max-length-bytes": ("max_length_bytes", "number"),
    "x-overflow": ("overflow", "overflow"),
    "x-dead-letter-exchange": ("dead_letter_exchange", "text"),
    "x-dead-letter-routing-key": ("dead_letter_routing_key", "text"),
    "x-max-priority": ("max_priority", "priority"),
    "x-single-active-consumer": ("single_active_consumer", "bool"),
    "x-delivery-limit": ("delivery_limit", "number"),
    "x-consumer-timeout": ("consumer_timeout", "milliseconds above 0"),
    "x-queue-mode": ("", "mode"),
    "x-queue-version": ("", "version"),
}
_CHOICES: dict[str, tuple[Any, ...]] = {
    "mode": ("default", "lazy"),
    "version": (1, 2),
    "overflow": _OVERFLOWS,
}


def _checked(name: str, value: Any, kind: str, where: str) -> Any:
    if kind == "type":
        if value not in ("classic", "quorum"):
            raise not_modelled(f"queues of the type '{value}', which {where} asks for", 406)
        return value
    if kind in _CHOICES:
        if value not in _CHOICES[kind]:
            raise _invalid(
                name, where, f"'{value}' is none of {', '.join(map(str, _CHOICES[kind]))}"
            )
        return value
    if kind == "text":
        if not isinstance(value, str):
            text = f"invalid type '{type_name(value)}' for arg '{name}' in {where}"
            raise Refusal(406, text)
        return value
    if kind == "bool":
        if not isinstance(value, bool):
            raise _invalid(name, where, f"{{unacceptable_type,{type_name(value)}}}")
        return value
    if not isinstance(value, int) or isinstance(value, bool):
        raise _invalid(name, where, f"{{unacceptable_type,{type_name(value)}}}")
    if value < 0:
        raise _invalid(name, where, f"{{value_negative,{value}}}")
    if kind == "milliseconds above 0" and value == 0:
        raise _invalid(name, where, "{value_zero,0}")
    if kind.startswith("milliseconds") and value > MAX_MILLISECONDS:
        raise _invalid(name, where, f"{{value_too_big,{value}}}")
    if kind == "priority" and value > 255:
        raise _invalid(name, where, f"{{max_value_exceeded,{value}}}")
    return value / 1000 if kind.startswith("milliseconds") else value


def _invalid(name: str, where: str, reason: str) -> Refusal:
    return Refusal(406, f"invalid arg '{name}' for {where}: {reason}")


def type_name(value: Any) -> str:
    """The name of a value's type in RabbitMQ's texts."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "signedint" if -(2**31) <= value < 2**31 else "long"
    if isinstance(value, str | bytes):
        return "longstr"
    names = {"float": "double", "dict": "table", "list": "array", "NoneType": "void"}
    return names.get(type(value).__name__, type(value).__name__.lower())


def inequivalent(name: str, where: str, received: Any, current: Any) -> Refusal | None:
    """What declaring again with another value is answered with; None where both are equal."""
    if received == current and isinstance(received, bool) == isinstance(current, bool):
        return None
    if isinstance(received, bool) and isinstance(current, bool):
        shown = (f"'{str(received).lower()}'", f"'{str(current).lower()}'")
        text = f"received {shown[0]} but current is {shown[1]}"
    elif received is not None and current is not None:
        text = f"received '{received}' but current is '{current}'"
    else:
        text = f"received {_shown(received, 'the ')} but current is {_shown(current, 'the ')}"
    return Refusal(406, f"inequivalent arg '{name}' for {where}: {text}")


def _shown(value: Any, article: str) -> str:
    return "none" if value is None else f"{article}value '{value}' of type '{type_name(value)}'"


def alternate_of(arguments: dict[str, Any], where: str) -> str | None:
    """The alternate exchange that exchange.declare asks for, or None."""
    alternate = None
    for name, value in arguments.items():
        if name != "alternate-exchange":
            raise not_modelled(f"the argument '{name}' of {where}", 406)
        alternate = _checked(name, value, "text", where)
    return alternate


def binding_arguments(exchange_type: str, arguments: dict[str, Any], where: str) -> dict[str, Any]:
    """Arguments of a binding, checked for the exchange that it is of."""
    if exchange_type == "headers":
        mode = arguments.get("x-match", "all")
        if mode not in ("all", "any", "all-with-x", "any-with-x"):
            text = (
                f"Invalid x-match field value {mode!r}; expected all, any, all-with-x, any-with-x"
            )
            raise Refusal(406, text)
    return dict(arguments)


def consumer_options(arguments: dict[str, Any], where: str) -> tuple[int, float | None]:
    """Priority and acknowledgement timeout (seconds, None for the queue's) of basic.consume."""
    priority, timeout = 0, None
    for name, value in arguments.items():
        if name == "x-priority":
            if not isinstance(value, int) or isinstance(value, bool):
                raise _invalid(name, where, f"{{unacceptable_type,{type_name(value)}}}")
            priority = value
        elif name == "x-consumer-timeout":
            timeout = _checked(name, value, "milliseconds above 0", where)
        else:
            raise not_modelled(f"the argument '{name}' of basic.consume on {where}", 406)
    return priority, timeout
