"""A broker for tests: what RabbitMQ does, on a real socket, in a thread of the test's process.

Any client of AMQP 0-9-1 connects to it unchanged. It starts in a few milliseconds, refuses what it
does not model instead of ignoring it, fails at whatever frame a test names, and has a clock that
can be advanced::

    from amqpcodec.testing import Broker

    with Broker() as broker:
        run_my_service(broker.url)
        (message,) = broker.published("orders", n=1, timeout=1)
        assert message.body == b"{}"

With pytest the fixture ``amqp_broker`` is a fresh Broker for each test; ``amqp_broker_session`` is
one for all tests, to be `Broker.reset`.
"""

from __future__ import annotations

from .._facade.public import listing
from ._broker import AsyncAsserts, Binding, Broker, ConsumerInfo, Point, StoredMessage
from ._faults import Fault, Place
from ._node import Publication
from ._tls import tls_contexts
from ._transcript import TranscriptEntry

__all__ = [
    "AsyncAsserts",
    "Binding",
    "Broker",
    "ConsumerInfo",
    "Fault",
    "Place",
    "Point",
    "Publication",
    "StoredMessage",
    "TranscriptEntry",
    "tls_contexts",
]

__dir__ = listing(__name__)
