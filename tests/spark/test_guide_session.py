"""The Python of docs/spark.md runs, block after block."""

from __future__ import annotations

import re
import shutil

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from tests.paths import REPO
from tests.spark.frames import RECORDING

PAGE = (REPO / "docs" / "spark.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_blocks(spark, tmp_path):
    import gzip

    folder = tmp_path / "captures"
    folder.mkdir()
    shutil.copy(RECORDING, folder)
    (folder / "plain.pcap").write_bytes(gzip.decompress(RECORDING.read_bytes()))
    assert len(BLOCKS) == PAGE.count("```python") > 8
    names = {"spark": spark}
    for block in BLOCKS:
        exec(compile(block.replace("captures/", f"{folder}/"), "docs/spark.md", "exec"), names)
