"""The names of the columns of each command."""

from __future__ import annotations

__all__ = ["names_of"]


def names_of(command: str, level: str = "frame", protocol: str | None = None) -> list[str]:
    """What --fields, --where and --sort of a command take. level, protocol: of dissect."""
    from ..analysis._questions import NAMES, load

    if command in NAMES:
        from .queries import schema_of_answer

        return list(schema_of_answer(load(command)).names)
    if command == "show":
        from .show.command import SCHEMA

        return list(SCHEMA.names)
    if command == "fields":
        from .fields import SCHEMA as FIELDS

        return list(FIELDS.names)
    from .selection import columns_of

    return list(columns_of(level, "1.0" if protocol == "1.0" else None))
