"""A stream to Parquet, a file a batch, as a program that a test kills."""

from __future__ import annotations

import sys
from pathlib import Path

from amqpcodec import spark as amqp
from scripts.demo_spark import local_session


def main(place: Path) -> None:
    from tests.spark.test_stream_session import stream, to_parquet

    spark = local_session("killed")
    amqp.register(spark)
    to_parquet(stream(spark, place, maxFilesPerTrigger=1), place).awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
