"""AMQP on Apache Spark: columns of frames, column functions, captures as tables.

::

    from amqpcodec import spark as amqp

    amqp.decode(df, "frame", fields=["channel", "method"], keep=["id"])
    df.select(amqp.from_amqp("frame", "channel int, method string").alias("f")).select("f.*")
    amqp.encode(messages, keep=["id"])
    messages.select(amqp.to_amqp("exchange", "routing_key", "body").alias("frame"))
    amqp.register(spark)
    spark.sql("SELECT from_amqp(frame).method FROM captured")
    spark.read.format("amqp_capture").option("ports", "5672,5673").load("captures/")
    amqp.read_captures(spark, "captures/", {"ports": "5672,5673"})
    amqp.decode_captures(spark.read.format("binaryFile").load("captures/"), name="path")

Workers import amqpcodec: it must be installed where they run. On one machine set
``PYSPARK_PYTHON`` to ``sys.executable`` before the session starts, or they run another Python.

It needs PySpark with pyarrow: ``pip install "amqpcodec[spark]"``, 3.5 or later. With 3.5 the format
is missing: what is missing says so when it is called. Wrong options and schemas
are an AnalysisException, which is a ValueError where a function of this module raises it.
"""

from __future__ import annotations

from .._facade.public import listing
from .functions.encoding import encode, to_amqp
from .functions.frames import decode
from .functions.structs import from_amqp, schema_of_amqp
from .source.binary_column import decode_captures
from .source.captures import read_captures
from .source.index import index_captures
from .source.questions import analysis
from .source.registration import register
from .source.stats import capture_stats
from .source.traces import decode_traces, read_traces

__all__ = [
    "analysis",
    "capture_stats",
    "decode",
    "decode_captures",
    "decode_traces",
    "encode",
    "from_amqp",
    "index_captures",
    "read_captures",
    "read_traces",
    "register",
    "schema_of_amqp",
    "to_amqp",
]

__dir__ = listing(__name__)
