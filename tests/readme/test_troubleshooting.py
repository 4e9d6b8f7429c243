"""docs/troubleshooting.md: the messages that it quotes are in the sources."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.paths import REPO

TROUBLESHOOTING = (REPO / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
MESSAGES = re.findall(r"^\| `([^`]+)` \|", TROUBLESHOOTING, re.M)


@cache
def sources() -> str:
    """The package's sources, literals that follow each other joined, `…` for what is put in."""
    package = REPO / "src" / "amqpcodec"
    text = "\n".join(
        path.read_text(encoding="utf-8")
        for pattern in ("**/*.py", "*.pyx", "_core/**/*.pxi")
        for path in sorted(package.glob(pattern))
        if "_gen" not in path.parts
    )
    text = re.sub(r"""["']\s*\n\s*[fb]?["']""", "", text)
    return re.sub(r"\{[^{}\n]*\}|%[sdr]", "…", text)


@pytest.mark.parametrize("message", MESSAGES)
def test_message_is_in_the_sources(message: str) -> None:
    pieces = [piece for piece in re.split(r"\s*…[;:,]?\s*", message) if piece]
    assert pieces
    for piece in pieces:
        assert piece in sources(), piece


def test_messages_are_found() -> None:
    rows = re.findall(r"^\| (?!message|-)", TROUBLESHOOTING, re.M)
    assert len(rows) == len(MESSAGES) > 30
