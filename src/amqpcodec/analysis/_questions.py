"""The questions: files of SQL beside this one, each with the columns it needs in its first line."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["NAMES", "Question", "load", "query"]

_FOLDER = Path(__file__).parent / "questions"

#: The questions, in the order in which the guide has them.
NAMES = (
    *("diagnose", "connections", "queues", "unacked", "latency"),
    *("errors", "incidents", "messages", "top", "topology"),
)


class Question(NamedTuple):
    """A question: SQL over the view ``events``.

    name: of its function and file. columns: of events, which alone are read. query: the whole text
    of the file.
    """

    name: str
    columns: tuple[str, ...]
    query: str


@cache
def load(name: str) -> Question:
    """The question of this name.

    Raises:
        ValueError: there is none.
    """
    if name not in NAMES:
        raise ValueError(f"{name!r} is no question: choose one of {', '.join(NAMES)}")
    text = (_FOLDER / f"{name}.sql").read_text(encoding="utf-8")
    first, _, _ = text.partition("\n")
    return Question(name, tuple(first.removeprefix("-- columns: ").split(", ")), text)


def query(name: str) -> str:
    """The SQL of a question, as it stands in its file.

    Raises:
        ValueError: there is no question of this name.
    """
    return load(name).query
