"""The check of the built reference: names without an entry, and entries of no public name."""

from __future__ import annotations

from pathlib import Path

import pytest

from amqpcodec._facade.public import MODULES
from scripts import site_check
from tests.paths import REPO


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site as it has to be."""
    for module in MODULES:
        names = site_check.assigned(site_check.source(module), "__all__")
        headings = [f'<h2 class="doc" id="{module}.{name}">{name}</h2>' for name in names]
        folder = tmp_path / "reference" / module
        folder.mkdir(parents=True)
        (folder / "index.html").write_text("\n".join(headings), encoding="utf-8")
    return tmp_path


def test_a_complete_site_passes(site: Path) -> None:
    assert list(site_check.differences(site)) == []


def test_an_entry_that_is_missing_or_too_many(site: Path) -> None:
    page = site / "reference" / "amqpcodec.session" / "index.html"
    text = page.read_text(encoding="utf-8").replace(
        "amqpcodec.session.Channel", "amqpcodec.session.Way"
    )
    page.write_text(text, encoding="utf-8")
    found = list(site_check.differences(site))
    assert "amqpcodec.session.Channel has no entry" in found
    assert "amqpcodec.session.Way is not public" in found


def test_each_public_module_has_a_page() -> None:
    pages = {path.stem for path in (REPO / "docs" / "reference").glob("amqpcodec*.md")}
    assert pages == set(MODULES)
    for name in pages:
        text = (REPO / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
        assert f"::: {name}\n" in text
