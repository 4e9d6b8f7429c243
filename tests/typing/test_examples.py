"""The examples and the guide's job on Spark, as programs of users: both type checkers pass them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.paths import REPO
from tests.typing import checkers

EXAMPLES = ["client.py", "broker.py", "proxy.py", "trio_or_threads.py"]
USERS = ["spark_job.py", "aio_worker.py"]
PROGRAMS = [
    *[REPO / "examples" / name for name in EXAMPLES],
    *[checkers.PROGRAMS / name for name in USERS],
]


def errors_of(found: dict[int, str]) -> list[str]:
    """Without those that say of another library (pyarrow, trio) that it has no types."""
    return [
        f"{line}: {text}"
        for line, text in found.items()
        if not text.endswith("[import-untyped]") and not text.endswith("[import-not-found]")
    ]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_mypy_strict(program: Path, tmp_path: Path, mypy_cache: Path) -> None:
    checkers.needs("mypy")
    if program.stem == "spark_job":
        pytest.importorskip("pyspark")
    assert errors_of(checkers.mypy(program, tmp_path, mypy_cache)) == []


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_pyright(program: Path, tmp_path: Path) -> None:
    checkers.needs("pyright")
    if program.stem == "spark_job":
        pytest.importorskip("pyspark")
    assert checkers.pyright(program, tmp_path, "standard") == {}
