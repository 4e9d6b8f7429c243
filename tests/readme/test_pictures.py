"""The pictures of docs/ are what the scripts draw, and stand on a page."""

import subprocess
import sys
from xml.etree import ElementTree

import pytest

from tests.paths import REPO

PICTURES = sorted((REPO / "docs" / "pictures").glob("*.svg"))


@pytest.mark.parametrize("script", ["pictures", "import_graph"])
def test_pictures_are_fresh(script: str) -> None:
    command = [sys.executable, "-m", f"scripts.{script}", "--check"]
    drawn = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False)
    assert (drawn.returncode, drawn.stderr) == (0, "")


def test_pictures_are_shown_and_load_nothing():
    pages = "".join(path.read_text(encoding="utf-8") for path in (REPO / "docs").glob("*.md"))
    assert len(PICTURES) == 6
    for path in PICTURES:
        assert f"](pictures/{path.name})" in pages
        text = path.read_text(encoding="utf-8")
        assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
        assert text.count("http") == 1  # the namespace
