"""The import arrows hold, in Python and in what Cython code imports of Python."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from scripts import import_graph
from tests.layers import arrows
from tests.paths import REPO

SOURCE = REPO / "src" / "amqpcodec"
MODULES = list(import_graph.modules(SOURCE))
STANDARD = frozenset(sys.stdlib_module_names)


@pytest.mark.parametrize(
    ("path", "module", "is_package"), MODULES, ids=[module for _, module, _ in MODULES]
)
def test_module_keeps_to_its_arrows(path: Path, module: str, is_package: bool) -> None:
    source = path.read_text(encoding="utf-8")
    assert arrows.violations(source, module, is_package, STANDARD) == []


def test_every_module_has_a_layer() -> None:
    tops = {module.split(".")[1] for _, module, _ in MODULES if "." in module}
    assert tops - set(arrows.LAYERS) == set()
    assert len(MODULES) > 15


def test_core_imports_errors_and_types_only() -> None:
    """And, for Python's classes, the modules below; for notebooks and NumPy, what serves them."""
    layers = set()
    sources = [*SOURCE.glob("*.pyx"), *SOURCE.glob("_core/*/*.px[id]"), *SOURCE.glob("_gen/*.px*")]
    for path in sources:
        source = path.read_text(encoding="utf-8")
        for line in re.findall(r"^\s*(?:from|import) .*", source, re.M):
            if "cimport" in line or line.startswith("cimport"):
                continue
            for item in import_graph.imports(line.strip(), "amqpcodec._codec", False):
                layer = arrows.layer_of(item.name)
                assert layer in ("errors", "types", "core", "html", "arrays", None), (
                    f"{path.name}: {line}"
                )
                assert layer or item.name.partition(".")[0] in STANDARD, f"{path.name}: {line}"
                layers.add(layer)
    assert layers == {"errors", "types", "core", "html", "arrays", None}


@pytest.mark.parametrize("layer", arrows.ARROWS)
def test_arrows_have_no_circle_and_end_below(layer: str) -> None:
    """What a layer reaches is not itself, and never a drop-in, Spark or the command line."""
    reached: set[str] = set()
    new = arrows.ARROWS[layer]
    while new - reached:
        reached |= new
        new = set().union(*(arrows.ARROWS[reached_layer] for reached_layer in reached))
    assert layer not in reached
    assert not reached & {"compat", "spark"}
    assert "cli" not in reached or layer == "main"


def test_modules_import_in_no_cycle() -> None:
    """Neither when they are imported, nor later, nor where type checkers see it."""
    assert import_graph.cycles(import_graph.graph(SOURCE)) == []


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ({"a": set(), "b": {"a"}, "c": {"a", "b"}}, []),
        ({"a": {"b"}, "b": {"a"}, "c": {"a", "b"}}, [["a", "b"]]),
        (
            {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"e"}, "e": {"d"}},
            [["a", "b", "c"], ["d", "e"]],
        ),
    ],
)
def test_cycles_of_a_graph(edges: dict[str, set[str]], expected: list[list[str]]) -> None:
    assert import_graph.cycles(edges) == expected


def test_graph_has_every_kind_of_import(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text("from . import a\n")
    (tmp_path / "a.py").write_text("def f():\n    from .b import name\n")
    (tmp_path / "b.py").write_text("if TYPE_CHECKING:\n    from . import c\nimport re\n")
    (tmp_path / "c.py").write_text("")
    assert import_graph.graph(tmp_path) == {
        "amqpcodec": {"amqpcodec.a"},
        "amqpcodec.a": {"amqpcodec.b"},
        "amqpcodec.b": {"amqpcodec.c"},
        "amqpcodec.c": set(),
    }


@pytest.mark.parametrize(
    ("module", "source", "count"),
    [
        ("amqpcodec.errors", "from . import types", 1),
        ("amqpcodec.errors", "import re, typing", 0),
        ("amqpcodec.types", "from .errors import DecodeError", 1),
        ("amqpcodec.spec.loader", "from ..errors import AMQPCodecError", 0),
        ("amqpcodec.spec.loader", "from .. import types", 1),
        ("amqpcodec.spec.loader", "from amqpcodec._facade import decoder", 1),
        ("amqpcodec.spec.loader", "from lxml import etree", 0),
        ("amqpcodec.spec.loader", "def f():\n    import pyarrow", 1),
        ("amqpcodec._facade.decoder", "from .. import _codec", 0),
        ("amqpcodec._facade.decoder", "from ..batch import decode", 1),
        ("amqpcodec._facade.decoder", "def f():\n    from ..spec.loader import load", 0),
        ("amqpcodec._facade.decoder", "from ..spec.loader import load", 1),
        ("amqpcodec._facade.decoder", "import numpy", 1),
        ("amqpcodec._facade.decoder", "def f():\n    import numpy", 1),
        (
            "amqpcodec._facade.decoder",
            "if TYPE_CHECKING:\n    import numpy\nelse:\n    import pyarrow",
            1,
        ),
        ("amqpcodec._facade.keys", "from ..batch import decode", 0),
        ("amqpcodec._facade.public", "from . import keys", 1),
        ("amqpcodec.capture._dataset", "import pyarrow", 0),
        ("amqpcodec.batch", "from . import _codec, protocol", 0),
        ("amqpcodec.batch", "from .capture import read", 1),
        ("amqpcodec.batch", "import pyarrow", 1),
        ("amqpcodec.batch", "def f():\n    import pyarrow", 0),
        ("amqpcodec.capture.tcp", "from .files import Packet", 0),
        ("amqpcodec.capture.tcp", "from .. import batch", 0),
        ("amqpcodec.capture.tcp", "from amqpcodec import v0_9_1", 1),
        ("amqpcodec.capture.tcp", "try:\n    import amqpcodec.spark\nexcept ImportError: pass", 1),
        ("amqpcodec.spark", "import pyspark.sql, pandas\nfrom . import batch, capture", 0),
        ("amqpcodec.spark", "from amqpcodec.compat import pika", 1),
        ("amqpcodec.spark.source", "from ..capture.planning import locate", 0),
        ("amqpcodec.spark.source", "from ..capture._storage import locate", 1),
        ("amqpcodec.compat.pika", "import pika\nfrom amqpcodec import v0_9_1", 0),
        ("amqpcodec.cli", "from . import spark", 1),
    ],
)
def test_checker_sees(module: str, source: str, count: int) -> None:
    assert len(arrows.violations(source, module, False, STANDARD)) == count
