"""What a release is built with is pinned: actions by commit, tools by hash, archives by content."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import tarfile
import tomllib
from pathlib import Path

import pytest

from scripts import sdist, setup_requirements
from tests.paths import REPO

WORKFLOWS = sorted((REPO / ".github" / "workflows").glob("*.yml"))
PINNED = REPO / "requirements"


@pytest.mark.skipif(not WORKFLOWS, reason="the source archive has no workflows")
def test_actions_are_pinned_by_commit() -> None:
    used = [
        (path.name, line.strip())
        for path in WORKFLOWS
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"\buses:", line) and "./.github/" not in line
    ]
    assert used
    loose = [
        entry
        for entry in used
        if not re.search(r"uses: [\w./-]+@[0-9a-f]{40} # v[\d.]+$", entry[1])
    ]
    assert loose == []


def pins(name: str) -> dict[str, tuple[str, int]]:
    """Package to version and number of hashes, out of a file of pinned requirements."""
    text = (PINNED / name).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
    matches = [re.match(r"([\w.-]+)==([\w.]+)", line) for line in lines]
    return {
        match[1].lower(): (match[2], line.count("--hash=sha256:"))
        for line, match in zip(lines, matches, strict=True)
        if match
    }


@pytest.mark.parametrize("name", ["build.txt", "release.txt"])
def test_every_requirement_has_a_version_and_hashes(name: str) -> None:
    lines = (PINNED / name).read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    requirement_lines = [line for line in lines if line and not line.lstrip().startswith("#")]
    versions = pins(name)
    assert len(versions) == len(requirement_lines) > 0
    assert all(hashes for _, hashes in versions.values())


def test_pinned_tools_are_those_that_pyproject_asks_for() -> None:
    packaging = pytest.importorskip("packaging.requirements")
    versions = pins("build.txt")
    for text in setup_requirements.requirements([]):
        requirement = packaging.Requirement(text)
        assert requirement.specifier.contains(versions[requirement.name][0]), text


def test_extras_bring_no_tools_of_developers() -> None:
    groups = setup_requirements.read_project()["dependency-groups"]
    extras = setup_requirements.extras()
    assert {"test", "lint", "docs"} <= set(groups)
    assert not set(groups) & set(extras)
    assert not [text for text in setup_requirements.requirements(extras) if "pytest" in text]


def test_a_group_brings_those_that_it_includes() -> None:
    groups = {"a": ["one"], "b": [{"include-group": "a"}, "two"], "c": [{"include-group": "b"}]}
    assert list(setup_requirements.expand("c", groups)) == ["one", "two"]
    small, all_of_it = map(setup_requirements.requirements, (["quick"], ["test"]))
    assert set(small) < set(all_of_it)


def archive(mtime: int, names: tuple[str, ...], uname: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.uname, member.mode = len(name), mtime, uname, 0o600
            tar.addfile(member, io.BytesIO(name.encode()))
    return packed.getvalue()


def test_archives_of_the_same_files_are_the_same_bytes() -> None:
    one = sdist.normalise(archive(1, ("p/a", "p/b"), "me"), 1_700_000_000)
    two = sdist.normalise(archive(2, ("p/b", "p/a"), "you"), 1_700_000_000)
    assert one == two
    with tarfile.open(fileobj=io.BytesIO(one)) as tar:
        members = tar.getmembers()
        assert [(member.name, member.mtime, member.mode) for member in members] == [
            ("p/a", 1_700_000_000, 0o644),
            ("p/b", 1_700_000_000, 0o644),
        ]
        content = tar.extractfile(members[0])
        assert content is not None
        assert content.read() == b"p/a"


def test_archives_of_other_files_differ() -> None:
    one = sdist.normalise(archive(1, ("p/a",), "me"), 1_700_000_000)
    assert one != sdist.normalise(archive(1, ("p/c",), "me"), 1_700_000_000)


def test_time_of_the_files_can_be_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1234")
    assert sdist.source_time(tmp_path) == 1234


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
def test_metadata_links_to_the_repository(tmp_path: Path) -> None:
    clone, copy = tmp_path / "clone", tmp_path / "copy"
    clone.mkdir()
    (clone / "pyproject.toml").write_text('[project]\nname = "p"\n', encoding="utf-8")
    shutil.copy(REPO / "README.md", clone)
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for command in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "Begin"]):
        subprocess.run(["git", *command], cwd=clone, check=True)
    linked = sdist.linked(clone, copy, "https://example.org/us/p/") / "pyproject.toml"
    project = tomllib.loads(linked.read_text(encoding="utf-8"))["project"]
    assert project["name"] == "p"
    assert project["urls"]["Source"] == "https://example.org/us/p"
    assert project["urls"]["Issues"] == "https://example.org/us/p/issues"
    assert (clone / "pyproject.toml").read_text(encoding="utf-8").count("urls") == 0
    # PyPI shows the README, and has no other file of the repository.
    links = re.findall(r"\]\(([^)]*)\)", (copy / "README.md").read_text(encoding="utf-8"))
    assert len(links) > 10
    for link in links:
        assert link.startswith("https://example.org/us/p/blob/main/"), link
        assert (REPO / link.split("/blob/main/")[1]).exists(), link
