"""What an import costs: seen from an interpreter that has loaded nothing yet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import amqpcodec

#: Large, and never needed to encode or decode.
HEAVY = {
    *("numpy", "pyarrow", "pyspark", "pandas", "lxml", "rich"),
    *("inspect", "dataclasses", "asyncio", "ssl", "json", "xml", "logging", "unittest", "http"),
    *("pamqp", "pika", "amqp", "azure"),
}


def loaded(code: str) -> set[str]:
    """Names of the modules that are there after the code, and were not before."""
    wrapped = (
        "import sys\n"
        "before = set(sys.modules)\n"
        f"{code}\n"
        "names = sorted(set(sys.modules) - before)\n"
        "import json\n"
        "print(json.dumps(names))\n"
    )
    source = str(Path(amqpcodec.__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": path}
    environment.pop("COVERAGE_PROCESS_CONFIG", None)  # a tracer would have loaded much before
    process = subprocess.run(
        [sys.executable, "-c", wrapped],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return set(json.loads(process.stdout))


@pytest.mark.parametrize(
    "code",
    [
        "import amqpcodec",
        "from amqpcodec import v0_9_1",
        "import amqpcodec; amqpcodec.protocol('0-9-1')",
        "from amqpcodec import v0_9_1 as a; a.decode(a.encode(1, a.Basic.Publish('x')))",
        "from amqpcodec import types, errors",
    ],
)
def test_import_loads_nothing_heavy(code: str) -> None:
    modules = loaded(code)
    assert "amqpcodec" in modules
    assert modules & HEAVY == set()
    assert {
        "amqpcodec.spark",
        "amqpcodec.compat",
        "amqpcodec.cli",
        "amqpcodec.spec",
    } & modules == set()
    assert {"amqpcodec.batch", "amqpcodec.capture", "amqpcodec.session"} & modules == set()


def test_package_alone_loads_no_core() -> None:
    """For those who want the errors, or to choose a protocol."""
    modules = loaded("import amqpcodec")
    assert {name for name in modules if name.startswith("amqpcodec")} == {
        "amqpcodec",
        "amqpcodec._facade",
        "amqpcodec._facade.objects",
        "amqpcodec._facade.public",
        "amqpcodec._facade.versions",
        "amqpcodec.errors",
        "amqpcodec.negotiation",
    }


@pytest.mark.parametrize(
    ("code", "modules"),
    [
        ("from amqpcodec import v0_9_1", {"_codec"}),
        ("from amqpcodec import v1_0", {"_codec", "_v1"}),
        ("from amqpcodec import batch", {"_codec", "_v1", "_columns", "_encode"}),
        ("from amqpcodec import capture", {"_codec", "_v1", "_columns", "_encode", "_capture"}),
    ],
)
def test_a_compiled_module_is_loaded_when_it_is_used(code: str, modules: set[str]) -> None:
    rooms = {"_codec", "_v1", "_columns", "_encode", "_capture", "_dropins", "_dropins_v1"}
    assert {name.removeprefix("amqpcodec.") for name in loaded(code)} & rooms == modules


def test_importing_the_spec_package_needs_no_lxml() -> None:
    modules = loaded("import amqpcodec.spec")
    assert "amqpcodec.spec.model" in modules
    assert "lxml" not in modules
    assert "amqpcodec._codec" not in modules


@pytest.mark.parametrize("module", ["batch", "capture"])
def test_columns_and_captures_load_no_arrow(module: str) -> None:
    pytest.importorskip(f"amqpcodec.{module}")
    modules = loaded(f"import amqpcodec.{module}")
    assert f"amqpcodec.{module}" in modules
    assert modules & {"numpy", "pyarrow", "pyspark", "pandas", "lxml"} == set()


def test_a_heavy_module_would_be_seen() -> None:
    assert {"inspect", "xml"} <= loaded("import amqpcodec, inspect, xml.sax") & HEAVY
