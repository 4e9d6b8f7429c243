"""Who may import whom: the arrows of the architecture, and what a source imports against them."""

from __future__ import annotations

from scripts.import_graph import PACKAGE, imports

#: Module or package (without the name of ours) -> its layer; the longest name that fits counts.
#: A new module must find its place here.
LAYERS = {
    "": "facade",
    "_facade": "facade",
    "_facade.arrays": "arrays",
    "_facade.event_rows": "event-rows",
    "_facade.html": "html",
    "_facade.interpreter": "core",
    "_facade.keys": "batch",
    "_facade.names": "batch",
    "_facade.public": "public",
    "_facade.scalars": "types",
    "_facade.v1_decimal": "types",
    "limits": "facade",
    "negotiation": "facade",
    "v0_8": "facade",
    "v0_9": "facade",
    "v0_9_1": "facade",
    "v1_0": "facade",
    "_codec": "core",
    "_v1": "core-v1",
    "_columns": "core-columns",
    "_encode": "core-columns",
    "_capture": "core-capture",
    "_dropins": "core-dropins",
    "_dropins_v1": "core-dropins",
    "_gen": "generated",
    "errors": "errors",
    "types": "types",
    "v1_types": "types",
    "spec": "spec",
    "batch": "batch",
    "capture": "capture",
    "capture._dataset": "tables",
    "polars": "tables",
    "traces": "traces",
    "analysis": "analysis",
    "session": "session",
    "aio": "aio",
    "testing": "testing",
    "_pytest": "testing",
    "spark": "spark",
    "compat": "compat",
    "cli": "cli",
    "__main__": "main",
}

#: Layer -> what it may import of the package beside itself. Nothing imports compat, spark and cli.
ARROWS: dict[str, set[str]] = {
    "public": set(),
    "errors": {"public"},
    "types": {"public"},
    "generated": set(),
    "core": {"errors", "types"},
    "core-v1": {"core", "errors", "types"},
    "core-columns": {"core", "core-v1", "types"},
    "core-capture": {"core", "core-v1", "core-columns", "types"},
    "core-dropins": {"core", "core-v1", "types"},
    "spec": {"errors", "public"},
    "facade": {"core", "public", "core-v1", "generated", "errors", "types"},
    # The facade holds the protocols, which columns are made for.
    "batch": {"arrays", "core", "public", "core-v1", "core-columns", "facade", "errors", "types"},
    # Values in place of a capture's packets: batch loads it when it is used.
    "event-rows": {"batch", "core-columns", "core-capture"},
    "capture": {
        "batch",
        "public",
        "core",
        "core-v1",
        "core-columns",
        "core-capture",
        "errors",
        "types",
    },
    "tables": {"capture", "public"},  # captures in other libraries' terms
    "html": set(),  # given what it shows
    "arrays": {"types"},  # of other libraries, for batch and what it returns
    # Over the decoders of the protocol modules, which the facade holds.
    "session": {"facade", "public", "errors", "types"},
    # Over the client's side of a session.
    "aio": {"session", "facade", "public", "errors", "types"},
    # Over the server's side of a session.
    "testing": {"session", "facade", "public", "errors", "types"},
    # Events have the columns of captures, and numbers of bodies.
    "traces": {"capture", "core-capture", "public", "types"},
    # Over events, which captures give.
    "analysis": {"capture", "traces", "public"},
    "spark": {"batch", "event-rows", "public", "capture", "analysis", "traces", "errors", "types"},
    # The generated table without the classes that the protocol's module makes of it.
    "compat": {"core", "public", "core-dropins", "facade", "generated", "errors", "types"},
    "cli": {"batch", "capture", "analysis", "traces", "session", "errors", "facade", "types"},
    "main": {"cli"},
}

#: Arrows that only code inside of a function may use, so that importing costs nothing.
LAZY_ARROWS = {
    ("facade", "spec"),  # load_xml_spec
    ("facade", "compat"),  # install
    ("capture", "tables"),  # dataset
    ("batch", "event-rows"),  # decode(level="event")
}

#: (layer, layer) -> the module through which alone the first one uses insides of the second.
INTERFACES = {("spark", "capture"): "amqpcodec.capture.planning"}

#: Layer -> packages of others that it may import, and whether only inside of a function.
OTHERS: dict[str, dict[str, bool]] = {
    "spec": {"lxml": False},  # by its loader, which is imported late
    "batch": {"pyarrow": True},
    "event-rows": {"pyarrow": True},
    "capture": {"cryptography": True, "pyarrow": True, "fsspec": True},
    "traces": {"pyarrow": False},
    "analysis": {"pyarrow": False, "duckdb": False},
    "spark": {"pyspark": False, "py4j": True, "pyarrow": False, "pandas": False, "numpy": False},
    "tables": {"pyarrow": False, "polars": False},
    "html": {"pyarrow": True},
    "arrays": {"pyarrow": True},
    "testing": {"pytest": False, "cryptography": True},  # pytest: by its plugin alone
    "compat": {"pamqp": False, "pika": False, "amqp": False, "azure": False},
    "cli": {"rich": False, "pyarrow": False, "bokeh": False, "duckdb": False, "argcomplete": True},
}


def layer_of(module: str) -> str | None:
    """Layer of a module of the package, or of a name in one; None for other packages' modules."""
    head, _, module_path = module.partition(".")
    if head != PACKAGE:
        return None
    names = module_path.split(".")
    # A name of the package itself, such as amqpcodec.DecodeError, is the facade's.
    return LAYERS.get(".".join(names[:2])) or LAYERS.get(names[0], "facade")


def violations(source: str, module: str, is_package: bool, standard: frozenset[str]) -> list[str]:
    """What a module imports and may not. standard: names of the standard library."""
    layer = layer_of(module)
    assert layer is not None
    problems = []
    for item in imports(source, module, is_package):
        top = item.name.partition(".")[0]
        target = layer_of(item.name)
        if target is None:
            only_lazy = OTHERS.get(layer, {}).get(top)
            allowed = top in standard or (only_lazy is not None and (item.lazy or not only_lazy))
        else:
            allowed = target == layer or target in ARROWS[layer]
            allowed = allowed or (item.lazy and (layer, target) in LAZY_ARROWS)
            inside = any(part.startswith("_") for part in item.name.split("."))
            allowed = allowed and not (inside and (layer, target) in INTERFACES)
        if not allowed:
            when = "" if item.lazy else " when it is imported"
            problems.append(f"{module}:{item.line}: {layer} imports {item.name}{when}")
    return problems
