"""What all tests share: hypothesis's settings, and one local Spark session."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

try:
    from hypothesis import HealthCheck, Phase, settings
except ImportError:  # the README's tests need pytest alone
    pass
else:
    # Repeatable, and modest in time.
    _QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    settings.register_profile(
        "amqpcodec", max_examples=60, deadline=None, derandomize=True, suppress_health_check=_QUIET
    )
    settings.register_profile(
        "amqpcodec-long",
        parent=settings.get_profile("amqpcodec"),
        max_examples=3000,
        derandomize=False,
    )
    # The same code on another CPython.
    settings.register_profile(
        "amqpcodec-short", parent=settings.get_profile("amqpcodec"), max_examples=15
    )
    # A mutant is killed by the first failure: nobody reads a smaller one.
    settings.register_profile(
        "amqpcodec-mutants",
        parent=settings.get_profile("amqpcodec"),
        phases=(Phase.explicit, Phase.generate),
    )
    settings.load_profile(os.environ.get("AMQPCODEC_HYPOTHESIS", "amqpcodec"))


# For each JVM that Spark starts here. It runs for seconds: to optimise its code takes longer than
# the code itself.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where processes share the tests, the slowest files first."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        tests = Path(__file__).resolve().parent
        seconds = tomllib.loads((tests / "slow.toml").read_text(encoding="utf-8"))["seconds"]
        costs = {tests / name: cost for name, cost in seconds.items()}
        items.sort(key=lambda item: -costs.get(item.path, 0))


@pytest.fixture(params=["arrow", "pandas"])
def way(request, monkeypatch):
    """Column functions as Spark 4.1 and later evaluate them, and as older ones do."""
    if request.param == "pandas":
        from amqpcodec.spark.functions import encoding, structs

        monkeypatch.setattr(structs, "arrow_udf", None)
        monkeypatch.setattr(encoding, "arrow_udf", None)


@pytest.fixture(scope="session")
def spark():
    """A session on two threads, or a skip where PySpark or Java is missing."""
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("the scripts that start Java hang with the sanitizers' code loaded first")
    pytest.importorskip("pyspark")
    pytest.importorskip("pyarrow")
    from scripts import demo_spark, jre
    from tests.support.spark_35 import add_arrow_tables

    add_arrow_tables()
    try:
        session = demo_spark.local_session("tests")
    except jre.NoJava as problem:
        pytest.skip(str(problem))
    yield session
    session.stop()
