"""Edges of AMQP 1.0 that a change of one sign or one check moves: each was once moved unnoticed."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from amqpcodec import DecodeError, IncompleteError
from amqpcodec import v1_0 as amqp


@pytest.mark.parametrize("count", [0, 1, 254, 255, 256, 257, 65535, 65536])
def test_arrays_of_nulls_have_a_count_that_fits(count: int) -> None:
    data = amqp.encode_value(amqp.Array("null", [None] * count))
    assert len(data) <= 10
    assert int.from_bytes(data[2:3] if data[0] == 0xE0 else data[5:9], "big") == count
    nulls, used = amqp.decode_value(data)
    assert used == len(data)
    assert nulls == amqp.Array("null", [None] * count)
    assert amqp.encode_value(nulls) == data


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
    _, _, performative = amqp.decode(long)
    assert performative == amqp.decode(short)[2] == amqp.Open("c")
    assert amqp.encode(0, performative) == long
    performative.hostname = "h"
    assert amqp.encode(0, performative) == amqp.encode(0, amqp.Open("c", "h"))


def refused(error: type[Exception], match: str, call: Callable[..., Any], *args: Any) -> None:
    with pytest.raises(error, match=match):
        call(*args)


def test_options_of_decoders() -> None:
    refused(ValueError, "max_message_size is None or", amqp.MessageDecoder, 4096, -1)
    refused(ValueError, "max_message_size is None or", amqp.MessageDecoder, 4096, "1")
    refused(ValueError, 'errors is "strict" or "frame"', partial(amqp.Decoder, errors="row"))
    refused(ValueError, 'types is "plain" or "typed"', partial(amqp.Decoder, types="row"))
    refused(ValueError, "offset 5 is outside of 1 bytes", amqp.decode, b"x", 5)
    refused(ValueError, "offset -1 is outside", amqp.decode_value, b"\x40", -1)
    refused(TypeError, "a protocol is not pickled", pickle.dumps, amqp.PROTOCOL)


def test_a_decoder_of_deliveries_starts_anew() -> None:
    part = amqp.encode(0, amqp.Transfer(0, 1, b"t", more=True, payload=b"x"))
    decoder = amqp.MessageDecoder(opened=True)
    assert list(decoder.feed(part)) == []
    refused(IncompleteError, "inside a delivery", decoder.eof)
    decoder.reset()
    decoder.eof()
    complete_delivery = amqp.encode_message(0, amqp.Transfer(0, 2, b"u"), amqp.Message(b"y"))
    (_, delivery), *more = decoder.feed(complete_delivery)
    assert (delivery.message.body, more) == (b"y", [])


def test_fields_with_a_default_are_descriptors_of_their_class() -> None:
    more = vars(amqp.Transfer)["more"]
    assert (more.name, more.default) == ("more", False)
    assert more.__doc__.startswith("boolean; whether another transfer")
    refused(TypeError, "more is a field of Transfer", more.__get__, amqp.Open("c"))
    refused(TypeError, "more is a field of Transfer", more.__set__, amqp.Open("c"), True)


def test_pickles_of_others() -> None:
    function, (cls, values, mode, origin) = amqp.Open("c").__reduce__()
    assert function(cls, values, mode, origin) == amqp.Open("c")
    refused(TypeError, "not a class of AMQP 1.0", function, int, values, mode, origin)
    refused(ValueError, "with other fields", function, cls, values[1:], mode, origin)
    begin = amqp.encode_value(amqp.Described(amqp.ULong(0x11), []))
    refused(ValueError, "bytes of another type", function, cls, values, mode, begin)
    more = amqp.encode_value(amqp.Open("c")) + b"\0"
    refused(DecodeError, "1 byte", function, cls, values, mode, more)
    refused(TypeError, "instance of AMQP 1.0's classes", amqp.Open.__reduce__, 1)
    refused(TypeError, "takes a described type of AMQP 1.0", amqp.Open.validate, 1)


def test_messages_of_sequences_and_other_fields() -> None:
    message = amqp.Message(sequences=[[1, 2], [3]])
    assert (message.body_kind, message.body) == ("sequence", [1, 2, 3])
    other = message.__replace__(durable=True, subject="s")
    assert (other.header.durable, other.properties.subject) == (True, "s")
    assert other.body == [1, 2, 3]
    both = partial(message.__replace__, header=None, durable=True)
    refused(TypeError, "takes header or its fields", both)


@pytest.mark.parametrize(("address", "is_tracked"), [([1], True), ({"a": 1}, True), ("q", False)])
def test_fields_that_may_be_part_of_a_cycle_are_tracked(address: Any, is_tracked: bool) -> None:
    frame = amqp.encode(0, amqp.Attach("a", 0, role=False, source=amqp.Source(address)))
    assert gc.is_tracked(amqp.decode(frame)[2].source) == is_tracked
