"""The changes that a Cython source allows, by Python's own tokens."""

from __future__ import annotations

import io
import token
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.mutation.change import Change, Piece, describe_change, edits

DEFINES = {"def", "cdef", "cpdef"}
NO_FUNCTION = {"class", "enum", "struct", "union", "extern"}
LEAVES = {"return", "break", "continue", "raise", "fail"}
ASSIGNS = {"=", "+=", "-=", "*=", "//=", "|=", "&=", "^=", "<<=", ">>="}
#: Statements that are not changed: declarations, the texts of errors, what has no expression.
LEFT_ALONE = {
    *("for", "with", "try", "else", "except", "finally", "raise", "import", "from", "cimport"),
    *("include", "pass", "break", "continue", "global", "assert", "del", "ctypedef", "class", "@"),
}
#: An expression and its change, as one; of a condition, operands may be of several types.
VALUE = "(({}) if mutant(@mutant@) else ({}))"
CONDITION = "((not not ({})) if mutant(@mutant@) else (not not ({})))"
#: Of `x == 1 and x == 2` Cython makes the switch of `or`: a call between keeps both.
WRITTEN = {"and": "and mutant(@mutant@) and"}
LAYOUT = {token.NL, token.COMMENT, token.NEWLINE, token.ENDMARKER}


@dataclass
class Line:
    """A logical line: its tokens, and the function that it is in, or an empty text."""

    function: str
    pieces: list[Piece] = field(default_factory=list)


def changes(text: str) -> Iterator[Change]:
    """Every change of the source of a .pxi or .pxd file."""
    lines = list(_lines(text))
    for i, line in enumerate(lines):
        if line.function:
            first = lines[i + 1].pieces[0].text if i + 1 < len(lines) else ""
            yield from _of_line(text, line, first)


def _of_line(text: str, line: Line, inside: str) -> Iterator[Change]:
    pieces = line.pieces
    head = pieces[0].text
    if head in LEFT_ALONE or (head in DEFINES and pieces[-1].text == ":"):
        return
    if head in ("if", "elif", "while"):
        if pieces[-1].text != ":":
            return
        condition = pieces[1:-1]
        yield from _of_expression(text, line, condition, CONDITION)
        if head != "while" and inside in LEAVES:
            edit = (condition[0].begin, condition[-1].end, "False")
            yield _change(text, line, condition, edit, CONDITION)
        return
    at = _assignment(pieces)
    if head in DEFINES:  # a declaration, which no block can hold
        value = pieces[at + 1 :] if at else []
        if value and value[0].text not in "[{" and pieces[at].text == "=" and not _listed(pieces):
            yield from _of_expression(text, line, value, VALUE)
        return
    if at is None and head != "return" and pieces[-1].text != ")":
        return
    if at and pieces[at].text in ("+=", "-="):
        yield _statement(text, line, pieces[0].begin, pieces[-1].end, "pass")
    for begin, end, new in edits(text, pieces[1:] if head == "return" else pieces):
        yield _statement(text, line, begin, end, new)


def _of_expression(text: str, line: Line, pieces: list[Piece], template: str) -> Iterator[Change]:
    for edit in edits(text, pieces):
        yield _change(text, line, pieces, edit, template)


def _change(
    text: str, line: Line, pieces: list[Piece], edit: tuple[int, int, str], template: str
) -> Change:
    """An expression written twice."""
    at, to, new = edit
    begin, end = pieces[0].begin, pieces[-1].end
    template = template.format(_edited(text, begin, end, edit), text[begin:end])
    row = text.count("\n", 0, at) + 1
    return Change(row, line.function, describe_change(text, at, to, new), begin, end, template)


def _edited(text: str, begin: int, end: int, edit: tuple[int, int, str]) -> str:
    """What stands between two places, with an edit there."""
    at, to, new = edit
    return text[begin:at] + WRITTEN.get(new, new) + text[to:end]


def _statement(text: str, line: Line, at: int, to: int, new: str) -> Change:
    """A statement written twice, in two blocks."""
    begin, end = line.pieces[0].begin, line.pieces[-1].end
    indent = " " * (begin - text.rfind("\n", 0, begin) - 1)
    changed = _edited(text, begin, end, (at, to, new))
    template = (
        f"if mutant(@mutant@):\n{indent}    {changed}\n{indent}else:\n{indent}    {text[begin:end]}"
    )
    row = text.count("\n", 0, at) + 1
    return Change(row, line.function, describe_change(text, at, to, new), begin, end, template)


def _outside(pieces: list[Piece], texts: set[str]) -> list[int]:
    """Which tokens are of these and in no brackets."""
    depth, positions = 0, []
    for i, piece in enumerate(pieces):
        depth += (piece.text in "([{") - (piece.text in ")]}")
        if not depth and piece.text in texts:
            positions.append(i)
    return positions


def _assignment(pieces: list[Piece]) -> int | None:
    positions = _outside(pieces, ASSIGNS)
    return positions[0] if len(positions) == 1 else None


def _listed(pieces: list[Piece]) -> bool:
    return bool(_outside(pieces, {","}))


def _lines(text: str) -> Iterator[Line]:
    """Logical lines with code, each with its function."""
    starts = [0]
    for physical in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(physical))
    blocks: list[str] = []  # of each indentation, the function or an empty text
    opens = ""  # what the next indentation belongs to
    line = Line("")
    for item in tokenize.generate_tokens(io.StringIO(text).readline):
        if item.type == token.INDENT:
            blocks.append(opens or (blocks[-1] if blocks else ""))
        elif item.type == token.DEDENT:
            blocks.pop()
        elif item.type == token.NEWLINE:
            opens = _opened(line.pieces)
            yield line
            line = Line("")
        elif item.type not in LAYOUT:
            if not line.pieces:
                line = Line(blocks[-1] if blocks else "")
            begin, end = (starts[row - 1] + column for row, column in (item.start, item.end))
            line.pieces.append(Piece(item.string, begin, end))


def _opened(pieces: list[Piece]) -> str:
    """The name of the function that a line begins, if it does."""
    names = [piece.text for piece in pieces]
    if names[0] not in DEFINES or names[-1] != ":" or NO_FUNCTION & set(names[:3]):
        return ""
    return names[names.index("(") - 1] if "(" in names else ""
