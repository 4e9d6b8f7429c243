"""Where the package's Python can be changed: places and changes are cosmic-ray's.

Of the many replacements that cosmic-ray has for an operator, `OPERATORS` takes the nearest one: a
bound that moves by one, a condition that is negated, a branch that is never taken. Those further
off (`a + b` to `a ** b`) fail at the first test and would only raise the figure.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator
from parso.tree import BaseNode, NodeOrLeaf, search_ancestor

from tests.mutation.change import Change, describe_change, line_of
from tests.mutation.sites import Site

#: Below src/amqpcodec: sessions, captures with their states, replay, and what a Spark stream keeps.
SOURCES = (
    "session/**/*.py",
    "capture/**/*.py",
    "cli/replay/*.py",
    "spark/planning/ranges.py",
    "spark/planning/state_files.py",
    "spark/stream/*.py",
)

OPERATORS = tuple(
    f"core/{name}"
    for name in (
        *("ReplaceComparisonOperator_Lt_LtE", "ReplaceComparisonOperator_LtE_Lt"),
        *("ReplaceComparisonOperator_Gt_GtE", "ReplaceComparisonOperator_GtE_Gt"),
        *("ReplaceComparisonOperator_Eq_NotEq", "ReplaceComparisonOperator_NotEq_Eq"),
        *("ReplaceComparisonOperator_Is_IsNot", "ReplaceComparisonOperator_IsNot_Is"),
        *("ReplaceBinaryOperator_Add_Sub", "ReplaceBinaryOperator_Sub_Add"),
        *("ReplaceBinaryOperator_Mul_FloorDiv", "ReplaceBinaryOperator_FloorDiv_Mul"),
        *("ReplaceBinaryOperator_Mod_FloorDiv", "ReplaceBinaryOperator_Div_Mul"),
        *("ReplaceBinaryOperator_LShift_RShift", "ReplaceBinaryOperator_RShift_LShift"),
        *("ReplaceBinaryOperator_BitOr_BitAnd", "ReplaceBinaryOperator_BitAnd_BitOr"),
        *("ReplaceBinaryOperator_BitXor_BitOr", "ReplaceUnaryOperator_USub_UAdd"),
        *("ReplaceUnaryOperator_Delete_Not", "AddNot", "ReplaceAndWithOr", "ReplaceOrWithAnd"),
        *("ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "NumberReplacer"),
        *("ReplaceBreakWithContinue", "ReplaceContinueWithBreak"),
        *("ExceptionReplacer", "ZeroIterationForLoop"),
    )
)

#: The nodes that these operators look at, and the signs that are none of theirs.
KINDS = {
    *("operator", "keyword", "number", "comparison", "factor", "not_test", "test"),
    *("if_stmt", "while_stmt", "for_stmt", "assert_stmt", "except_clause"),
}
PUNCTUATION = set("()[]{},:.=@;")
COMPOUND = {"if_stmt", "while_stmt", "for_stmt", "with_stmt", "try_stmt", "funcdef", "classdef"}


def sources(package: Path) -> list[Path]:
    """The files of SOURCES."""
    return sorted({path for pattern in SOURCES for path in package.glob(pattern)})


def candidates(path: str, text: str) -> Iterator[Site]:
    """Every change of a file. Its template names operator and occurrence, for `mutant`."""
    tree = get_ast(text)
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    nodes = [node for node in ast_nodes(tree) if node.type in KINDS]
    nodes = [node for node in nodes if getattr(node, "value", "") not in PUNCTUATION]
    for name in OPERATORS:
        operator = get_operator(name)()
        occurrence = 0
        for node in nodes:
            for start, end in operator.mutation_positions(node):
                at = f"{name}:{occurrence}"
                occurrence += 1
                if not is_outside(node):
                    begin, to = (starts[row - 1] + column for row, column in (start, end))
                    line = " ".join(text[slice(*line_of(text, begin))].split())
                    change = Change(start[0], definition(node), f"{line} -> {name}", begin, to, at)
                    yield Site(path, change)


def mutant(text: str, site: Site) -> str:
    """The file with the change.

    Raises:
        SyntaxError: the change is none that Python allows.
    """
    name, _, occurrence = site.change.template.rpartition(":")
    changed: str = mutate_code(text, get_operator(name)(), int(occurrence))
    compile(changed, site.path, "exec")
    return changed


def with_line(text: str, changed: str, site: Site) -> Site:
    """The site with its line as it is and as it becomes."""
    old, new = text.splitlines(keepends=True), changed.splitlines(keepends=True)
    row = next(i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
    before = sum(map(len, old[:row]))
    same = _same_at_end(old[row:], new[row:])
    tail = sum(map(len, old[len(old) - same :])) if same else 0
    end = len(text) - tail
    line = describe_change(text, before, end - 1, changed[before : len(changed) - tail - 1])
    line = line.replace("( ", "(").replace("[ ", "[")  # cosmic-ray sets a space before a number
    change = Change(
        site.change.line, site.change.function, line, site.change.begin, site.change.end, ""
    )
    return Site(site.path, change)


def _same_at_end(old: list[str], new: list[str]) -> int:
    """How many of the last lines are the same."""
    count = 0
    while count < min(len(old), len(new)) and old[-1 - count] == new[-1 - count]:
        count += 1
    return count


def definition(node: NodeOrLeaf) -> str:
    """The function or class that a node is in, dotted; an empty text at the module's level."""
    names: list[str] = []
    parent = search_ancestor(node, "funcdef", "classdef")
    while parent is not None:
        names.insert(0, parent.name.value)
        parent = search_ancestor(parent, "funcdef", "classdef")
    return ".".join(names)


def is_outside(node: NodeOrLeaf) -> bool:
    """Whether a change of a node is none of behaviour.

    Annotations are not evaluated (`from __future__ import annotations`); a type checker judges them
    and aliases of types, and overloads, which nothing calls. A formatted text is a message or the
    like, whose words no test should repeat. `assert` tells type checkers what holds. Code below
    `if TYPE_CHECKING` does not run. Slots save memory.
    """
    line = [node]
    while line[-1].parent is not None:
        line.append(line[-1].parent)
    for child, parent in zip([None, *line], line, strict=False):
        kind = parent.type
        if kind in ("fstring", "assert_stmt"):
            return True
        if kind == "if_stmt" and parent.children[1].get_code().strip() == "TYPE_CHECKING":
            return True
        if kind == "decorated" and "@overload" in parent.children[0].get_code().split():
            return True
        if kind == "argument" and parent.children[0].get_code().strip() == "slots":
            return True
        if kind == "annassign" and parent.children[1].get_code().strip() == "TypeAlias":
            return True
        if kind in SIGNATURE and child is not None and _follows(child, SIGNATURE[kind]):
            return True
    return node.type == "operator" and node.parent.type in ("parameters", "param")


#: Where an annotation stands: after which sign, of which kind of node.
SIGNATURE = {"annassign": ":", "tfpdef": ":", "funcdef": "->"}


def _follows(node: NodeOrLeaf, sign: str) -> bool:
    before = node.get_previous_sibling()
    return before is not None and getattr(before, "value", "") == sign


def statement_lines(tree: Any, line: int, column: int) -> range:
    """The lines of which one runs where a change at a place can be seen.

    Those of the statement; of a compound one, those of its head up to the place. What runs when
    the module is imported, as a default or a constant, is seen by whatever runs later of its
    function, class or module.
    """
    node = tree.get_leaf_for_position((line, column + 1), include_prefixes=True)
    scope, child = node.parent, node
    while scope.parent is not None and scope.type not in ("funcdef", "classdef"):
        scope, child = scope.parent, scope
    if scope.type != "funcdef" or child.type != "suite":
        return range(scope.start_pos[0], scope.end_pos[0] + 1)
    while node.parent is not None and node.parent.type not in ("suite", "file_input", *COMPOUND):
        node = node.parent
    if node.parent is None or node.parent.type not in COMPOUND:
        if node.type == "simple_stmt":  # without its newline
            node = node.children[0]
        return range(node.start_pos[0], node.end_pos[0] + 1)
    heads = [
        child.start_pos[0]
        for child in node.parent.children
        if not isinstance(child, BaseNode) and child.start_pos <= (line, column)
    ]
    return range(heads[-1] if heads else line, line + 1)
