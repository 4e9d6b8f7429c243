"""Edges of AMQP 1.0 that a change of one sign or one check moves: each was once moved unnoticed."""

from __future__ import annotations

import pytest

from amqpcodec import v1_0 as amqp


@pytest.mark.parametrize("count", [0, 1, 254, 255, 256, 257, 65535, 65536])
def test_arrays_of_nulls_have_a_count_that_fits(count: int) -> None:
    data = amqp.encode_value(amqp.Array("null", [None] * count))
    assert len(data) <= 10
    assert int.from_bytes(data[2:3] if data[0] == 0xE0 else data[5:9], "big") == count
    made, used = amqp.decode_value(data)
    assert used == len(data)
    assert made == amqp.Array("null", [None] * count)
    assert amqp.encode_value(made) == data


@pytest.mark.parametrize("count", [255, 256])
def test_arrays_of_small_numbers_have_a_count_that_fits(count: int) -> None:
    array = amqp.Array("ubyte", [1] * count)
    assert amqp.decode_value(amqp.encode_value(array))[0] == array


def test_nulls_at_the_end_are_left_out_and_kept_where_they_came() -> None:
    short = amqp.encode(0, amqp.Open("c"))
    assert short == bytes.fromhex("00000011 02000000 00 53 10 c0 04 01 a1 01 63".replace(" ", ""))
    assert amqp.encode(0, amqp.Open("c", None, 10, channel_max=None)) != short
    assert amqp.encode(0, amqp.Open("c", hostname=None, max_frame_size=None)) == short
    # As azure and others send them: read the same, and given back as they came.
    long = bytes.fromhex("00000013 02000000 00 53 10 c0 06 03 a1 01 63 40 40".replace(" ", ""))
    _, _, made = amqp.decode(long)
    assert made == amqp.decode(short)[2] == amqp.Open("c")
    assert amqp.encode(0, made) == long
    made.hostname = "h"
    assert amqp.encode(0, made) == amqp.encode(0, amqp.Open("c", "h"))
