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
    "details",
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
        masks = [item.fits(batch) for item in self.items]
        if self.word == "not":
            return pc.invert(masks[0])
        join = pc.and_ if self.word == "and" else pc.or_
        result = masks[0]
        for mask in masks[1:]:
            result = join(result, mask)
        return result


Expression = Comparison | Group


# --- from text ------------------------------------------------------------------------------------


def parse(text: str) -> Expression:
    """The expression that a text says.

    Raises:
        WhereError: it says none; the text names the place.
    """
    return _Parser(text).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []  # (kind, text, place)
        place = 0
        end = len(text.rstrip())
        while place < end:
            match = TOKEN.match(text, place)
            if match is None:
                while text[place].isspace():
                    place += 1
                raise WhereError(_at(f"cannot read {text[place]!r}", place))
            kind = match.lastgroup or ""
            self.tokens.append((kind, match[kind], match.start(kind)))
            place = match.end()
        self.at = 0
        self.depth = 0

    def parse(self) -> Expression:
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
            expression = self.either()
            self.need(")")
        else:
            expression = self.comparison()
        return Group("not", (expression,)) if turned else expression

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

    def take(self, token: str) -> bool:
        kind, text, _ = self.peek()
        matches = kind in ("word", "sign") and text.lower() == token
        self.at += matches
        return matches

    def need(self, token: str) -> None:
        if not self.take(token):
            raise self.wrong(f'"{token}"')

    def text_of(self, expectation: str) -> str:
        kind, text, _ = self.peek()
        if kind == "quoted":
            self.at += 1
            return re.sub(r"\\(.)", _unescaped, text[1:-1], flags=re.DOTALL)
        if kind == "word" and text.lower() not in ("and", "or", "not", "in"):
            self.at += 1
            return text
        raise self.wrong(expectation)

    def wrong(self, expectation: str) -> WhereError:
        kind, text, place = self.peek()
        actual = f'"{text}"' if kind else "the end"
        return WhereError(_at(f"{expectation} is expected, not {actual}", place))


def _unescaped(match: re.Match[str]) -> str:
    """Only a quote or a backslash is escaped: other pairs stay, as regular expressions want it."""
    return match[1] if match[1] in "'\"\\" else match[0]


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


def _compare(comparison: Comparison, column: pa.Array, path: list[str]) -> pa.BooleanArray:
    if path:
        return _for_distinct_values(column, lambda text: _json_fits(comparison, text, path))
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _list_fits(comparison, column)
    if not comparison.sign:
        # "redelivered" asks whether it is so, "error" whether there is one.
        return pc.fill_null(column, False) if pa.types.is_boolean(kind) else column.is_valid()
    if pa.types.is_struct(kind):
        raise WhereError(
            f"--where: {comparison.name} has parts: compare one, as {comparison.name}.NAME"
        )
    if comparison.sign in ("~", "!~"):
        if _is_binary(kind):
            mask = pc.fill_null(_search_bytes(column, comparison.value), False)
        elif _is_text(kind):
            mask = pc.fill_null(_search(column, comparison.value), False)
        else:
            raise WhereError(
                f"--where: {comparison.name} is no text to look into with {comparison.sign}"
            )
        return mask if comparison.sign == "~" else pc.invert(mask)
    value = _value_for(kind, comparison)
    if pa.types.is_decimal(kind):
        # Not in Arrow: a type for both may need more digits than it has.
        compare = COMPARE[comparison.sign]
        missing = comparison.sign == "!="
        number = value.as_py()
        return _for_distinct_values(column, lambda d: missing if d is None else compare(d, number))
    mask = pc.call_function(ARROW[comparison.sign], [column, value])
    return pc.fill_null(mask, comparison.sign == "!=")


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _search_bytes(column: pa.Array, pattern: str) -> pa.Array:
    """Looks for the UTF-8 bytes of a regular expression, or for those that 0x... names in hex."""
    raw = _bytes(pattern)
    if raw is None:
        return _search(column, pattern)
    return _search(column, "".join(f"\\x{byte:02x}" for byte in raw))


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


def _value_for(kind: pa.DataType, comparison: Comparison) -> pa.Scalar:
    """The value as the column's type has it."""
    text = comparison.value
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
        raise WhereError(f"--where: {comparison.name} is {kind}, and {text!r} is none") from None


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _list_fits(comparison: Comparison, column: pa.Array) -> pa.BooleanArray:
    """A list fits where one of its items does; without, where no item is or contains the value."""
    turned = comparison.sign in ("!=", "!~")
    if not comparison.sign:
        return pc.fill_null(pc.greater(pc.list_value_length(column), 0), False)
    positive = {"!=": "==", "!~": "~"}.get(comparison.sign, comparison.sign)
    items = pc.list_flatten(column)
    fits = _compare(Comparison(comparison.name, positive, comparison.value), items, [])
    parents = set(pc.list_parent_indices(column).filter(fits).to_pylist())
    return pa.array([(row in parents) != turned for row in range(len(column))], pa.bool_())


def _for_distinct_values(column: pa.Array, fits: Callable[[Any], bool]) -> pa.BooleanArray:
    """Looks at every different text once: frames repeat themselves."""
    coded = column.dictionary_encode() if not pa.types.is_dictionary(column.type) else column
    distinct_results = [fits(text) for text in coded.dictionary.to_pylist()]
    missing = fits(None)
    rows: Iterable[int | None] = coded.indices.to_pylist()
    return pa.array([missing if at is None else distinct_results[at] for at in rows], pa.bool_())


_ABSENT = object()


def _json_fits(comparison: Comparison, text: str | None, path: list[str]) -> bool:
    json_value = None if text is None else inside(json.loads(text), path)
    negative = comparison.sign in ("!=", "!~")
    if json_value is None:
        return negative
    if not comparison.sign:
        return json_value is not False
    if isinstance(json_value, list):
        positive = Comparison(
            comparison.name,
            comparison.sign.replace("!=", "==").replace("!~", "~"),
            comparison.value,
        )
        return any(_value_fits(positive, item) for item in json_value) != negative
    return _value_fits(comparison, json_value)


def inside(value: Any, path: list[str]) -> Any:
    """What a path leads to, None where that is null or nothing; a key may itself hold dots, the
    longest one first."""
    result = _inside(value, path)
    return None if result is _ABSENT else result


def _inside(value: Any, path: list[str]) -> Any:
    if not path:
        return value
    if not isinstance(value, dict):
        return _ABSENT
    for length in range(len(path), 0, -1):
        key = ".".join(path[:length])
        result = _inside(value[key], path[length:]) if key in value else _ABSENT
        if result is not _ABSENT:
            return result
    return _ABSENT


def _value_fits(comparison: Comparison, json_value: Any) -> bool:
    """A value of a JSON text against one of the expression, as numbers where both are."""
    negative = comparison.sign in ("!=", "!~")
    if isinstance(json_value, dict | list):
        json_value = json.dumps(json_value, ensure_ascii=False, separators=(",", ":"))
    if comparison.sign in ("~", "!~"):
        text = json_value if isinstance(json_value, str) else json.dumps(json_value)
        return bool(_search(pa.array([text]), comparison.value)[0].as_py()) != negative
    value: Any = comparison.value
    if isinstance(json_value, bool):
        value = {"true": True, "false": False}.get(value.lower(), _ABSENT)
    elif isinstance(json_value, int | float):
        value = _number(value)
    if value is _ABSENT:
        return negative
    return bool(COMPARE[comparison.sign](json_value, value))


def _number(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return _ABSENT
