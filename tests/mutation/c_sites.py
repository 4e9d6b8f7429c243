"""The changes that a header allows: conditions, loops, returned values and assignments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.mutation.change import Change, Piece, describe_change, edits

TOKEN = re.compile(
    r"->|\+\+|--|<<=?|>>=?|[-+*/|&^=!<>]=|&&|\|\||'(?:\\.|[^'])*'|[A-Za-z_]\w*|\d\w*|\S"
)
CONDITION = re.compile(r"\b(?:if|while) (?=\()")
LOOP = re.compile(r"\bfor \([^;()]*;([^;]+);")
RETURN = re.compile(r"\breturn ([^;{}]+);")
#: A declaration with a value, or an assignment: one statement, alone in its line.
ASSIGN = re.compile(r"^ +(?!static)[\w *>.\[\]-]*?[\w\])] (?:=|[-+|]=) ([^;{}]+);", re.M)
COUNT = re.compile(r"^ +([\w>.\[\]-]+ ?(?:\+\+|--|[-+]= [^;{}]+));", re.M)
LEAVES = re.compile(r"\s*\{?\s*(?:return|goto|break|continue)\b")


@dataclass(frozen=True)
class Function:
    """The body of one function."""

    name: str
    begin: int
    end: int


def changes(text: str) -> Iterator[Change]:
    """Every change of a header."""
    code = _blank(text)
    for function in _functions(code):
        yield from _of_function(text, code, function)


def _of_function(text: str, code: str, function: Function) -> Iterator[Change]:
    body = (function.begin, function.end)
    for match in CONDITION.finditer(code, *body):
        end = _closing(code, match.end())
        yield from _of_expression(text, code, function, match.end() + 1, end)
        if LEAVES.match(code, end + 1):
            yield _change(text, function, (match.end() + 1, end), (match.end() + 1, end, "0"))
    for pattern in (LOOP, RETURN, ASSIGN):
        for match in pattern.finditer(code, *body):
            yield from _of_expression(text, code, function, *match.span(1))
    for match in COUNT.finditer(code, *body):
        begin, end = match.span(1)
        template = f"if (!mutant(@mutant@)) {text[begin:end]}"
        line = text.count("\n", 0, begin) + 1
        yield Change(
            line, function.name, describe_change(text, begin, end, ""), begin, end, template
        )


def _of_expression(
    text: str, code: str, function: Function, begin: int, end: int
) -> Iterator[Change]:
    pieces = [Piece(match[0], *match.span()) for match in TOKEN.finditer(code, begin, end)]
    for edit in edits(text, pieces):
        yield _change(text, function, (begin, end), edit)


def _change(
    text: str, function: Function, span: tuple[int, int], edit: tuple[int, int, str]
) -> Change:
    (begin, end), (at, to, new) = span, edit
    changed = text[begin:at] + new + text[to:end]
    template = f"mutant(@mutant@) ? ({changed}) : ({text[begin:end]})"
    line = text.count("\n", 0, at) + 1
    return Change(line, function.name, describe_change(text, at, to, new), begin, end, template)


def _blank(text: str) -> str:
    """The same length without comments, texts, and lines of the preprocessor."""
    pattern = r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\n])*\"|^#(?:[^\n]*\\\n)*[^\n]*"

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match[0])

    return re.sub(pattern, blank, text, flags=re.M | re.S)


def _functions(code: str) -> Iterator[Function]:
    """What stands in braces after a closing bracket, at file level."""
    depth, begin, name = 0, 0, ""
    for match in re.finditer(r"[{}]", code):
        if match[0] == "{":
            if not depth:
                begin, name = match.end(), _name(code[: match.start()].rstrip())
            depth += 1
        else:
            depth -= 1
            if not depth and name:
                yield Function(name, begin, match.start())


def _name(head: str) -> str:
    """Of a function whose arguments are the last of `head`; an empty text where there are none."""
    at, depth = len(head), 0
    while at and (depth or at == len(head)) and head[-1] == ")":
        at -= 1
        depth += (head[at] == ")") - (head[at] == "(")
    match = re.search(r"(\w+)$", head[:at])
    return match[1] if match and at < len(head) else ""


def _closing(code: str, opening: int) -> int:
    depth = 0
    for at in range(opening, len(code)):
        depth += (code[at] == "(") - (code[at] == ")")
        if not depth:
            return at
    raise ValueError("a bracket is open")
