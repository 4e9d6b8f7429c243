"""The tests that docs/guide/testing.md shows pass, as files of their own."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from tests.paths import REPO

GUIDE = (REPO / "docs" / "guide" / "testing.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r'```python title="(\w+\.py)"\n(.*?)```', GUIDE, re.S))
NEEDS = {
    "test_with_pika.py": "pika",
    "test_with_aio_pika.py": "aio_pika",
    "test_with_kombu.py": "kombu",
    "test_with_celery.py": "celery",
    "test_every_frame.py": "pika",
}


def test_all_blocks_are_run():
    assert GUIDE.count("```python") == len(FILES) == 6


@pytest.mark.parametrize("name", FILES)
def test_file(name, tmp_path):
    pytest.importorskip(NEEDS.get(name, "pytest"))
    (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    plugins = {one.value for one in entry_points(group="pytest11")}
    options = [] if "amqpcodec._pytest" in plugins else ["-p", "amqpcodec._pytest"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "1 passed" in run.stdout
