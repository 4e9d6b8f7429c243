"""Names that Cython files define at module level, and names that they use: lexically, by tokens.

Not a parser: a name that is bound anywhere in a file as an argument, variable, loop target or
keyword counts as that file's own.
"""

from __future__ import annotations

import io
import re
import token
import tokenize
from dataclasses import dataclass, field
from itertools import pairwise

Token = tokenize.TokenInfo

_OPENING = {"cdef", "cpdef", "ctypedef"}
_SPACE = {token.NL, token.COMMENT, token.INDENT, token.DEDENT}


@dataclass
class Symbols:
    """What one file defines for others, and what it needs: name -> first line."""

    defined: dict[str, int] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)


def symbols(source: str) -> Symbols:
    """The symbols of a .pxi or .pyx file."""
    result = Symbols()
    own: set[str] = set()
    block = ""  # what an indented line belongs to: "extern", "enum", "struct" or a body
    in_enum = False  # in an enum of a header
    for line in _logical_lines(source):
        first = line[0]
        text = [item.string for item in line]
        if first.start[1] == 0:
            block = _block(text)
            names = _definitions(text)
        elif block == "extern" and first.start[1] == 4:
            names = _definitions(["cdef", *text]) if text[0] not in _OPENING else _definitions(text)
            in_enum = "enum" in text[:2]
        elif (block == "enum" or (block == "extern" and in_enum)) and text[0].isidentifier():
            names = [text[0]] if text[0] != "pass" else []
        else:
            names = []
            own.update(_bound(line))
        for name in names:
            result.defined.setdefault(name, first.start[0])
        if block in ("extern", "struct"):
            continue  # their types are of C, or found again where they are used
        own.update(_keywords(text))
        if text[0] in ("def", "cdef", "cpdef") and "(" in text and "class" not in text[:2]:
            own.update(_arguments(text))
        for before, item in zip([None, *line], line, strict=False):
            if item.type == token.NAME and not (before and before.string == "."):
                result.used.setdefault(item.string, item.start[0])
    for name in own | set(result.defined):
        result.used.pop(name, None)
    return result


def _logical_lines(source: str) -> list[list[Token]]:
    """Tokens by logical line; comments, blank lines and layout left out."""
    lines: list[list[Token]] = [[]]
    for item in tokenize.generate_tokens(io.StringIO(source).readline):
        if item.type == token.NEWLINE:
            lines.append([])
        elif item.type not in _SPACE and item.type != token.ENDMARKER:
            lines[-1].append(item)
    return [line for line in lines if line]


def _block(text: list[str]) -> str:
    if "extern" in text:
        return "extern"
    if text[0] in _OPENING and "enum" in text[:3]:
        return "enum"
    if text[0] in _OPENING and ("struct" in text[:3] or "union" in text[:3]):
        return "struct"
    return "body"


def _definitions(text: list[str]) -> list[str]:
    """What a line at module level defines."""
    names: list[str] = []
    if text[0] in ("import", "cimport", "from"):
        listed = text[max(text.index(w) for w in ("import", "cimport") if w in text) + 1 :]
        for i, word in enumerate(listed):
            if word.isidentifier() and word != "as" and listed[i + 1 : i + 2] != ["as"]:
                names.append(word)
        return names
    if text[0] in ("def", "class"):
        return [text[1]]
    if text[0] not in _OPENING:
        return [text[0]] if text[1:2] == ["="] else []
    for kind in ("class", "struct", "union", "enum"):
        if kind in text[:3]:
            name = text[text.index(kind) + 1]
            return [name] if name.isidentifier() else []
    if text[0] == "ctypedef" and "(" in text and text[text.index("(") + 1] == "*":
        return [text[text.index("(") + 2]]
    end = min(text.index(w) if w in text else len(text) for w in ("(", "=", "["))
    if text[end : end + 2] == ["(", "*"]:  # a variable that holds a function
        return [text[end + 2]]
    head = [word for word in text[1:end] if word[0] != '"']  # the name that C has for it
    depth = 0
    for i, word in enumerate([*head, ","]):
        depth += (word == "[") - (word == "]")
        if word == "," and depth == 0 and i and head[i - 1].isidentifier():
            names.append(head[i - 1])
    return names


def _arguments(text: list[str]) -> set[str]:
    """Names of arguments: what stands before a comma, a default or the end of the list."""
    return {
        word
        for before, word, after in zip(text, text[1:], text[2:], strict=False)
        if word.isidentifier() and before != "=" and after in (",", ")", "=", "not")
    }


def _bound(line: list[Token]) -> set[str]:
    """Variables that a line in a body declares or sets."""
    text = [item.string for item in line]
    names: set[str] = set()
    if text[0] == "cdef":
        target_tokens = text[: text.index("=")] if "=" in text else text
        names |= {w for w, after in pairwise([*target_tokens, ","]) if after in (",", "[")}
    if text[0] == "for" and "in" in text:
        names |= set(text[1 : text.index("in")])
    if "as" in text:
        names.add(text[text.index("as") + 1])
    for word, after in pairwise(text):
        if after == "=" and word.isidentifier():
            names.add(word)
        if word == "for":
            names.add(after)
    if text[0] in ("import", "from"):
        names |= set(_definitions(text))
    if text[0] in ("def", "class", "property"):
        names.add(text[1])
    return {name for name in names if name.isidentifier()}


def _keywords(text: list[str]) -> set[str]:
    """Names of keyword arguments."""
    return {
        word
        for before, word, after in zip(text, text[1:], text[2:], strict=False)
        if before in ("(", ",") and after == "=" and word.isidentifier()
    }


def includes(root: str) -> list[str]:
    """The files that the root of the extension includes, in order."""
    return re.findall(r'^include "(.+)"$', root, re.M)


def cimports(root: str) -> list[tuple[str, str]]:
    """(module, name) of what a root uses of other modules of the package."""
    uses = []
    for module, names in re.findall(r"^from amqpcodec\.(\S+) cimport (\([^)]*\)|.+)$", root, re.M):
        uses += [(module, name) for name in re.findall(r"\w+", names)]
    return uses
