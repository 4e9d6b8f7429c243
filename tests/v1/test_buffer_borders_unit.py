"""What the encoder of 1.0 writes is the same at every distance from the end of its buffer."""

from __future__ import annotations

import pytest

from amqpcodec import v1_0 as amqp
from tests.support.borders import check
from tests.support.borders_v1 import CASES


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_same_bytes_at_every_length(name: str) -> None:
    check(CASES[name])


@pytest.mark.parametrize("tag", range(1, 33))
def test_a_delivery_in_many_transfers(tag: int) -> None:
    """Each length of the tag moves all frames; what each is alone, `encode` says."""
    frame_max = 512
    content = bytes(range(256)) * 40
    first = {"handle": 1, "delivery_id": 5, "delivery_tag": b"t" * tag, "message_format": 0}
    transfer, expected, place = amqp.Transfer(**first), b"", 0
    while place < len(content):
        room = frame_max - len(amqp.encode(7, transfer))
        if len(content) - place > room:
            transfer.more = True
            room = frame_max - len(amqp.encode(7, transfer))
        expected += amqp.encode(7, transfer, content[place : place + room])
        place += room
        transfer = amqp.Transfer(handle=1, delivery_id=5)
    assert len(expected) > 2 * 4096
    assert amqp.encode_message(7, amqp.Transfer(**first), content, frame_max) == expected
