"""scripts/changelog.py makes a section of fragments; those of the repository are well-formed."""

import pytest

from scripts import changelog
from tests.paths import REPO

PAGE = "# Changelog\n\nWhat changes.\n\n## 0.1.0\n\nThe first release.\n"


@pytest.fixture
def root(tmp_path):
    (tmp_path / "changelog.d").mkdir()
    (tmp_path / "changelog.d" / "README.md").write_text("How to write one.\n")
    (tmp_path / "CHANGELOG.md").write_text(PAGE)
    return tmp_path


def test_fragments_of_the_repository():
    assert changelog.main(["check"]) == 0
    assert (REPO / "changelog.d" / "README.md").exists()


def test_release(root, capsys):
    folder = root / "changelog.d"
    (folder / "limit.fixed.md").write_text("`--limit` says what\nit did not read.\n")
    (folder / "arrow.added.md").write_text("word " * 40)
    assert changelog.main(["draft"], root) == 0
    draft = capsys.readouterr().out
    assert draft.startswith("## Unreleased\n\n### Added\n\n- word word")
    assert "### Fixed\n\n- `--limit` says what it did not read.\n" in draft
    assert max(map(len, draft.splitlines())) <= 120

    assert changelog.main(["release", "0.2.0"], root) == 0
    text = (root / "CHANGELOG.md").read_text()
    assert text.startswith("# Changelog\n\nWhat changes.\n\n## 0.2.0 (")
    assert text.index("### Added") < text.index("### Fixed") < text.index("\n\n## 0.1.0\n")
    assert text.endswith("## 0.1.0\n\nThe first release.\n")
    assert [path.name for path in folder.iterdir()] == ["README.md"]
    assert changelog.main(["release", "0.3.0"], root) == 1
    assert "nothing to release" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["Limit.fixed.md", "limit.md", "limit.mended.md", "limit.fixed.txt"]
)
def test_a_wrong_name_is_refused(root, name, capsys):
    (root / "changelog.d" / name).write_text("text")
    assert changelog.main(["check"], root) == changelog.main(["draft"], root) == 1
    assert f"{name}: a fragment is called NAME.KIND.md" in capsys.readouterr().err


def test_an_empty_fragment_is_refused(root, capsys):
    (root / "changelog.d" / "limit.fixed.md").write_text("\n")
    assert changelog.main(["check"], root) == 1
    assert "the fragment has no text" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["release"], ["check", "0.2.0"]])
def test_a_version_belongs_to_release(root, arguments, capsys):
    with pytest.raises(SystemExit):
        changelog.main(arguments, root)
    assert "release 0.2.0" in capsys.readouterr().err
