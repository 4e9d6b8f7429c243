"""Print what pip is to install for the build, for extras or for groups, out of pyproject.toml.

    python scripts/setup_requirements.py [NAME... | --users]

NAME is an extra or a dependency group. With no name: what the build needs. With --users: what all
extras need. The project itself is not named, so that pip does not compile it once more for every
extra. pip reads dependency groups by itself from version 25.1 on; this works with any.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def read_project() -> dict[str, Any]:
    """The contents of pyproject.toml."""
    return tomllib.loads(PROJECT.read_text(encoding="utf-8"))


def extras() -> list[str]:
    """The extras that users install."""
    return list(read_project()["project"]["optional-dependencies"])


def expand(group: str, groups: dict[str, list[Any]]) -> Iterator[str]:
    """The requirements of a dependency group and of those that it includes."""
    for entry in groups[group]:
        if isinstance(entry, str):
            yield entry
        else:
            yield from expand(entry["include-group"], groups)


def requirements(names: list[str]) -> list[str]:
    """The requirements of extras or groups in pip's words, each once; no name: the build's."""
    project = read_project()
    if not names:
        return list(project["build-system"]["requires"])
    groups = project["dependency-groups"] | project["project"]["optional-dependencies"]
    return sorted({requirement for name in names for requirement in expand(name, groups)})


if __name__ == "__main__":
    names = sys.argv[1:]
    print("\n".join(requirements(extras() if names == ["--users"] else names)))
