"""Options as Spark's own readers take them: text, with names in any case and style."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from ..._facade.names import split_names
from ...capture.planning import Unpacking, range_error, respell_limits

__all__ = [
    "BOOLEANS",
    "CORRUPT",
    "MODES",
    "TABLES",
    "Options",
    "limit_names",
    "limit_option",
    "limits_of",
    "mode_of",
    "option_key",
    "with_limit_options",
]

_Limits = TypeVar("_Limits", bound=Unpacking)
_Meaning = TypeVar("_Meaning")

#: Spark's own name for the column with what could not be read.
CORRUPT = "_corrupt_record"
MODES = ("PERMISSIVE", "DROPMALFORMED", "FAILFAST")
#: What field tables become.
TABLES = ("json", "variant", "map")

#: What true and false are written as.
BOOLEANS = {"true": True, "false": False}

_SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def mode_of(text: str, allowed: Iterable[str] = MODES) -> str:
    """A mode in the decoder's spelling; any case is taken.

    Raises:
        ValueError: it is not one of those allowed here.
    """
    allowed = tuple(allowed)
    if text.upper() not in allowed:
        raise ValueError(f"mode is {', '.join(map(repr, allowed))} here, not {text!r}")
    return text.upper()


def option_key(name: str) -> str:
    """What names of options are compared by: ``fieldTables`` and ``field_tables`` are the same."""
    name = name.lower()
    return name if name.startswith("fs.") else name.replace("_", "")


class Options:
    """Named texts. Names are compared by option_key(); refuse_unknown() checks them."""

    def __init__(self, options: Mapping[str, Any] | None) -> None:
        """options: texts; numbers and booleans too, as ``DataFrameReader.option`` takes them."""
        self._texts = {
            option_key(name): str(value).lower() if isinstance(value, bool) else value
            for name, value in dict(options or {}).items()
            if value is not None
        }

    def refuse_unknown(self, option_names: Iterable[str], prefixes: tuple[str, ...] = ()) -> None:
        """Refuse names that are none of these and begin with none of the prefixes.

        Raises:
            ValueError: it says which, and what was probably meant.
        """
        names = {option_key(name): name for name in option_names}
        for name in self._texts:
            if name in names or name.startswith(prefixes):
                continue
            close = difflib.get_close_matches(name, names, 1, cutoff=0.7)
            hint = f"did you mean {names[close[0]]}? There is" if close else "there is"
            raise ValueError(f"no option {name!r}; {hint} {', '.join(names.values())}")

    def items(self) -> dict[str, str]:
        """All of them, with names as option_key() gives them."""
        return {name: str(value) for name, value in self._texts.items()}

    def __contains__(self, name: str) -> bool:
        return option_key(name) in self._texts

    def text(self, name: str, default: str) -> str:
        """The option as it was written."""
        return str(self._texts.get(option_key(name), default))

    def optional(self, name: str) -> str | None:
        """The option, or None where it was not given."""
        value = self._texts.get(option_key(name))
        return None if value is None else str(value)

    def flag(self, name: str, default: bool) -> bool:
        """An option that is true or false."""
        return self.word(name, str(default), BOOLEANS)

    def word(self, name: str, default: str, meanings: Mapping[str, _Meaning]) -> _Meaning:
        """An option that is one of some words: what that one means."""
        text = self.text(name, default).strip().lower()
        if text not in meanings:
            *others, last = meanings
            raise ValueError(f"option {name} is {', '.join(others)} or {last}, not {text!r}")
        return meanings[text]

    def names(self, name: str) -> tuple[str, ...] | None:
        """An option that is a list: a JSON list, or names with commas between them."""
        value = self._texts.get(option_key(name))
        if value is None:
            return None
        if isinstance(value, str):
            value = json.loads(value) if value.lstrip().startswith("[") else split_names(value)
        return tuple(str(part) for part in value if str(part))

    def numbers(self, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """An option that is a list of whole numbers."""
        parts = self.names(name)
        try:
            return default if parts is None else tuple(int(part) for part in parts)
        except ValueError:
            raise ValueError(f"option {name} is numbers with commas, not {parts!r}") from None

    def octets(self, name: str, default: int) -> int:
        """An option that is a size, such as ``134217728`` or ``128m``."""
        text = self.text(name, str(default)).strip().lower()
        digits = text.rstrip("bkmgt")
        unit = text[len(digits) :]
        unit = unit[0] if len(unit) == 2 and unit[1] == "b" else unit
        if not digits.isdecimal() or unit not in _UNITS:
            raise ValueError(f"option {name} is a size such as 64m, not {text!r}")
        return int(digits) * _UNITS[unit]

    def seconds(self, name: str, default: float) -> float:
        """An option that is a time, such as ``90s`` or ``5m``; a number alone is seconds."""
        text = self.text(name, f"{default:g}").strip().lower()
        digits = text.rstrip("abcdefghijklmnopqrstuvwxyz ")
        unit = text[len(digits) :].strip()
        if not digits.isdecimal() or unit not in _SECONDS:
            raise ValueError(f"option {name} is a time such as 90s or 5m, not {text!r}")
        return int(digits) * _SECONDS[unit]

    def count(self, name: str, least: int = 1) -> int | None:
        """An option that is a number from `least`, or None where it was not given."""
        text = self.optional(name)
        if text is not None and not (text.strip().isdecimal() and int(text) >= least):
            raise ValueError(f"option {name} is a number from {least}, not {text!r}")
        return None if text is None else int(text)


def limit_names(kind: type[Unpacking]) -> list[str]:
    """What limits are called as options: maxDecompressedBytes for max_decompressed_bytes."""
    return [_limit_name(field.name) for field in fields(kind)]


def _limit_name(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def limit_option(name: str, value: str) -> str:
    """A limit as an option, for texts: maxDecompressedBytes=700."""
    return f"{_limit_name(name)}={value}"


def with_limit_options(text: str) -> str:
    """What ``damaged`` of a reader says, its limits as options."""
    return respell_limits(text, limit_option)


def limits_of(options: Options, kind: type[_Limits]) -> _Limits:
    """The limits that options say, bytes as sizes (``64m``).

    Raises:
        ValueError: one is none, or out of its range.
    """
    values = {}
    for field, name in zip(fields(kind), limit_names(kind), strict=True):
        if name not in options:
            continue
        if name.endswith("Bytes"):
            limit = options.octets(name, 0)
        else:
            limit = options.count(name, field.metadata["least"]) or 0
        if problem := range_error(field.name, limit):
            raise ValueError(f"option {name} {problem}")
        values[field.name] = limit
    return kind(**values)
