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
    told = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    return [name for name in told["project"]["optional-dependencies"] if name not in OF_DEVELOPERS]


def requirements(extras: list[str]) -> list[str]:
    """The requirements in pip's words, each once."""
    told = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    if not extras:
        return list(told["build-system"]["requires"])
    optional = told["project"]["optional-dependencies"]
    return sorted({wanted for extra in extras for wanted in optional[extra]})


if __name__ == "__main__":
    named = sys.argv[1:]
    print("\n".join(requirements(extras() if named == ["--users"] else named)))
