"""An extension of griffe, which reads the sources for the reference: functions of overloads alone.

A stub has no implementation beside its overloads, and griffe gives such a function no entry.
"""

from __future__ import annotations

from typing import Any

import griffe


class StubOverloads(griffe.Extension):
    """Makes a function out of the overloads of a stub, with the docstring of the first of them."""

    def on_module_members(self, *, mod: griffe.Module, **_rest: Any) -> None:
        """Look at each module once its members are known."""
        for name, overloads in mod.overloads.items():
            if name in mod.members or not overloads:
                continue
            last = overloads[-1]
            function = griffe.Function(
                name,
                lineno=overloads[0].lineno,
                endlineno=last.endlineno,
                parameters=last.parameters,
                returns=last.returns,
                docstring=overloads[0].docstring,
            )
            function.overloads = overloads
            mod.set_member(name, function)
