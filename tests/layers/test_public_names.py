"""Public names keep the words of the project: no name that was replaced, no vague participle.

The names are those of public modules, their classes, arguments and event fields, columns, counters,
options of the command line and of Spark.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import pytest

import amqpcodec
from amqpcodec import batch, capture
from amqpcodec.cli import arguments
from tests.paths import REPO

#: Words that are public names no more, as they stand between underscores, hyphens or capitals.
REPLACED_WORDS = {
    "octets",
    "unpacked",
    "unlinked",
    "chain",
    "chained",
    "conversations",
    "peer_closed",
}
#: Complete names that were replaced by clearer ones.
REPLACED_NAMES = {
    *("HardFault", "SoftFault", "Party", "by_peer", "ChainOption", "LegacyFault"),
    *("empty_elements", "int_keys", "nesting", "no_chain", "join"),
}
#: Participles and the like that do not say what a thing is.
VAGUE = {
    *("told", "found", "each", "wanted", "made", "given", "known", "kept", "whole", "there"),
    *("asked", "named", "said", "rest", "meant", "seen", "done", "held", "noted", "taken"),
    *("cut", "left", "waiting", "carried"),
}
#: Attributes of `capture.Reader` that were renamed.
READER = {"choose", "at", "first", "live", "resets", "unlinked"}
#: `octets` counts captured bytes in stats(), `done` is the word of futures, `held` belongs to
#: the compiled columns and is for Spark's tasks alone.
ALLOWED = {"done", "held", "octets"}

PUBLIC = [
    "amqpcodec",
    *(
        f"amqpcodec.{module.name}"
        for module in pkgutil.iter_modules(amqpcodec.__path__)
        if not module.name.startswith("_") and module.name not in ("cli", "spark", "polars")
    ),
    "amqpcodec.session.events",
    "amqpcodec.session.v1",
]


def parts(name: str) -> list[str]:
    """The words of a name in any style."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().replace("-", "_").split("_")


def is_bad(name: str) -> bool:
    bare = name.strip("_-")
    return bare not in ALLOWED and (
        bare in REPLACED_NAMES or bare.lower() in VAGUE or bool(REPLACED_WORDS & set(parts(bare)))
    )


def parameters(function: Any) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def of_module(module: Any) -> Iterator[str]:
    """The names of a module, and of its functions and classes, with where they stand."""
    for name in getattr(module, "__all__", ()):
        yield name
        value = getattr(module, name)
        if not (getattr(value, "__module__", None) or "").startswith("amqpcodec"):
            continue
        if inspect.isclass(value):
            yield from (
                attribute_name
                for attribute_name in vars(value)
                if not attribute_name.startswith("_")
            )
            yield from parameters(value)
            for attribute in vars(value).values():
                if inspect.isfunction(attribute) and not attribute.__name__.startswith("_"):
                    yield from parameters(attribute)
        elif callable(value):
            yield from parameters(value)


@pytest.mark.parametrize("module", PUBLIC)
def test_modules(module: str) -> None:
    assert (
        sorted({name for name in of_module(importlib.import_module(module)) if is_bad(name)}) == []
    )


def test_the_reader() -> None:
    assert READER & set(dir(capture.Reader)) == set()
    new = {"filter", "offset", "first_record", "first_timestamp", "unbuffered", "tcp_resets"}
    assert new | {"not_in_rotation"} <= set(dir(capture.Reader))


def test_columns_and_counters() -> None:
    pa = pytest.importorskip("pyarrow")
    names = [field.name for field in dataclasses.fields(capture.Reader("x").limits)]
    for protocol in ("0-9-1", "1.0"):
        for level in ("frame", "message"):
            names += pa.schema(batch.schema(protocol, level)).names
            names += pa.schema(capture.schema(level, protocol=protocol)).names
    path = REPO / "demo" / "kombu_celery.pcap.gz"
    names += capture.stats(path)
    assert len(names) > 100
    assert [name for name in names if is_bad(name)] == []


def subparsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from subparsers(one)


def test_options_of_the_command_line() -> None:
    options = [
        option.lstrip("-")
        for parser in subparsers(arguments.parser())
        for action in parser._actions
        for option in action.option_strings
    ]
    assert "files" in options
    assert [option for option in options if is_bad(option)] == []


def test_options_of_spark() -> None:
    pytest.importorskip("pyspark")
    from amqpcodec.spark.functions import structs as functions
    from amqpcodec.spark.planning import reading
    from amqpcodec.spark.source import stats

    options = [*reading.OPTIONS, *stats._OPTIONS, *functions._OPTIONS]
    assert {"files", "fieldTables", "maxDecompressedBytes"} <= set(options)
    assert [option for option in options if is_bad(option) or option == "tables"] == []


def test_replaced_names_are_refused() -> None:
    for name in ("HardFault", "lost_octets", "unpackedBytes", "no-chain", "told", "by_peer"):
        assert is_bad(name)
    for name in ("lost_bytes", "maxDecompressedBytes", "files", "closed_by", "left_key"):
        assert not is_bad(name)
