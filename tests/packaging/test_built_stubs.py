"""The build writes the stubs of 0-8 and 0-9: into the sources, into wheels, and not into sdists."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from scripts.dist_check import BUILT_STUBS
from tests.paths import REPO

STUBS = sorted(name.partition("/")[2] for name in BUILT_STUBS)
#: What a build of the package without its extension modules reads.
FILES = ("setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources as a clone has them: nothing is built."""
    junk = shutil.ignore_patterns(*STUBS, "__pycache__", "*.so", "*.pyd", "*.c", "*.egg-info")
    for folder in ("spec", "src"):
        shutil.copytree(REPO / folder, tmp_path / folder, ignore=junk)
    for name in FILES:
        shutil.copy(REPO / name, tmp_path / name)
    return tmp_path


def setup(folder: Path, *arguments: str) -> None:
    """Run setup.py for all but the extension modules."""
    process = subprocess.run(
        [sys.executable, "setup.py", "--quiet", *arguments],
        cwd=folder,
        env={**os.environ, "AMQPCODEC_METADATA_ONLY": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr


def test_no_stub_of_the_build_is_committed() -> None:
    if not (REPO / ".git").exists() or not shutil.which("git"):
        pytest.skip("no git checkout")
    names = [f"src/amqpcodec/{name}" for name in STUBS]
    for command, listed in ((["ls-files"], []), (["check-ignore"], names)):
        words = ["git", *command, *names]
        process = subprocess.run(words, cwd=REPO, capture_output=True, text=True, check=True)
        assert process.stdout.splitlines() == listed, command


def test_every_protocol_module_has_a_stub() -> None:
    package = REPO / "src" / "amqpcodec"
    modules = {path.stem for path in package.glob("v[0-9]_*.py") if "TABLE" in path.read_text()}
    assert {path.stem for path in package.glob("v[0-9]_*.pyi")} == modules


@pytest.mark.parametrize("name", STUBS)
def test_stubs_beside_the_sources_are_those_of_the_tables(copy: Path, name: str) -> None:
    """Without lxml and compiled modules, which a build does not have."""
    subprocess.run([sys.executable, "-S", "spec/stubs.py"], cwd=copy, check=True)
    written = copy / "src" / "amqpcodec" / name
    assert written.read_bytes() == (REPO / "src" / "amqpcodec" / name).read_bytes()


def test_an_edited_stub_is_written_anew_and_no_other_file(copy: Path) -> None:
    stub = copy / "src" / "amqpcodec" / STUBS[0]
    stub.write_text("# by hand\n")
    setup(copy, "egg_info")
    before = {path: path.stat().st_mtime_ns for path in stub.parent.glob("*.pyi")}
    assert stub.stat().st_size > 100_000
    setup(copy, "egg_info")
    assert {path: path.stat().st_mtime_ns for path in stub.parent.glob("*.pyi")} == before


def test_a_wheel_holds_the_stubs(copy: Path) -> None:
    setup(copy, "build_py", "--build-lib", "lib")
    for name in STUBS:
        built = (copy / "lib" / "amqpcodec" / name).read_bytes()
        assert built == (REPO / "src" / "amqpcodec" / name).read_bytes()


def test_an_sdist_holds_what_writes_them_instead(copy: Path) -> None:
    setup(copy, "sdist", "--dist-dir", "dist")
    (archive,) = (copy / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as members:
        names = {name.partition("/")[2] for name in members.getnames()}
    assert {"spec/stubs.py", "spec/emitters/stubs.py", "src/amqpcodec/_gen/v0_8.py"} <= names
    assert not names & {f"src/amqpcodec/{name}" for name in STUBS}
