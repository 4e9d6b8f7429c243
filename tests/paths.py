"""Where things are: the repository, and the material beside it that may be absent."""

from __future__ import annotations

from pathlib import Path

REPO = Path(__file__).resolve().parent.parent


def shared_dir() -> Path | None:
    """The folder ``shared`` beside the repository, or None where there is none."""
    shared = REPO.parent / "shared"
    return shared if shared.is_dir() else None
