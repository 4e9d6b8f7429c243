"""One change of one statement, and the changes of an expression's operators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
SIGNS = {"+": "-", "-": "+", "+=": "-=", "-=": "+="}
JUNCTIONS = {"and": "or", "or": "and", "&&": "||", "||": "&&"}
#: Of these, those without a space on each side are casts and signs of numbers.
SPACED = {"<", ">", "+", "-"}


@dataclass(frozen=True)
class Change:
    """`template` instead of what is between begin and end."""

    line: int
    function: str
    text: str  # the line of the source as it is, and as it becomes
    begin: int
    end: int
    template: str


@dataclass(frozen=True)
class Piece:
    """A token: its text and its place in the file."""

    text: str
    begin: int
    end: int


def edits(text: str, pieces: Sequence[Piece]) -> Iterator[tuple[int, int, str]]:
    """Each change of one token of an expression: where, and what stands there then."""
    for i, piece in enumerate(pieces):
        at, end, token = piece.begin, piece.end, piece.text
        before = pieces[i - 1].text if i else ""
        after = pieces[i + 1].text if i + 1 < len(pieces) else ""
        spaced = text[at - 1 : at].isspace() and text[end : end + 1].isspace()
        if token in SPACED and not spaced:
            continue
        if token in COMPARISONS:
            yield at, end, COMPARISONS[token]
        elif token in SIGNS and i and after != "0":
            yield at, end, SIGNS[token]
        elif token in JUNCTIONS:
            yield at, end, JUNCTIONS[token]
        elif token == "not" and after != "in" and before != "is":
            yield at, pieces[i + 1].begin, ""
        elif token == "!" and after != "=":
            yield at, end, ""
        elif token[0].isdigit() and text[at - 1] != "-" and _beside_operator(before, after):
            digits = token.rstrip("uUlL")
            if digits.isdigit() or digits.startswith("0x"):
                suffix = token[len(digits) :]
                yield at, end, f"{int(digits, 0) + 1}{suffix}"


def _beside_operator(before: str, after: str) -> bool:
    operators = COMPARISONS.keys() | SIGNS.keys()
    return before in operators or after in operators


def line_of(text: str, at: int) -> tuple[int, int]:
    """Begin and end of the line of a place."""
    end = text.find("\n", at)
    return text.rfind("\n", 0, at) + 1, len(text) if end < 0 else end


def describe_change(text: str, at: int, end: int, new: str) -> str:
    """The line with the change, as it is and as it becomes."""
    begin, stop = line_of(text, at)
    stop = max(stop, line_of(text, end)[1])
    was = " ".join(text[begin:stop].split())
    becomes = " ".join((text[begin:at] + new + text[end:stop]).split())
    return f"{was} -> {becomes}"
