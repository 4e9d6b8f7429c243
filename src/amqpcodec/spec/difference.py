"""How two specifications differ, first of all on the wire."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TypeVar

from .model import Class, Field, Method, Protocol

__all__ = ["Difference", "differences"]

_Item = TypeVar("_Item", Class, Method)


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that two specifications do not say alike.

    Attributes:
        where: such as "method connection.close" or "basic.consume argument 8".
        what: the two sides in words; what is left of "then" is the first one's.
        wire: whether it shows in the bytes, or only in names and in who answers whom.
    """

    where: str
    what: str
    wire: bool = True

    def __str__(self) -> str:
        """Place first, then the difference."""
        return f"{self.where}: {self.what}"


def differences(first: Protocol, second: Protocol) -> list[Difference]:
    """All differences in the order of the first file, those on the wire and the others.

    Classes and methods are the same where name and number are; else one that kept its name but not
    its number has moved, and one that kept its number and its bytes but not its name is renamed.
    """
    return list(_protocols(first, second))


def _protocols(first: Protocol, second: Protocol) -> Iterator[Difference]:
    yield from _changed("version", first.name, second.name)
    yield from _changed("port", first.port, second.port, wire=False)
    yield from _constants(first, second)
    pairs = _pairs(first.classes, second.classes)
    for old, new in pairs:
        if old is None or new is None:
            yield _one_sided("class", old, new, "")
            continue
        yield from _number_and_name(f"class {old.name}", old, new)
        yield from _fields(f"{old.name} property", old.fields, new.fields)
        yield from _methods(old, new)


def _constants(first: Protocol, second: Protocol) -> Iterator[Difference]:
    theirs = {constant.name: constant for constant in second.constants}
    for old in first.constants:
        new = theirs.pop(old.name, None)
        where = f"constant {old.name}"
        if new is None:
            yield Difference(where, f"{old.value}, then not there")
            continue
        yield from _changed(where, old.value, new.value)
        yield from _changed(where, old.error_class or "no error", new.error_class or "no error")
    for new in theirs.values():
        yield Difference(f"constant {new.name}", f"not there, then {new.value}")


def _methods(old_class: Class, new_class: Class) -> Iterator[Difference]:
    for old, new in _pairs(old_class.methods, new_class.methods):
        if old is None or new is None:
            yield _one_sided(
                "method", old, new, (old_class if new is None else new_class).name + "."
            )
            continue
        name = f"{old_class.name}.{old.name}"
        where = f"method {name}"
        yield from _number_and_name(where, old, new)
        yield from _fields(f"{name} argument", old.fields, new.fields)
        yield from _changed(
            where,
            "carries content" if old.content else "carries no content",
            "carries content" if new.content else "carries no content",
        )
        for get in (_answers, _waits, _peers):
            yield from _changed(where, get(old), get(new), wire=False)


def _answers(method: Method) -> str:
    return f"answered by {' or '.join(sorted(method.responses)) or 'nothing'}"


def _waits(method: Method) -> str:
    return "synchronous" if method.synchronous else "asynchronous"


def _peers(method: Method) -> str:
    return f"sent by {' and '.join(method.sent_by) or 'nobody'}"


def _fields(where: str, first: Sequence[Field], second: Sequence[Field]) -> Iterator[Difference]:
    """Arguments or properties. Their order counts; their names do not show on the wire."""
    if [field.type for field in first] == [field.type for field in second]:
        for place, (old, new) in enumerate(zip(first, second, strict=True), 1):
            yield from _changed(f"{where} {place}", old.name, new.name, wire=False)
        return
    before = [(field.name, field.type) for field in first]
    after = [(field.name, field.type) for field in second]
    for what, a, b, c, d in SequenceMatcher(None, before, after, False).get_opcodes():
        if what == "equal":
            continue
        for place in range(max(b - a, d - c)):
            old_at, new_at = a + place, c + place
            was = before[old_at] if old_at < b else None
            then = after[new_at] if new_at < d else None
            number = (new_at if was is None else old_at) + 1
            yield Difference(f"{where} {number}", f"{_spelt(was)}, then {_spelt(then)}")


def _spelt(field: tuple[str, str] | None) -> str:
    return "not there" if field is None else f"{field[0]} ({field[1]})"


def _number_and_name(where: str, old: _Item, new: _Item) -> Iterator[Difference]:
    yield from _changed(where, f"number {old.index}", f"number {new.index}")
    yield from _changed(where, f"named {old.name}", f"named {new.name}", wire=False)


def _one_sided(kind: str, old: _Item | None, new: _Item | None, owner: str) -> Difference:
    if old is not None:
        return Difference(f"{kind} {owner}{old.name}", f"number {old.index}, then not there")
    assert new is not None
    return Difference(f"{kind} {owner}{new.name}", f"not there, then number {new.index}")


def _changed(where: str, old: object, new: object, wire: bool = True) -> Iterator[Difference]:
    if old != new:
        yield Difference(where, f"{old}, then {new}", wire)


def _layout(item: Class | Method) -> set[object]:
    """What of a class or method shows on the wire, in pieces that can be counted."""
    if isinstance(item, Method):
        return {(item.content, *(field.type for field in item.fields))}
    return {(method.index, *_layout(method)) for method in item.methods}


def _alike(old: Class | Method, new: Class | Method) -> bool:
    """Whether one may be the other under a new name: half of what they have is the same."""
    before, after = _layout(old), _layout(new)
    return 2 * len(before & after) >= max(len(before), len(after))


def _pairs(
    first: Sequence[_Item], second: Sequence[_Item]
) -> list[tuple[_Item | None, _Item | None]]:
    """Which item of the one is which of the other, in the order of the first; new ones last."""
    partner: dict[int, _Item] = {}
    unpaired = list(second)
    for same in (_unchanged, _same_name, _renamed):
        for place, old in enumerate(first):
            if place in partner:
                continue
            counterpart = next((new for new in unpaired if same(old, new)), None)
            if counterpart is not None:
                partner[place] = counterpart
                unpaired.remove(counterpart)
    pairs: list[tuple[_Item | None, _Item | None]] = []
    pairs += [(old, partner.get(place)) for place, old in enumerate(first)]
    pairs += [(None, new) for new in unpaired]
    return pairs


def _unchanged(old: Class | Method, new: Class | Method) -> bool:
    return old.name == new.name and old.index == new.index


def _same_name(old: Class | Method, new: Class | Method) -> bool:
    return old.name == new.name


def _renamed(old: Class | Method, new: Class | Method) -> bool:
    return old.index == new.index and _alike(old, new)
