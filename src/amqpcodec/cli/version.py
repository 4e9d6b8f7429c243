"""The version that ``--version`` prints and that journals of replays keep."""

from __future__ import annotations

from importlib import metadata

__all__ = ["version"]


def version() -> str:
    """The package's."""
    try:
        return metadata.version("amqpcodec")
    except metadata.PackageNotFoundError:
        return "(not installed)"
