"""The Python of the guides to Spark runs, block after block."""

from __future__ import annotations

import re
import shutil

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from tests.paths import REPO
from tests.spark.frames import RECORDING

PAGES = ["spark.md", "spark-questions.md"]


@pytest.mark.parametrize("name", PAGES)
def test_blocks(name, spark, tmp_path):
    import gzip

    folder = tmp_path / "captures"
    folder.mkdir()
    shutil.copy(RECORDING, folder)
    (folder / "plain.pcap").write_bytes(gzip.decompress(RECORDING.read_bytes()))
    page = (REPO / "docs" / name).read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == page.count("```python") > 6
    names = {"spark": spark}
    for block in blocks:
        exec(compile(block.replace("captures/", f"{folder}/"), f"docs/{name}", "exec"), names)
