"""One local Spark session for all tests that want it."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def spark():
    """A session on two threads, or a skip where PySpark or Java is missing."""
    pytest.importorskip("pyspark")
    pytest.importorskip("pyarrow")
    from scripts import demo_spark, jre

    try:
        session = demo_spark.local_session("tests")
    except jre.NoJava as problem:
        pytest.skip(str(problem))
    yield session
    session.stop()
