"""dist_check sees what is missing in an archive and what should not be there."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest

from scripts import dist_check
from tests.paths import REPO

WANTED = {
    "LICENSE",
    "setup.py",
    "src/amqpcodec/__init__.py",
    "src/amqpcodec/_codec.pyx",
    "src/amqpcodec/_codec.pyi",
    "src/amqpcodec/_core/wire.h",
    "src/amqpcodec/_core/wire.pxi",
    "src/amqpcodec/spark/README.md",
    "src/amqpcodec/py.typed",
    "tests/test_one.py",
}
SDIST = {*WANTED, "PKG-INFO", "setup.cfg", "src/amqpcodec.egg-info/SOURCES.txt"}
INFO = "amqpcodec-1.0.dist-info"
WHEEL = {
    "amqpcodec/__init__.py",
    "amqpcodec/_codec.cpython-313-x86_64-linux-gnu.so",
    "amqpcodec/_codec.pyi",
    "amqpcodec/py.typed",
    "amqpcodec/v0_8.pyi",  # which the build writes
    "amqpcodec/v0_9.pyi",
    *(f"{INFO}/{name}" for name in ("METADATA", "RECORD", "entry_points.txt", "licenses/LICENSE")),
}


def test_whole_archives_have_no_faults() -> None:
    assert list(dist_check.sdist_faults(SDIST, WANTED)) == []
    assert list(dist_check.wheel_faults(WHEEL, WANTED)) == []


@pytest.mark.parametrize("name", sorted(WANTED))
def test_file_missing_in_sdist(name: str) -> None:
    assert list(dist_check.sdist_faults(SDIST - {name}, WANTED)) == [f"{name} is missing"]


@pytest.mark.parametrize(
    "name",
    ["amqpcodec/__init__.py", "amqpcodec/_codec.pyi", "amqpcodec/v0_8.pyi", "amqpcodec/py.typed"],
)
def test_file_missing_in_wheel(name: str) -> None:
    assert list(dist_check.wheel_faults(WHEEL - {name}, WANTED)) == [f"{name} is missing"]


@pytest.mark.parametrize("name", ["METADATA", "entry_points.txt", "licenses/LICENSE"])
def test_metadata_missing_in_wheel(name: str) -> None:
    faults = list(dist_check.wheel_faults(WHEEL - {f"{INFO}/{name}"}, WANTED))
    assert faults == [f"{name.rpartition('/')[2]} is missing"]


@pytest.mark.parametrize(
    "name", ["src/amqpcodec/_codec.c", ".github/workflows/tests.yml", "build/x.o"]
)
def test_stray_file_in_sdist(name: str) -> None:
    assert list(dist_check.sdist_faults({*SDIST, name}, WANTED)) == [
        f"{name} does not belong there"
    ]


@pytest.mark.parametrize(
    "name", ["amqpcodec/_codec.pyx", "amqpcodec/_core/wire.h", "tests/test_one.py", "amqpcodec/x.c"]
)
def test_stray_file_in_wheel(name: str) -> None:
    assert list(dist_check.wheel_faults({*WHEEL, name}, WANTED)) == [
        f"{name} does not belong there"
    ]


def test_wheel_without_its_core() -> None:
    names = {name for name in WHEEL if not name.endswith(".so")}
    assert list(dist_check.wheel_faults(names, WANTED)) == [
        "one compiled amqpcodec/_codec is expected, not []"
    ]


def test_version_is_written_once() -> None:
    """In the package; a second place could disagree."""
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "amqpcodec.__version__"}


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
@pytest.mark.parametrize(("level", "count"), [("-g", 1), ("-g0", 0)])
def test_debug_symbols_in_a_wheel(tmp_path: Path, level: str, count: int) -> None:
    source, module = tmp_path / "one.c", tmp_path / "one.so"
    source.write_text("int one(void) { return 1; }\n", encoding="utf-8")
    subprocess.run(["gcc", "-g", level, "-shared", "-fPIC", "-o", module, source], check=True)
    wheel = tmp_path / "amqpcodec-1.0-cp313-cp313-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(module, "amqpcodec/_codec.so")
    faults = ["amqpcodec/_codec.so holds debug symbols"][:count]
    assert list(dist_check.debug_faults(wheel)) == faults
