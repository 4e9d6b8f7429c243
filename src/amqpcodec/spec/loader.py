"""Read the published XML grammar of AMQP 0-8, 0-9 and 0-9-1 into the model.

Whatever is wrong is a :class:`SpecError` with file and line; what a file may be, ``document`` says.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any, NoReturn

from .document import MAX_BYTES, MAX_DEPTH, parse_document, read_document
from .errors import SpecError
from .model import (
    WIRE_TYPES,
    Assert,
    Chassis,
    Class,
    Constant,
    Domain,
    Field,
    Method,
    Protocol,
    Rule,
    class_identifier,
    identifier,
)
from .names import constant_name

__all__ = ["MAX_FIELDS", "load"]

MAX_FIELDS = 64  # of one method or content class, as many as the core takes; published: 22

_DEFAULT_PORT = 5672  # IANA's for amqp; every published file says so itself

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9 _-]*")
_NUMBER = re.compile(r"[0-9]{1,19}")

# Elements that make the protocol. They may not stand where the grammar has no place for them.
_STRUCTURE = frozenset(
    {"constant", "domain", "class", "method", "field", "chassis", "response", "assert", "value"}
)
# Elements for the human reader, skipped whole. Others are skipped too, unless they carry
# an attribute that shapes the wire: <feild domain="short"> must not vanish.
_PROSE = frozenset({"doc", "rule", "scenario", "grammar", "see", "test", "todo"})
_SHAPING = frozenset({"index", "domain", "type", "value"})

_OPERATORS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})

# Wire types by what asserts can compare.
_NUMBERS = frozenset({"bit", "octet", "short", "long", "longlong", "timestamp"})
_TEXTS = frozenset({"shortstr", "longstr"})

_Element = Any  # lxml ships no types; tests/typing must not need its stubs


def load(
    source: str | os.PathLike[str] | IO[bytes] | IO[str],
    *,
    max_bytes: int = MAX_BYTES,
    max_depth: int = MAX_DEPTH,
) -> Protocol:
    """Read a specification: a path, or a file open for reading (binary is best).

    Args:
        max_bytes: the most that the file may have.
        max_depth: how many elements may be within each other, the outermost one included.

    Raises:
        SpecError: the file is malformed, declares entities, or is larger or deeper.
        OSError: the path cannot be read.
    """
    file, data, encoding = read_document(source, max_bytes)
    return _Loader(file).protocol(parse_document(file, data, encoding, max_depth))


class _Loader:
    """One pass over one file: a method for each element of the grammar."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._domains: dict[str, Domain] = {}
        # Where each reply code of a rule is named first: constants may follow their use.
        self._reply_codes: dict[str, _Element] = {}

    # -- amqp and what stands directly in it

    def protocol(self, root: _Element) -> Protocol:
        if root.tag != "amqp":
            namespace, _, name = root.tag.rpartition("}")
            if name == "amqp":
                self._fail(root, f"the grammar of namespace {namespace[1:]!r} is not AMQP 0-x")
            self._fail(root, f"the root element is <{name}>, not <amqp>")
        major = self._number(root, "major", 255)
        minor = self._number(root, "minor", 255)
        revision = self._number(root, "revision", 255, 0)

        constants: list[Constant] = []
        class_elements: list[_Element] = []
        lines_by_key: dict[object, int] = {}
        for child in self._children(root, {"constant", "domain", "class"}):
            if child.tag == "constant":
                constant = self._constant(child)
                key = constant_name(constant.name)
                self._take(lines_by_key, key, child, f"constant {constant.name!r}")
                constants.append(constant)
            elif child.tag == "domain":
                domain = self._domain(child)
                self._take(lines_by_key, ("domain", domain.name), child, f"domain {domain.name!r}")
                self._domains[domain.name] = domain
            else:
                class_elements.append(child)

        # After all domains: a file may define them after their use.
        classes: list[Class] = []
        for child in class_elements:
            class_ = self._class(child)
            what = f"class {class_.name!r}"
            self._take(lines_by_key, ("class", class_identifier(class_.name)), child, what)
            self._take(
                lines_by_key, ("index", class_.index), child, f"{what}: index {class_.index}"
            )
            classes.append(class_)

        # A file without reply codes is part of a specification, and its rules name what it lacks.
        names = {constant.name for constant in constants}
        has_codes = any(constant.error_class for constant in constants)
        for name, element in self._reply_codes.items():
            if has_codes and name not in names:
                self._fail(element, f"on-failure names no constant: {name!r}")
        return Protocol(
            name=_version_name(major, minor, revision),
            major=major,
            minor=minor,
            revision=revision,
            port=self._number(root, "port", 0xFFFF, _DEFAULT_PORT),
            comment=root.get("comment", ""),
            constants=tuple(constants),
            domains=tuple(self._domains.values()),
            classes=tuple(classes),
        )

    def _constant(self, element: _Element) -> Constant:
        error_class = element.get("class")
        if error_class is not None:
            error_class = _hyphenate(error_class)
            if error_class not in ("soft-error", "hard-error"):
                self._fail(element, f"class is {error_class!r}, not 'soft-error' or 'hard-error'")
        return Constant(
            name=self._name(element),
            value=self._number(element, "value", 0xFFFFFFFF),
            error_class=error_class,
            label=_label(element),
            extension=element.get("extension"),
        )

    def _domain(self, element: _Element) -> Domain:
        name = self._name(element)
        wire_type = self._wire_type(element)
        if name in WIRE_TYPES and name != wire_type:
            self._fail(element, f"domain {name!r} redefines a wire type as {wire_type!r}")
        asserts = self._asserts(element, wire_type)
        for child, rule in zip(self._children(element, {"assert"}), asserts, strict=True):
            if rule.method is not None or rule.field is not None:
                self._fail(child, "the assert of a domain cannot refer to a method or field")
        return Domain(
            name,
            wire_type,
            _label(element),
            asserts,
            element.get("extension"),
            self._rules(element),
        )

    # -- classes and methods

    def _class(self, element: _Element) -> Class:
        extension = element.get("extension")
        chassis: list[Chassis] = []
        field_elements: list[_Element] = []
        method_elements: list[_Element] = []
        for child in self._children(element, {"chassis", "field", "method"}):
            if child.tag == "chassis":
                chassis.append(self._chassis(child))
            elif child.tag == "field":
                field_elements.append(child)
            else:
                method_elements.append(child)

        fields = self._fields(field_elements)
        methods: list[Method] = []
        lines_by_key: dict[object, int] = {}
        for child in method_elements:
            method = self._method(child, extension)
            what = f"method {method.name!r}"
            if fields and class_identifier(method.name) == "Properties":
                self._fail(child, f"{what} has the name that the class's properties take")
            self._take(lines_by_key, class_identifier(method.name), child, what)
            self._take(lines_by_key, method.index, child, f"{what}: index {method.index}")
            methods.append(method)

        names = {method.name: _types(method.fields) for method in methods}
        self._check_references(field_elements, _types(fields), names)
        for child, method in zip(method_elements, methods, strict=True):
            self._check_responses(child, names)
            self._check_references(child.iterchildren("field"), names[method.name], names)
        return Class(
            name=self._name(element),
            index=self._number(element, "index", 0xFFFF),
            handler=element.get("handler", ""),
            label=_label(element),
            chassis=tuple(chassis),
            fields=fields,
            methods=tuple(methods),
            extension=extension,
            rules=self._rules(element),
        )

    def _method(self, element: _Element, extension: str | None) -> Method:
        chassis: list[Chassis] = []
        responses: list[str] = []
        field_elements: list[_Element] = []
        for child in self._children(element, {"chassis", "response", "field"}):
            if child.tag == "chassis":
                chassis.append(self._chassis(child))
            elif child.tag == "response":
                responses.append(self._name(child))
            else:
                field_elements.append(child)
        return Method(
            name=self._name(element),
            index=self._number(element, "index", 0xFFFF),
            label=_label(element),
            synchronous=self._flag(element, "synchronous"),
            deprecated=self._flag(element, "deprecated"),
            content=self._flag(element, "content"),
            responses=tuple(responses),
            chassis=tuple(chassis),
            fields=self._fields(field_elements),
            extension=element.get("extension", extension),
            rules=self._rules(element),
        )

    def _chassis(self, element: _Element) -> Chassis:
        name = self._name(element)
        if name not in ("client", "server"):
            self._fail(element, f"chassis is {name!r}, not 'client' or 'server'")
        return Chassis(name, self._attribute(element, "implement"))

    def _fields(self, elements: list[_Element]) -> tuple[Field, ...]:
        fields: list[Field] = []
        lines_by_key: dict[object, int] = {}
        for element in elements:
            if len(fields) == MAX_FIELDS:
                self._fail(element, f"more than {MAX_FIELDS} fields")
            field = self._field(element)
            self._take(lines_by_key, identifier(field.name), element, f"field {field.name!r}")
            fields.append(field)
        return tuple(fields)

    def _field(self, element: _Element) -> Field:
        domain = self._domain_of(element)
        own = self._asserts(element, domain.type)
        elementary = domain.name in WIRE_TYPES
        return Field(
            name=self._name(element),
            domain=None if elementary else domain.name,
            type=domain.type,
            # An elementary domain's label ("single bit") says nothing about the field.
            label=_label(element) or ("" if elementary else domain.label),
            reserved=self._flag(element, "reserved"),
            asserts=domain.asserts + own,
            rules=domain.rules + self._rules(element),
        )

    def _domain_of(self, element: _Element) -> Domain:
        """Domain of a field; one that is declared by wire type gets a domain of that name."""
        if element.get("domain") is None:
            if element.get("type") is None:
                self._fail(element, "<field> has neither domain nor type")
            wire_type = self._wire_type(element)
            return self._domains.get(wire_type, Domain(wire_type, wire_type))
        name = _hyphenate(self._attribute(element, "domain"))
        domain = self._domains.get(name)
        if domain is None:
            if name not in WIRE_TYPES:
                self._fail(element, f"unknown domain {name!r}")
            domain = Domain(name, name)
        if element.get("type") is not None and self._wire_type(element) != domain.type:
            self._fail(element, f"type disagrees with domain {name!r}, which is {domain.type!r}")
        return domain

    # -- rules and asserts

    def _rules(self, element: _Element) -> tuple[Rule, ...]:
        rules: list[Rule] = []
        for child in element.iterchildren("rule"):
            on_failure = None
            if child.get("on-failure") is not None:
                on_failure = self._name(child, "on-failure")
                self._reply_codes.setdefault(on_failure, child)
            rules.append(Rule(_hyphenate(child.get("name", "")), on_failure))
        return tuple(rules)

    def _asserts(self, element: _Element, wire_type: str) -> tuple[Assert, ...]:
        asserts: list[Assert] = []
        for child in self._children(element, {"assert"}):
            rule = self._assert(child)
            if rule.check in _OPERATORS and rule.value is not None:
                self._check_operand(child, rule, wire_type)
            asserts.append(rule)
        return tuple(asserts)

    def _check_operand(self, element: _Element, rule: Assert, wire_type: str) -> None:
        """The value of a comparison is one that the field can have."""
        if wire_type in _NUMBERS:
            if not _NUMBER.fullmatch(rule.value or ""):
                self._fail(element, f"value is {rule.value!r}, not a number, as the field is")
        else:
            self._check_comparable(element, rule, wire_type)

    def _check_comparable(self, element: _Element, rule: Assert, wire_type: str) -> None:
        """Only numbers have an order; texts are equal or not; tables and contents are neither."""
        if wire_type in _NUMBERS or (wire_type in _TEXTS and rule.check in ("eq", "ne")):
            return
        self._fail(element, f"check {rule.check!r} does not apply to {wire_type}")

    def _assert(self, element: _Element) -> Assert:
        check = self._attribute(element, "check")
        value = element.get("value")
        method = None if element.get("method") is None else self._name(element, "method")
        field = None if element.get("field") is None else self._name(element, "field")
        if check in ("notnull", "null"):
            return Assert(check)
        if check == "length":
            return Assert(check, str(self._number(element, "value", 0xFFFFFFFF)))
        if check == "regexp":
            return Assert(check, self._pattern(element))
        if check == "syntax":
            return Assert(check, self._name(element, "rule"))
        if check == "enum":
            return Assert(check, choices=self._choices(element))
        if check not in _OPERATORS:
            self._fail(element, f"unknown check {check!r}")
        if (value is None) == (field is None) or (method is not None and field is None):
            self._fail(element, f"check {check!r} needs a value, or a field (and its method)")
        return Assert(check, value, method, field)

    def _choices(self, element: _Element) -> tuple[tuple[str, int], ...]:
        """Name and number of each value of an enum; one without a number follows the one before."""
        choices: list[tuple[str, int]] = []
        number = 0
        for child in self._children(element, {"value"}):
            number = self._number(child, "value", 0xFFFFFFFF, number + 1)
            choices.append((self._name(child), number))
        if not choices:
            self._fail(element, "an enum assert needs <value> elements")
        return tuple(choices)

    def _pattern(self, element: _Element) -> str:
        pattern = self._attribute(element, "value")
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            self._fail(element, f"not a regular expression: {error}")
        return pattern

    def _check_references(
        self,
        elements: Iterable[_Element],
        own: Mapping[str, str],
        names: Mapping[str, Mapping[str, str]],
    ) -> None:
        """Every argument that an assert compares with exists and can be compared with.

        own and names: the wire type of each field, of the method at hand and of every method.
        """
        for element in elements:
            for child in element.iterchildren("assert"):
                rule = self._assert(child)
                if rule.field is None:
                    continue
                fields = own if rule.method is None else names.get(rule.method)
                if fields is None:
                    self._fail(child, f"the assert refers to unknown method {rule.method!r}")
                if rule.field not in fields:
                    self._fail(child, f"the assert refers to unknown field {rule.field!r}")
                wire_type, other = own[self._name(element)], fields[rule.field]
                self._check_comparable(child, rule, wire_type)
                if (wire_type in _NUMBERS) != (other in _NUMBERS):
                    self._fail(child, f"the assert compares {wire_type} with {other}")

    def _check_responses(self, element: _Element, names: Mapping[str, object]) -> None:
        lines_by_key: dict[object, int] = {}
        for child in element.iterchildren("response"):
            name = self._name(child)
            if name not in names:
                self._fail(child, f"response {name!r} is no method of this class")
            self._take(lines_by_key, name, child, f"response {name!r}")

    # -- attributes and children

    def _children(self, element: _Element, allowed: set[str]) -> Iterator[_Element]:
        for child in element:
            if child.tag in allowed:
                yield child
            elif child.tag in _STRUCTURE:
                self._fail(child, f"<{child.tag}> has no place in <{element.tag}>")
            elif child.tag not in _PROSE and not _SHAPING.isdisjoint(child.keys()):
                self._fail(child, f"unknown element <{child.tag.rpartition('}')[2]}>")

    def _attribute(self, element: _Element, attribute: str) -> str:
        text = element.get(attribute)
        if text is None:
            self._fail(element, f"<{element.tag}> lacks the attribute {attribute!r}")
        text = str(text).strip()
        if not text:
            self._fail(element, f"the attribute {attribute!r} of <{element.tag}> is empty")
        return text

    def _name(self, element: _Element, attribute: str = "name") -> str:
        # Names become Python identifiers, and text of generated code: nothing else gets in.
        name = self._attribute(element, attribute)
        if not _NAME.fullmatch(name):
            self._fail(
                element,
                f"{attribute} {name!r} is not a letter followed by "
                "letters, digits, blanks, hyphens and underscores",
            )
        return _hyphenate(name)

    def _wire_type(self, element: _Element) -> str:
        wire_type = self._attribute(element, "type")
        if wire_type not in WIRE_TYPES:
            self._fail(element, f"unknown wire type {wire_type!r}")
        return wire_type

    def _number(
        self, element: _Element, attribute: str, limit: int, default: int | None = None
    ) -> int:
        if default is not None and element.get(attribute) is None:
            return default
        text = self._attribute(element, attribute)
        if not _NUMBER.fullmatch(text) or int(text) > limit:
            self._fail(element, f"{attribute} is {text!r}, not an integer from 0 to {limit}")
        return int(text)

    def _flag(self, element: _Element, attribute: str) -> bool:
        text = element.get(attribute, "0")
        if text not in ("0", "1"):
            self._fail(element, f"{attribute} is {text!r}, not '0' or '1'")
        return bool(text == "1")

    def _take(
        self, lines_by_key: dict[object, int], key: object, element: _Element, what: str
    ) -> None:
        """Claim a name or number; the second to claim it is refused."""
        if key in lines_by_key:
            self._fail(element, f"{what} is taken already (line {lines_by_key[key]})")
        lines_by_key[key] = _line(element)

    def _fail(self, element: _Element, what: str) -> NoReturn:
        raise SpecError(what, self._file, _line(element))


def _types(fields: tuple[Field, ...]) -> dict[str, str]:
    return {field.name: field.type for field in fields}


def _line(element: _Element) -> int:
    return int(element.sourceline or 1)


def _hyphenate(name: str) -> str:
    """The names of 0-8 have blanks where those of 0-9-1 have hyphens."""
    return re.sub(" +", "-", name.strip())


def _label(element: _Element) -> str:
    """The label, or the text before the first child, where 0-8 puts it."""
    return " ".join((element.get("label") or element.text or "").split())


def _version_name(major: int, minor: int, revision: int) -> str:
    """The usual name: "0-9-1". 0-8 calls itself major 8, minor 0."""
    if (major, minor) == (8, 0):
        return "0-8"
    return f"{major}-{minor}-{revision}" if revision else f"{major}-{minor}"
