"""What engines send is the same at every distance from the end of the encoder's buffer."""

from __future__ import annotations

import pytest

from amqpcodec import v1_0
from tests.support import session_pair as pair
from tests.support import session_v1_pair as v1_pair
from tests.support.borders import check
from tests.support.borders_amqp0 import fields
from tests.support.borders_v1 import sections
from tests.support.bridge import V0_8, V0_9, V0_9_1, Version, properties_class

CAPACITIES = (4096, 8192)


@pytest.mark.parametrize("at", [V0_9_1, V0_9, V0_8], ids=lambda at: at.name)
def test_publications_and_requests(at: Version) -> None:
    mine, _ = pair.opened(at.name).channel()
    connection = mine.connection

    def publish(length: int) -> bytes:
        properties = fields(at.facts.properties[60], "headers", length, at)
        mine.publish("e", "k" * 200, b"body", properties_class(60, at)(**properties))
        return bytes(connection.data_to_send())

    def bind(length: int) -> bytes:
        table = {"a": "f" * length, "b": "t"}
        mine.send(at.amqp.Queue.Bind(queue="q", exchange="e", routing_key="k", arguments=table))
        return bytes(connection.data_to_send())

    check(publish, CAPACITIES)
    check(bind, CAPACITIES)


def test_deliveries_of_1_0() -> None:
    """Numbers and tags of deliveries count on: they are compared by what they are decoded to."""
    sender, _ = v1_pair.Pair().opened().sender()
    for capacity in CAPACITIES:
        for length in range(capacity - 400, capacity + 8):
            message = v1_0.Message(**sections(1, length))
            sender.send(message, settled=True)
            _, _, transfer = v1_0.decode(sender.session.connection.data_to_send())
            assert transfer.payload == message.encode()
