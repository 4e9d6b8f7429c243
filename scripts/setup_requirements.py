"""Print what pip is to install for the build and for some extras, out of pyproject.toml.

    python scripts/setup_requirements.py [EXTRA... | --users]

With no extra: what the build needs. With --users: all extras that users install. The project itself
is not named, so that pip does not compile it once more for every extra.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
#: Extras for those who work on the project, not for its users.
OF_DEVELOPERS = ("test", "clients", "bench", "docs", "fuzz", "lint")


def extras() -> list[str]:
    """The extras that users install."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    return [
        name for name in project["project"]["optional-dependencies"] if name not in OF_DEVELOPERS
    ]


def requirements(extras: list[str]) -> list[str]:
    """The requirements in pip's words, each once."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    if not extras:
        return list(project["build-system"]["requires"])
    optional = project["project"]["optional-dependencies"]
    return sorted({requirement for extra in extras for requirement in optional[extra]})


if __name__ == "__main__":
    names = sys.argv[1:]
    print("\n".join(requirements(extras() if names == ["--users"] else names)))
