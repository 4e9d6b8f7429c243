"""Pages and docstrings for users have no words of our own making, and pages short paragraphs."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator

import pytest

from amqpcodec._facade.public import MODULES
from tests.paths import REPO

NAMES = ["README.md", "SECURITY.md", "CHANGELOG.md", "docs/**/*.md"]
PAGES = {
    str(path.relative_to(REPO)): path for pattern in NAMES for path in sorted(REPO.glob(pattern))
}
#: Words with a plainer one, docs/english of the project; in code and in names they may stand.
WORDS = re.compile(
    r"\b(houses?|rooms?|doors?|faces?|sinks?|pass(?:ed|es)?\s+over|left\s+out|told|tells of"
    r"|are named|chains?)\b",
    re.IGNORECASE,
)
#: Apache Spark's word for what a query writes to.
SINKS = {"docs/spark.md", "docs/spark-questions.md"}
MOST_WORDS = 90


def without_blocks(text: str) -> str:
    """A page without its blocks of code; other lines keep their numbers."""
    return re.sub(
        r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), text, flags=re.M | re.S
    )


def prose(text: str) -> str:
    """A page without its code; other lines keep their numbers."""
    return re.sub(r"`[^`\n]*`", "`code`", without_blocks(text))


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a page, and each item of a list; tables, headings and blocks are none.

    Words between backticks count as any others: a reader reads them.
    """
    lines = []
    for line in without_blocks(text).splitlines():
        if line.lstrip().startswith(("|", "#")):
            lines.append("")
        elif re.match(r"\s*(?:[-*]|\d+\.) ", line):
            lines += ["", line]
        else:
            lines.append(line)
    return [part for part in re.split(r"\n\s*\n", "\n".join(lines)) if part.strip()]


def docstrings(module_name: str) -> Iterator[tuple[str, str]]:
    """The docstrings of a public module, of its names, and of the members of its classes."""
    module = importlib.import_module(module_name)
    yield module_name, module.__doc__ or ""
    for name in module.__all__:
        item = getattr(module, name)
        if callable(item):
            yield name, item.__doc__ or ""
        if inspect.isclass(item):
            for member in dir(item):
                if not member.startswith("_"):
                    yield f"{name}.{member}", getattr(item, member).__doc__ or ""


@pytest.mark.parametrize("module", MODULES)
def test_words_of_docstrings(module: str) -> None:
    try:
        texts = list(docstrings(module))
    except ImportError as error:
        pytest.skip(str(error))
    assert len(texts) > 1
    words = [(name, word) for name, text in texts for word in WORDS.findall(prose(text))]
    assert words == []


@pytest.mark.parametrize("name", sorted(PAGES))
def test_words(name: str) -> None:
    text = prose(PAGES[name].read_text(encoding="utf-8"))
    allowed = {"sink", "sinks"} if name in SINKS else set()
    words = [
        (number, word)
        for number, line in enumerate(text.splitlines(), 1)
        for word in WORDS.findall(line)
        if word.lower() not in allowed
    ]
    assert words == []


#: Pages for developers, too, by their paths.
FOLDERS = ["bench", "changelog.d", "demo", "docs", "examples", "scripts", "spec", "src", "tests"]
ALL_PAGES = sorted(
    str(path.relative_to(REPO))
    for path in (*REPO.glob("*.md"), *(p for f in FOLDERS for p in (REPO / f).rglob("*.md")))
)


@pytest.mark.parametrize("name", ALL_PAGES)
def test_paragraphs_are_short(name: str) -> None:
    text = (REPO / name).read_text(encoding="utf-8")
    assert [
        (len(part.split()), part[:60])
        for part in paragraphs(text)
        if len(part.split()) > MOST_WORDS
    ] == []


def test_words_of_code_in_a_paragraph_count() -> None:
    block = "```\n" + "word " * 100 + "\n```\n"
    [part] = paragraphs(f"{block}\nOne `two three`\n`four`.\n")
    assert len(part.split()) == 4
