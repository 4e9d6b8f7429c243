"""Workers that have nothing but what an archive brings, as a program.

python -m tests.spark.shipped HOW: by "archives" (spark.archives, on a local cluster) or "artifacts"
(addArtifacts, on Spark Connect).
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tarfile
import tempfile
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

import pyarrow as pa
from packaging.requirements import Requirement

import amqpcodec
from amqpcodec import batch
from amqpcodec import spark as amqp
from amqpcodec import v0_9_1 as wire
from scripts import demo_spark, jre

HERE = Path(amqpcodec.__file__).parent
#: What the package and Spark's workers import.
NEEDED = ("pyarrow", "pandas")
PYTHON = "./env/bin/python"


def with_dependencies(name: str) -> Iterator[Distribution]:
    package = distribution(name)
    yield package
    for text in package.requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield from with_dependencies(requirement.name)


def installed() -> Iterator[tuple[Path, str]]:
    """Files, and their names in a folder of packages: those that run, without tests."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    for file in HERE.rglob("*"):
        if file.suffix == ".py" or file.name.endswith(suffix):
            yield file, str(file.relative_to(HERE.parent))
    for name in NEEDED:
        for package in with_dependencies(name):
            for package_file in package.files or ():
                if (
                    package_file.parts[0] != ".."
                    and "tests" not in package_file.parts
                    and package_file.suffix != ".pyc"
                ):
                    yield Path(str(package_file.locate())), str(package_file)


def pack(place: Path) -> Path:
    """A virtual environment as venv-pack makes it."""
    environment, archive = place / "made", place / "env.tar.gz"
    venv.create(environment, symlinks=True)
    packages = sysconfig.get_path("purelib", "venv", {"base": "."})
    with tarfile.open(archive, "w:gz", compresslevel=0) as out:
        for entry in environment.iterdir():
            out.add(entry, entry.name)
        for file, name in dict(installed()).items():
            out.add(file, f"{packages.removeprefix('./')}/{name}")
    return archive


def on_cluster(archive: Path) -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = PYTHON
    builder = SparkSession.builder.master("local-cluster[1,2,1024]")
    builder = builder.config("spark.archives", f"{archive}#env")
    java_options = os.environ.get("SPARK_SUBMIT_OPTS", "")
    builder = builder.config("spark.executor.extraJavaOptions", java_options)
    builder = builder.config("spark.driver.host", "127.0.0.1")
    return builder.config("spark.ui.enabled", "false").getOrCreate()


def on_connect(archive: Path) -> Any:
    from pyspark.sql import SparkSession

    os.environ["SPARK_TESTING"] = "1"  # a free port, and not the one that all others use
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    spark.addArtifacts(f"{archive}#env", archive=True)
    spark.conf.set("spark.sql.execution.pyspark.python", PYTHON)
    return spark


def where(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Where a worker has the package from, and its environment."""
    import amqpcodec

    for _ in batches:
        yield pa.record_batch({"file": [amqpcodec.__file__], "environment": [sys.prefix]})


def check(spark: Any) -> None:
    one = spark.range(1, numPartitions=1)
    [location] = one.mapInArrow(where, "file string, environment string").collect()
    assert HERE not in Path(location.file).parents, location
    assert Path(location.environment) in Path(location.file).parents, location
    assert Path(location.environment).name == "env", location

    publish = wire.encode(3, wire.Basic.Publish(exchange="e", routing_key="k"))
    frames = spark.createDataFrame([(publish,), (b"\1\0",)], "frame binary")
    expected = pa.record_batch(batch.decode(pa.array([publish, b"\1\0"]))).to_pylist()
    names = ["method", "arguments", "error"]
    assert [tuple(row) for row in amqp.decode(frames, fields=names).collect()] == [
        tuple(expected_row[name] for name in names) for expected_row in expected
    ]
    heads = frames.select(amqp.from_amqp("frame", "method string").alias("head"))
    assert [row.head.method for row in heads.collect()] == ["basic.publish", None]
    messages = spark.createDataFrame([("e", b"x")], "exchange string, body binary")
    [sent] = amqp.encode(messages).collect()
    [again] = pa.array(
        batch.encode(pa.record_batch({"exchange": ["e"], "body": [b"x"]}))
    ).to_pylist()
    assert (bytes(sent.frame), sent.error) == (again, None)


def main(how: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        os.environ.pop("PYTHONPATH", None)  # or workers would have the package by it
        os.environ["JAVA_HOME"] = str(jre.java_home())
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        os.environ["SPARK_CONF_DIR"] = str(demo_spark.SETTINGS)
        os.environ["SPARK_WORKER_DIR"] = place
        spark = {"archives": on_cluster, "artifacts": on_connect}[how](pack(Path(place)))
        check(spark)
        spark.stop()
    print("decoded with what came by", how)


if __name__ == "__main__":
    main(sys.argv[1])
