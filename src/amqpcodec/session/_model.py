"""The rules of a protocol, from its generated classes: who may send what, and what answers it."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from . import _codes
from .errors import LocalProtocolError

__all__ = ["Model", "model_of", "tells_refused_login"]

#: Spellings of the argument that asks for no reply.
_NO_WAIT = ("no_wait", "nowait")

#: What this package understands, by the names that RabbitMQ and its clients look up.
_CAPABILITIES = (
    "authentication_failure_close",
    "basic.nack",
    "connection.blocked",
    "consumer_cancel_notify",
    "exchange_exchange_bindings",
    "publisher_confirms",
)


def tells_refused_login(properties: dict[str, Any]) -> bool:
    """Whether an end that describes itself so has connection.close for a refused login."""
    capabilities = properties.get("capabilities")
    return (
        isinstance(capabilities, dict) and capabilities.get("authentication_failure_close") is True
    )


class Model:
    """What a session needs to know of a protocol version. Made once per protocol module."""

    def __init__(self, module: ModuleType) -> None:
        self.module: Any = module
        table = self.module.PROTOCOL.table
        methods = list(self.module.METHODS.values())
        self.name: str = table["name"]
        self.version: tuple[int, int] = table["version"][:2]
        self.methods: dict[str, Any] = {method.NAME: method for method in methods}
        #: Methods that answer another.
        self.replies: frozenset[Any] = frozenset(
            reply for method in methods for reply in method.RESPONSES
        )
        self.no_wait: dict[Any, str] = {
            method: field for method in methods for field in _NO_WAIT if field in method.FIELDS
        }
        self.hard_errors: frozenset[int] = frozenset(table["hard_errors"])
        #: (method, argument, rule) -> code that the specification has for who breaks it.
        self.rule_codes: dict[tuple[str, str, str], int] = {
            (f"{cls['name']}.{method['name']}", argument, rule): code
            for cls in table["classes"]
            for method in cls["methods"]
            for argument, rule, code in method["reply_codes"]
        }
        self.constants: dict[int, str] = {}
        for name, value in table["constants"]:
            if value >= 200 and value != self.module.FRAME_END:
                self.constants.setdefault(value, name)
        #: Whether tables can hold what RabbitMQ's capabilities are made of.
        self.has_capabilities: bool = table["dialect"] == "rabbitmq"
        #: 0-9-1's basic.recover is answered, that of 0-8 and 0-9 is not.
        self.has_recover_ok: bool = "basic.recover-ok" in self.methods
        self.connection_class: int = self.methods["connection.start"].CLASS_ID

    def peer_properties(self, own: dict[str, Any] | None) -> dict[str, Any]:
        """The table in which an end describes itself; own: what is put over it."""
        table: dict[str, Any] = {"product": "amqpcodec", "platform": "Python"}
        if self.has_capabilities:
            table["capabilities"] = dict.fromkeys(_CAPABILITIES, True)
        return {**table, **(own or {})}

    def method(self, name: str) -> Any:
        """The class of a method by the specification's name.

        Raises:
            LocalProtocolError: this version has none.
        """
        method_class = self.methods.get(name)
        if method_class is None:
            raise LocalProtocolError(f"AMQP {self.name} has no {name}")
        return method_class

    def make(self, name: str, **arguments: Any) -> Any:
        """A method by name; what a version spells otherwise is translated.

        Arguments that the version lacks are dropped where they are false or None.

        Raises:
            LocalProtocolError: the version has not this method, or not an argument that is set.
        """
        kind = self.method(name)
        fields = {}
        for key, value in arguments.items():
            field = self.no_wait.get(kind, key) if key == "no_wait" else key
            if field in kind.FIELDS:
                if value is not None:
                    fields[field] = value
            elif value:
                raise LocalProtocolError(f"AMQP {self.name}: {name} has no argument {key}")
        return kind(**fields)

    def expects_reply(self, method: Any) -> bool:
        """Whether the peer answers this one."""
        kind = type(method)
        if not kind.RESPONSES:
            return False
        field = self.no_wait.get(kind)
        return field is None or not getattr(method, field)

    def reply_code(self, code: int) -> int:
        """The number of a fault: that of the specification's rule where it has one."""
        rule = getattr(code, "rule", None)
        return int(code if rule is None else self.rule_codes.get(rule, code))

    def illegal_value(self, method: str | None, field: str | None) -> int:
        """The number of a value that the asserts exclude."""
        return self.rule_codes.get((method or "", field or "", "syntax"), _codes.ILLEGAL_VALUE)

    def is_hard(self, reply_code: int) -> bool:
        """Whether a reply code ends the connection and not only a channel."""
        if reply_code in self.constants:
            return reply_code in self.hard_errors
        return reply_code >= 500

    def reply_text(self, reply_code: int, detail: str = "") -> str:
        """The text of a close as brokers write it: ``NOT_FOUND - no queue 'q'``.

        Cut to the 255 bytes of a short string.
        """
        name = self.constants.get(reply_code, "")
        text = " - ".join(part for part in (name, detail) if part)
        return text.encode("utf-8", "replace")[:255].decode("utf-8", "ignore")

    def name_of(self, class_id: int, method_id: int) -> str | None:
        """Name of the method that a close blames; None for none."""
        method = self.module.METHODS.get((class_id, method_id))
        name: str | None = None if method is None else method.NAME
        return name


_models: dict[int, Model] = {}


def model_of(protocol: str | ModuleType) -> Model:
    """The rules of a version, or of a module of `load_xml_spec`.

    Raises:
        ValueError: there is no such version.
    """
    if isinstance(protocol, str):
        from .. import protocol as find

        protocol = find(protocol)
    if protocol.PROTOCOL.name == "1.0":
        raise ValueError("AMQP 1.0 has a class of its own: amqpcodec.session.v1.Connection")
    model = _models.get(id(protocol))
    # The module stays referenced by its model, so that its id is not given to another.
    if model is None:
        model = _models[id(protocol)] = Model(protocol)
    return model
