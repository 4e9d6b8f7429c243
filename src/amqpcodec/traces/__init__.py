"""RabbitMQ's own traces to Arrow columns: the tracing plugin's logs, and messages of the firehose.

::

    from amqpcodec import traces

    for batch in traces.read("/var/tmp/rabbitmq-tracing/all.log"):
        print(batch.select(["timestamp", "method", "exchange", "routing_key", "body"]))

At level "event" it gives rows of events, which ``amqpcodec.analysis`` asks.

A trace says what a broker was sent and what it handed out, with the whole message, and no more:
no acks, no confirms, no connections. Its rows have the columns of ``capture.read(level="message")``
as far as it carries them. Needs pyarrow (``amqpcodec[arrow]``).
"""

from __future__ import annotations

from .._facade.public import listing
from ._read import BATCH_ROWS, Reader, are_traces, is_trace, read, schema, unwrap

__all__ = ["BATCH_ROWS", "Reader", "are_traces", "is_trace", "read", "schema", "unwrap"]

__dir__ = listing(__name__)
