"""No use of an instance that no constructor has run for ends the process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import amqpcodec

PROGRAM = Path(__file__).with_name("bare_instances.py")
PACKAGE = Path(amqpcodec.__file__).resolve().parent

#: The compiled modules, and what makes classes at run time.
MODULES = {
    "0-x": ["_codec", "v0_8", "v0_9_1"],
    "1.0": ["_v1", "v1_0"],
    "columns": ["_columns", "_encode", "_capture"],
    "drop-ins": ["_dropins", "_dropins_v1"],
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each class is used in a fork")
@pytest.mark.parametrize("group", MODULES)
def test_no_class_ends_the_process(group: str) -> None:
    names = [f"amqpcodec.{name}" for name in MODULES[group]]
    path = os.pathsep.join(filter(None, [str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]))
    process = subprocess.run(
        [sys.executable, str(PROGRAM), *names],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    report = json.loads(process.stdout)
    assert report["classes"]
    assert report["ended"] == {}
    if group == "drop-ins":
        # What a client's codec rests on is there from the start: its fast path does not ask for it.
        codecs = {"AmqpCodec", "AzureCodec", "DropIn", "FrameHandler", "FrameWriter", "PikaCodec"}
        assert codecs <= set(report["refused"])


def test_every_compiled_module_is_looked_at() -> None:
    compiled = {path.name.partition(".")[0] for path in PACKAGE.glob("_*.pyx")}
    assert compiled <= {name for names in MODULES.values() for name in names}
