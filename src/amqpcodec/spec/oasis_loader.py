"""Read the XML grammar of AMQP 1.0, one file for each part, into the model of ``oasis``.

Nothing but the files themselves is read, as ``document`` says: whatever is wrong is a
:class:`SpecError` with file and line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import IO, Any, NoReturn

from .document import parse_document, read_document
from .errors import SpecError
from .oasis import (
    ANY,
    CATEGORIES,
    Choice,
    Composite,
    Definition,
    Descriptor,
    Encoding,
    Field,
    Part,
    Primitive,
    Protocol,
    Restricted,
    Type,
)

__all__ = ["load_part", "load_parts"]

_Source = str | os.PathLike[str] | IO[bytes] | IO[str]
_Element = Any  # lxml ships no types

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_NUMBER = re.compile(r"0x[0-9a-fA-F]{1,16}|[0-9]{1,19}")
_CODE = re.compile(r"0x([0-9a-fA-F]{8}):0x([0-9a-fA-F]{8})")
_SYMBOL = re.compile(r"[!-~]+")

# Elements for the human reader, skipped whole wherever they stand.
_PROSE = frozenset({"doc", "anchor", "todo"})

#: Bytes of a constructor's value or size, by the upper half of its byte.
_CATEGORY_OF = {
    0x4: ("fixed", 0),
    0x5: ("fixed", 1),
    0x6: ("fixed", 2),
    0x7: ("fixed", 4),
    0x8: ("fixed", 8),
    0x9: ("fixed", 16),
    0xA: ("variable", 1),
    0xB: ("variable", 4),
    0xC: ("compound", 1),
    0xD: ("compound", 4),
    0xE: ("array", 1),
    0xF: ("array", 4),
}


def load_parts(sources: Iterable[_Source]) -> Protocol:
    """Read all parts and check what holds across them: names, codes, sources and defaults.

    Raises:
        SpecError: a file is malformed, or the parts do not fit together.
        OSError: a path cannot be read.
    """
    loaders = [_load(source) for source in sources]
    protocol = Protocol(tuple(part for _, part in loaders))
    owners: dict[object, str] = {}
    for loader, part in loaders:
        for item in part.types:
            loader.take(owners, item.name, item.name, f"type {item.name!r}")
            descriptor = getattr(item, "descriptor", None)
            if descriptor is not None:
                what = f"type {item.name!r}: descriptor"
                loader.take(owners, descriptor.code, item.name, f"{what} {descriptor.code:#x}")
                loader.take(owners, ("symbol", descriptor.symbol), item.name, what)
    for loader, part in loaders:
        loader.check(part, protocol)
    return protocol


def load_part(source: _Source) -> Part:
    """Read one part by itself; types of other parts may be named in it.

    Raises:
        SpecError: the file is malformed.
        OSError: the path cannot be read.
    """
    return _load(source)[1]


def _load(source: _Source) -> tuple[_Loader, Part]:
    file, data, encoding = read_document(source)
    loader = _Loader(file)
    return loader, loader.part(parse_document(file, data, encoding))


class _Loader:
    """One pass over one file: a method for each element of the grammar."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._lines: dict[str, int] = {}  # type -> where it stands

    def part(self, root: _Element) -> Part:
        if root.tag != "amqp":
            self._fail(root, f"the root element is <{root.tag}>, not <amqp>")
        if root.get("major") is not None:
            self._fail(root, "the grammar is that of AMQP 0-x")
        types: list[Type] = []
        definitions: list[Definition] = []
        names: dict[object, str] = {}
        for section in self._children(root, {"section"}):
            self._name(section)
            for child in self._children(section, {"type", "definition"}):
                if child.tag == "definition":
                    definitions.append(self._definition(child))
                    continue
                item = self._type(child)
                self._lines[item.name] = child.sourceline
                self.take(names, item.name, item.name, f"type {item.name!r}")
                types.append(item)
        return Part(self._name(root), root.get("label", ""), tuple(types), tuple(definitions))

    def _definition(self, element: _Element) -> Definition:
        value = self._number(element, "value", 2**64 - 1)
        return Definition(self._name(element), value, element.get("label", ""))

    def _type(self, element: _Element) -> Type:
        kind = self._attribute(element, "class")
        name, label = self._name(element), element.get("label", "")
        if kind == "primitive":
            encodings = [self._encoding(e) for e in self._children(element, {"encoding"})]
            if not encodings:
                self._fail(element, f"type {name!r} has no encoding")
            return Primitive(name, tuple(encodings), label)
        if kind not in ("composite", "restricted"):
            self._fail(element, f"class is {kind!r}, not primitive, composite or restricted")
        source = self._attribute(element, "source")
        provides = self._words(element, "provides")
        children = list(self._children(element, {"descriptor", "field", "choice"}))
        descriptors = [self._descriptor(e) for e in children if e.tag == "descriptor"]
        if len(descriptors) > 1:
            self._fail(element, f"type {name!r} has {len(descriptors)} descriptors")
        wrong = "choice" if kind == "composite" else "field"
        if any(e.tag == wrong for e in children):
            self._fail(element, f"type {name!r}: a {kind} type has no <{wrong}>")
        if kind == "restricted":
            choices = [self._choice(e) for e in children if e.tag == "choice"]
            descriptor = descriptors[0] if descriptors else None
            return Restricted(name, source, descriptor, provides, tuple(choices), label)
        if not descriptors:
            self._fail(element, f"type {name!r} has no descriptor")
        fields = [self._field(e) for e in children if e.tag == "field"]
        owners: dict[object, str] = {}
        for item in fields:
            self.take(owners, item.name, name, f"field {item.name!r}")
        return Composite(name, source, descriptors[0], provides, tuple(fields), label)

    def _encoding(self, element: _Element) -> Encoding:
        code = self._number(element, "code", 255)
        category = self._attribute(element, "category")
        width = self._number(element, "width", 16)
        if category not in CATEGORIES:
            self._fail(element, f"category is {category!r}, not one of {', '.join(CATEGORIES)}")
        if _CATEGORY_OF.get(code >> 4) != (category, width):
            self._fail(element, f"code {code:#04x} does not stand for {category} of width {width}")
        return Encoding(code, category, width, element.get("name"), element.get("label", ""))

    def _descriptor(self, element: _Element) -> Descriptor:
        text = self._attribute(element, "code")
        match = _CODE.fullmatch(text)
        if match is None:
            self._fail(element, f"code is {text!r}, not of the form 0x00000000:0x00000000")
        symbol = self._attribute(element, "name")
        if not _SYMBOL.fullmatch(symbol):
            self._fail(element, f"name is {symbol!r}, not a symbol")
        return Descriptor(symbol, int(match[1], 16) << 32 | int(match[2], 16))

    def _field(self, element: _Element) -> Field:
        return Field(
            name=self._name(element),
            type=self._attribute(element, "type"),
            requires=self._words(element, "requires"),
            default=element.get("default"),
            mandatory=self._flag(element, "mandatory"),
            multiple=self._flag(element, "multiple"),
            label=element.get("label", ""),
        )

    def _choice(self, element: _Element) -> Choice:
        name = self._name(element)
        return Choice(name, self._attribute(element, "value"), element.get("label", ""))

    # -- across the parts

    def check(self, part: Part, protocol: Protocol) -> None:
        """What needs the other parts: sources that exist and end, defaults that mean something."""
        type_names = {item.name for item in protocol.types()}
        for item in part.types:
            line = self._lines[item.name]
            if isinstance(item, Primitive):
                continue
            visited = {item.name}
            source = item.source
            while source != ANY:
                definition = protocol.type(source) if source in type_names else None
                if definition is None or source in visited:
                    what = "is unknown" if definition is None else "leads back to it"
                    raise SpecError(
                        f"type {item.name!r}: source {source!r} {what}", self._file, line
                    )
                if isinstance(definition, Primitive):
                    break
                visited.add(source)
                source = definition.source
            if isinstance(item, Composite):
                for entry in item.fields:
                    self._check_field(item, entry, protocol, type_names, line)

    def _check_field(
        self, item: Composite, entry: Field, protocol: Protocol, type_names: set[str], line: int
    ) -> None:
        place = f"field {item.name}.{entry.name}"
        if entry.type != ANY and entry.type not in type_names:
            raise SpecError(f"{place}: type {entry.type!r} is unknown", self._file, line)
        if entry.default is None:
            return
        choices = () if entry.type == ANY else getattr(protocol.type(entry.type), "choices", ())
        if choices:
            fits = entry.default in {choice.name for choice in choices}
        elif protocol.primitive(entry.type) == "boolean":
            fits = entry.default in ("true", "false")
        else:
            fits = bool(re.fullmatch("[0-9]+", entry.default))
        if not fits:
            raise SpecError(f"{place}: default {entry.default!r} is no value", self._file, line)

    # -- what all elements share

    def take(self, owners: dict[object, str], key: object, owner: str, what: str) -> None:
        """Refuse what is there already."""
        if key in owners:
            line = self._lines.get(owner, 1)
            raise SpecError(f"{what} is there twice", self._file, line)
        owners[key] = owner

    def _children(self, element: _Element, allowed: set[str]) -> Iterator[_Element]:
        for child in element:
            if child.tag in allowed:
                yield child
            elif child.tag not in _PROSE:
                self._fail(child, f"<{child.tag}> has no place in <{element.tag}>")

    def _attribute(self, element: _Element, name: str) -> str:
        value: str | None = element.get(name)
        if value is None:
            self._fail(element, f"<{element.tag}> lacks the attribute {name!r}")
        return value

    def _name(self, element: _Element) -> str:
        name = self._attribute(element, "name")
        if not _NAME.fullmatch(name):
            self._fail(element, f"name is {name!r}, not letters, digits and hyphens")
        return name

    def _number(self, element: _Element, name: str, most: int) -> int:
        text = self._attribute(element, name)
        if not _NUMBER.fullmatch(text) or int(text, 0) > most:
            self._fail(element, f"{name} is {text!r}, not a number up to {most}")
        return int(text, 0)

    def _flag(self, element: _Element, name: str) -> bool:
        text = element.get(name, "false")
        if text not in ("true", "false"):
            self._fail(element, f"{name} is {text!r}, not 'true' or 'false'")
        return bool(text == "true")

    def _words(self, element: _Element, name: str) -> tuple[str, ...]:
        words = [word.strip() for word in element.get(name, "").split(",")]
        return tuple(word for word in words if word)

    def _fail(self, element: _Element, what: str) -> NoReturn:
        raise SpecError(what, self._file, element.sourceline or 1)
