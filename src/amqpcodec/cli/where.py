"""``--where``: an expression in a small language, and which rows of a batch it fits.

::

    either  = both ("or" both)*
    both    = one ("and" one)*
    one     = "not" one | "(" either ")" | name [sign value | "in" "(" value ("," value)* ")"]
    sign    = "==" | "=" | "!=" | "<" | "<=" | ">" | ">=" | "~" | "!~"

It is parsed by hand and computed by pyarrow, column by column; nothing is ever evaluated as code,
and regular expressions are RE2's, whose time is linear.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["Comparison", "WhereError", "inside", "parse"]

TOKEN = re.compile(
    r"""\s*(?:
      (?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<sign>==|!=|<=|>=|!~|=|<|>|~|\(|\)|,)
    | (?P<word>[^\s()<>=!~,'"]+)
    )""",
    re.VERBOSE | re.DOTALL,
)
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ARROW = {
    "==": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}
#: Columns whose text is JSON, and may be looked into.
JSON_COLUMNS = {
    *("arguments", "headers", "properties_json"),
    *("application_properties", "message_annotations", "delivery_annotations", "footer", "value"),
}
#: Nested deeper, an expression would end Python's stack.
MAX_DEPTH = 100


class WhereError(ValueError):
    """The expression cannot be read, or does not fit its columns."""


@dataclass(frozen=True)
class Comparison:
    """A column against a value; no sign: there is a value at all."""

    name: str
    sign: str = ""
    value: str = ""

    def names(self) -> set[str]:
        """The columns looked at, with what follows their first dot."""
        return {self.name}

    def renamed(self, names: Mapping[str, str]) -> Comparison:
        """With other names of columns."""
        return replace(self, name=names.get(self.name, self.name))

    def fits(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        """Which rows fit; never null."""
        return _compare(self, *_find(batch, self.name))


@dataclass(frozen=True)
class Group:
    """Both of two, either of two, or not the one."""

    word: str  # "and", "or" or "not"
    items: tuple[Comparison | Group, ...]

    def names(self) -> set[str]:
        """The columns looked at."""
        return set().union(*(item.names() for item in self.items))

    def renamed(self, names: Mapping[str, str]) -> Group:
        """With other names of columns."""
        return replace(self, items=tuple(item.renamed(names) for item in self.items))

    def fits(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        """Which rows fit; never null."""
        found = [item.fits(batch) for item in self.items]
        if self.word == "not":
            return pc.invert(found[0])
        join = pc.and_ if self.word == "and" else pc.or_
        result = found[0]
        for each in found[1:]:
            result = join(result, each)
        return result


Expression = Comparison | Group


# --- from text ------------------------------------------------------------------------------------


def parse(text: str) -> Expression:
    """The expression that a text says.

    Raises:
        WhereError: it says none; the text names the place.
    """
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []  # (kind, text, place)
        place = 0
        end = len(text.rstrip())
        while place < end:
            found = TOKEN.match(text, place)
            if found is None:
                while text[place].isspace():
                    place += 1
                raise WhereError(_at(f"cannot read {text[place]!r}", place))
            kind = found.lastgroup or ""
            self.tokens.append((kind, found[kind], found.start(kind)))
            place = found.end()
        self.at = 0
        self.depth = 0

    def whole(self) -> Expression:
        expression = self.either()
        if self.at < len(self.tokens):
            raise self.wrong('"and", "or" or the end')
        return expression

    def either(self) -> Expression:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.wrong(f"at most {MAX_DEPTH} levels")
        items = [self.both()]
        while self.take("or"):
            items.append(self.both())
        self.depth -= 1
        return items[0] if len(items) == 1 else Group("or", tuple(items))

    def both(self) -> Expression:
        items = [self.one()]
        while self.take("and"):
            items.append(self.one())
        return items[0] if len(items) == 1 else Group("and", tuple(items))

    def one(self) -> Expression:
        turned = False
        while self.take("not"):
            turned = not turned
        if self.take("("):
            found = self.either()
            self.need(")")
        else:
            found = self.comparison()
        return Group("not", (found,)) if turned else found

    def comparison(self) -> Expression:
        name = self.text_of("the name of a column")
        if self.take("in"):
            self.need("(")
            values = [self.text_of("a value")]
            while self.take(","):
                values.append(self.text_of("a value"))
            self.need(")")
            items = tuple(Comparison(name, "==", value) for value in values)
            return items[0] if len(items) == 1 else Group("or", items)
        kind, sign, _ = self.peek()
        if kind != "sign" or sign in "(),":
            return Comparison(name)
        self.at += 1
        return Comparison(name, "==" if sign == "=" else sign, self.text_of("a value"))

    def peek(self) -> tuple[str, str, int]:
        if self.at < len(self.tokens):
            return self.tokens[self.at]
        return "", "", len(self.text)

    def take(self, wanted: str) -> bool:
        kind, text, _ = self.peek()
        found = kind in ("word", "sign") and text.lower() == wanted
        self.at += found
        return found

    def need(self, wanted: str) -> None:
        if not self.take(wanted):
            raise self.wrong(f'"{wanted}"')

    def text_of(self, wanted: str) -> str:
        kind, text, _ = self.peek()
        if kind == "quoted":
            self.at += 1
            return re.sub(r"\\(.)", _unescaped, text[1:-1], flags=re.DOTALL)
        if kind == "word" and text.lower() not in ("and", "or", "not", "in"):
            self.at += 1
            return text
        raise self.wrong(wanted)

    def wrong(self, wanted: str) -> WhereError:
        kind, text, place = self.peek()
        return WhereError(_at(f"{wanted} is expected, not {text if kind else 'the end'}", place))


def _unescaped(found: re.Match[str]) -> str:
    """Only a quote or a backslash is escaped: other pairs stay, as regular expressions want it."""
    return found[1] if found[1] in "'\"\\" else found[0]


def _at(text: str, place: int) -> str:
    return f"--where: {text} (character {place + 1})"


# --- against columns ------------------------------------------------------------------------------


def _find(batch: pa.RecordBatch, name: str) -> tuple[pa.Array, list[str]]:
    """The column that a name means, and the path inside of its JSON text."""
    if name in batch.schema.names:
        return batch.column(name), []
    first, *path = name.split(".")
    if first == "headers" and "properties" in batch.schema.names:
        first, path = "properties", ["headers", *path]
    if first not in batch.schema.names or not path:
        raise WhereError(f"--where: there is no column {name}")
    column = batch.column(first)
    while path and pa.types.is_struct(column.type):
        if column.type.get_field_index(path[0]) < 0:
            members = ", ".join(field.name for field in column.type)
            raise WhereError(f"--where: {first} has no {path[0]}, only {members}")
        first = path.pop(0)
        column = pc.struct_field(column, first)
    if path and first not in JSON_COLUMNS:
        raise WhereError(f"--where: there is nothing inside of {first}, such as {name}")
    return column, path


def _compare(wanted: Comparison, column: pa.Array, path: list[str]) -> pa.BooleanArray:
    if path:
        return _each_distinct(column, lambda text: _json_fits(wanted, text, path))
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _list_fits(wanted, column)
    if not wanted.sign:
        # "redelivered" asks whether it is so, "error" whether there is one.
        return pc.fill_null(column, False) if pa.types.is_boolean(kind) else column.is_valid()
    if pa.types.is_struct(kind):
        raise WhereError(f"--where: {wanted.name} has parts: compare one, as {wanted.name}.NAME")
    if wanted.sign in ("~", "!~"):
        if _is_binary(kind):
            found = pc.fill_null(_search_bytes(column, wanted.value), False)
        elif _is_text(kind):
            found = pc.fill_null(_search(column, wanted.value), False)
        else:
            raise WhereError(f"--where: {wanted.name} is no text to look into with {wanted.sign}")
        return found if wanted.sign == "~" else pc.invert(found)
    value = _value_for(kind, wanted)
    found = pc.call_function(ARROW[wanted.sign], [column, value])
    return pc.fill_null(found, wanted.sign == "!=")


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _search_bytes(column: pa.Array, pattern: str) -> pa.Array:
    """Looks for the UTF-8 bytes of a regular expression, or for those that 0x... names in hex."""
    raw = _bytes(pattern)
    if raw is None:
        return _search(column, pattern)
    return _search(column, "".join(f"\\x{each:02x}" for each in raw))


def _bytes(text: str) -> bytes | None:
    """What 0x... says in hex."""
    if text[:2].lower() != "0x":
        return None
    try:
        return bytes.fromhex(text[2:])
    except ValueError:
        return None


def _search(column: pa.Array, pattern: str) -> pa.Array:
    try:
        return pc.match_substring_regex(column, pattern)
    except pa.ArrowInvalid as error:
        raise WhereError(f"--where: {error}") from None


def _value_for(kind: pa.DataType, wanted: Comparison) -> pa.Scalar:
    """The value as the column's type has it."""
    text = wanted.value
    try:
        if pa.types.is_boolean(kind):
            return pa.scalar({"true": True, "false": False}[text.lower()])
        if pa.types.is_integer(kind):
            # Not in the column's own type: 70000 is a number that no channel has, not an error.
            return pa.scalar(int(text, 0) if text[:2].lower() == "0x" else int(text), pa.int64())
        if pa.types.is_floating(kind):
            return pa.scalar(float(text), pa.float64())
        if pa.types.is_decimal(kind):
            return pa.scalar(Decimal(text))
        if pa.types.is_timestamp(kind):
            return pa.scalar(_moment(text), pa.timestamp("us", "UTC")).cast(kind)
        if _is_text(kind):
            return pa.scalar(text, kind)
        if pa.types.is_duration(kind):
            return pa.scalar(round(float(text) * 1e6), pa.duration("us")).cast(kind)
        raw = bytes.fromhex(text[2:]) if text[:2].lower() == "0x" else text.encode()
        return pa.scalar(raw, kind)
    except (ValueError, KeyError, OverflowError, InvalidOperation, pa.ArrowInvalid):
        raise WhereError(f"--where: {wanted.name} is {kind}, and {text!r} is none") from None


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _list_fits(wanted: Comparison, column: pa.Array) -> pa.BooleanArray:
    """A list fits where one of its items does; without, where no item is or contains the value."""
    turned = wanted.sign in ("!=", "!~")
    if not wanted.sign:
        return pc.fill_null(pc.greater(pc.list_value_length(column), 0), False)
    positive = {"!=": "==", "!~": "~"}.get(wanted.sign, wanted.sign)
    items = pc.list_flatten(column)
    fits = _compare(Comparison(wanted.name, positive, wanted.value), items, [])
    parents = set(pc.list_parent_indices(column).filter(fits).to_pylist())
    return pa.array([(row in parents) != turned for row in range(len(column))], pa.bool_())


def _each_distinct(column: pa.Array, fits: Callable[[str | None], bool]) -> pa.BooleanArray:
    """Looks at every different text once: frames repeat themselves."""
    coded = column.dictionary_encode() if not pa.types.is_dictionary(column.type) else column
    known = [fits(text) for text in coded.dictionary.to_pylist()]
    missing = fits(None)
    rows: Iterable[int | None] = coded.indices.to_pylist()
    return pa.array([missing if at is None else known[at] for at in rows], pa.bool_())


_ABSENT = object()


def _json_fits(wanted: Comparison, text: str | None, path: list[str]) -> bool:
    found = None if text is None else inside(json.loads(text), path)
    negative = wanted.sign in ("!=", "!~")
    if found is None:
        return negative
    if not wanted.sign:
        return found is not False
    if isinstance(found, list):
        each = Comparison(
            wanted.name, wanted.sign.replace("!=", "==").replace("!~", "~"), wanted.value
        )
        return any(_value_fits(each, item) for item in found) != negative
    return _value_fits(wanted, found)


def inside(value: Any, path: list[str]) -> Any:
    """What a path leads to, None where that is null or nothing; a key may itself hold dots, the
    longest one first."""
    found = _inside(value, path)
    return None if found is _ABSENT else found


def _inside(value: Any, path: list[str]) -> Any:
    if not path:
        return value
    if not isinstance(value, dict):
        return _ABSENT
    for length in range(len(path), 0, -1):
        key = ".".join(path[:length])
        found = _inside(value[key], path[length:]) if key in value else _ABSENT
        if found is not _ABSENT:
            return found
    return _ABSENT


def _value_fits(wanted: Comparison, found: Any) -> bool:
    """A value of a JSON text against one of the expression, as numbers where both are."""
    negative = wanted.sign in ("!=", "!~")
    if isinstance(found, dict | list):
        found = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    if wanted.sign in ("~", "!~"):
        text = found if isinstance(found, str) else json.dumps(found)
        return bool(_search(pa.array([text]), wanted.value)[0].as_py()) != negative
    value: Any = wanted.value
    if isinstance(found, bool):
        value = {"true": True, "false": False}.get(value.lower(), _ABSENT)
    elif isinstance(found, int | float):
        value = _number(value)
    if value is _ABSENT:
        return negative
    return bool(COMPARE[wanted.sign](found, value))


def _number(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return _ABSENT
