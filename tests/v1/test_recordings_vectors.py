"""Recordings of real peers: transfers joined into deliveries, and their messages."""

from __future__ import annotations

import pytest

from amqpcodec import ValidationError
from amqpcodec import v1_0 as amqp
from tests.v1.recordings import NAMES, recording


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [7, 1000, 1 << 20])
def test_deliveries(name: str, size: int) -> None:
    rows = recording(name)
    joined = several = 0
    for sender in {row["from"] for row in rows}:
        mine = [row for row in rows if row["from"] == sender]
        stream = b"".join(bytes.fromhex(row["hex"]) for row in mine)
        decoder = amqp.MessageDecoder(eager=True)
        events = []
        for start in range(0, len(stream), size):
            events += [event for _, event in decoder.feed(stream[start : start + size])]
        decoder.eof()
        deliveries = [event for event in events if type(event) is amqp.Delivery]
        payloads = sum(row.get("payload_bytes", 0) for row in mine)
        assert sum(len(delivery.payload) for delivery in deliveries) == payloads
        transfers = [row for row in mine if row.get("performative") == "transfer"]
        assert len(events) - len(deliveries) == len(mine) - len(transfers)
        several += len(transfers) - len(deliveries)
        for delivery in deliveries:
            assert delivery.message.encode() == delivery.payload
            assert delivery.message.bare in delivery.payload
            assert delivery.message.body_kind is not None
            joined += 1
    assert joined > 5
    assert several > 0  # at least one took more than one transfer


@pytest.mark.parametrize("name", NAMES)
def test_all_that_was_sent_is_valid_or_said_to_be_not(name: str) -> None:
    """Performatives of proton and RabbitMQ keep the rules that validate() knows."""
    broken = []
    for row in recording(name):
        result = amqp.decode(bytes.fromhex(row["hex"]))
        assert result is not None
        if isinstance(result[2], amqp.Composite):
            try:
                result[2].validate()
            except ValidationError as error:
                broken.append(str(error))
    assert broken == []
