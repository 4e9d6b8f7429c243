"""Mutants of Python in a process that has the modules already: functions get the mutant's code.

Modules that a test, or a process that it starts, imports later have it by the file, which is
rewritten in the copy of the package that the tests run on.
"""

from __future__ import annotations

import gc
import inspect
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import coverage

CodeKey = tuple[str, int]
#: Values that are the same in every process.
PLAIN = (bool, int, float, str, bytes, type(None), tuple)


class PythonCode:
    """The package below `folder`: which mutant it runs, which sites were reached.

    plan: "package", the folder of the package; "mutants", of each number the file with its text;
    "sites", of each number its path below the package, first and last line.
    """

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self.package = Path(plan["package"])
        self.texts = {int(number): Path(path) for number, path in plan["mutants"].items()}
        self.paths: dict[int, Path] = {}
        self.lines: dict[Path, dict[int, set[int]]] = defaultdict(dict)
        for number, (name, first, last) in plan["sites"].items():
            path = self.package / name
            self.paths[int(number)] = path
            self.lines[path][int(number)] = set(range(first, last + 1))
        self.originals = {path: path.read_bytes() for path in self.lines}
        self.changed: Path | None = None
        self.functions: dict[Path, dict[CodeKey, list[FunctionType]]] = {}
        self.coverage: coverage.Coverage | None = None
        self.contexts = 0
        self.record()

    # ---- what is reached ----

    def record(self) -> None:
        """Count lines from here on, in this process."""
        self.coverage = coverage.Coverage(
            data_file=None,
            config_file=False,
            include=[str(path) for path in self.lines],
            messages=False,
        )
        self.coverage.set_option("run:core", "ctrace")  # the one that tells tests apart
        self.coverage.set_option("run:disable_warnings", ["no-data-collected"])
        self.coverage.start()
        self.coverage.switch_context(str(self.contexts))

    def pause(self) -> None:
        """Count no more; and find the functions, which a frozen collector does not list."""
        self.loaded()
        if self.coverage is not None:
            self.coverage.stop()
            self.coverage = None

    def take_seen(self) -> list[int]:
        """The sites reached since the last call."""
        if self.coverage is None:
            return []
        data = self.coverage.get_data()
        data.set_query_context(str(self.contexts))
        reached: set[int] = set()
        for path, sites in self.lines.items():
            lines = set(data.lines(str(path)) or ())
            reached.update(number for number, of_site in sites.items() if of_site & lines)
        self.contexts += 1
        self.coverage.switch_context(str(self.contexts))
        return sorted(reached)

    # ---- what runs ----

    def place(self, number: int) -> None:
        """Write the mutant's file, before the fork that runs it; -1: the file as it was."""
        if self.changed is not None:
            self.changed.write_bytes(self.originals[self.changed])
        self.changed = self.paths.get(number)
        if self.changed is not None:
            self.changed.write_bytes(self.texts[number].read_bytes())

    def select(self, number: int) -> None:
        """Give the functions of this process the code of the mutant that was placed."""
        if number < 0:
            return
        path = self.paths[number]
        for key, code in self.changes(number):
            for function in self.loaded()[path].get(key, ()):
                function.__code__ = code
        if self.is_of_import(number):
            for module in list(sys.modules.values()):
                if getattr(module, "__file__", None) == str(path):
                    values = {**vars(module)}
                    exec(compile(self.texts[number].read_bytes(), str(path), "exec"), values)
                    give_values(values, vars(module), module.__name__)

    def is_of_import(self, number: int) -> bool:
        """Whether the change, or a part of it, is in what runs when the module is imported."""
        path = self.paths[number]
        before, after = self.compiled(self.originals[path], path), self.mutated(number)
        if sorted(before) != sorted(after):
            return True
        return any(
            len(before[key]) > 1
            or old.co_freevars != new.co_freevars
            or not old.co_flags & inspect.CO_OPTIMIZED  # of a module or a class
            for key in before
            for old, new in zip(before[key], after[key], strict=True)
            if _own(old) != _own(new)
        )

    def changes(self, number: int) -> Iterator[tuple[CodeKey, CodeType]]:
        """The code of the functions that are other ones in a mutant."""
        path = self.paths[number]
        before, after = self.compiled(self.originals[path], path), self.mutated(number)
        for key, codes in before.items():
            others = after.get(key, ())
            if not len(codes) == len(others) == 1 or codes[0] == others[0]:
                continue
            if codes[0].co_freevars == others[0].co_freevars:
                yield key, others[0]

    def mutated(self, number: int) -> dict[CodeKey, list[CodeType]]:
        """The code of a mutant's file."""
        return self.compiled(self.texts[number].read_bytes(), self.paths[number])

    def compiled(self, text: bytes, path: Path) -> dict[CodeKey, list[CodeType]]:
        """The code of a module's file, and of each function in it."""
        codes: dict[CodeKey, list[CodeType]] = defaultdict(list)
        pending = [compile(text, str(path), "exec", dont_inherit=True)]
        while pending:
            code = pending.pop()
            codes[_key(code)].append(code)
            pending += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        return dict(codes)

    def loaded(self) -> dict[Path, dict[CodeKey, list[FunctionType]]]:
        """The functions of this process, by file; looked for once, before it forks."""
        if not self.functions:
            self.functions = {path: defaultdict(list) for path in self.lines}
            for value in gc.get_objects():
                if type(value) is FunctionType:
                    by_key = self.functions.get(Path(value.__code__.co_filename))
                    if by_key is not None:
                        by_key[_key(value.__code__)].append(value)
        return self.functions


def give_values(values: Mapping[str, Any], scope: Any, module: str) -> None:
    """Give a module or class in use another one's constants, and its functions the defaults."""
    mine = scope if isinstance(scope, dict) else vars(scope)
    for name, value in values.items():
        old = mine.get(name) if not name.startswith("__") else None
        if isinstance(value, FunctionType) and isinstance(old, FunctionType):
            old.__defaults__ = _plain(value.__defaults__, old.__defaults__)
            options = value.__kwdefaults__ or {}
            old.__kwdefaults__ = {
                key: value if isinstance(value, PLAIN) else (old.__kwdefaults__ or {}).get(key)
                for key, value in options.items()
            }
        elif isinstance(value, type) and isinstance(old, type) and value.__module__ == module:
            give_values(vars(value), old, module)
        elif isinstance(value, PLAIN) and type(value) is type(old) and value != old:
            if isinstance(scope, dict):
                scope[name] = value
            else:
                setattr(scope, name, value)


def _plain(values: tuple[Any, ...] | None, old: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    if values is None or old is None:
        return old
    pairs = zip(values, old, strict=True)
    return tuple(value if isinstance(value, PLAIN) else before for value, before in pairs)


def _key(code: CodeType) -> CodeKey:
    return code.co_qualname, code.co_firstlineno


def _own(code: CodeType) -> tuple[Any, ...]:
    """A code without that of the functions in it."""
    constants = [constant for constant in code.co_consts if not isinstance(constant, CodeType)]
    kinds = [(type(constant), constant) for constant in constants]
    return code.co_code, repr(kinds), code.co_names, code.co_varnames, code.co_exceptiontable
