"""The names of the columns of each command."""

from __future__ import annotations

import argparse

__all__ = ["names_of"]


def names_of(command: str, options: argparse.Namespace | None = None) -> list[str]:
    """What --fields, --where and --sort of a command take. options: as far as they are known."""
    from .analysis import ANALYZERS, analyzer_class

    if command in ANALYZERS:
        from .analysis.run import schema_of

        return list(schema_of(analyzer_class(command)).names)
    if command == "show":
        from .show.command import SCHEMA

        return list(SCHEMA.names)
    if command == "fields":
        from .fields import SCHEMA as FIELDS

        return list(FIELDS.names)
    from .selection import columns_of

    level = getattr(options, "level", None) or "frame"
    protocol = "1.0" if getattr(options, "protocol", None) == "1.0" else None
    return list(columns_of(level, protocol))
