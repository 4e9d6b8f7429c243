"""The methods that all frames share, called by hand with what they are not made for."""

import pickle
from decimal import Decimal

import pytest

from amqpcodec import DecodeError, EncodeError
from amqpcodec import v0_9_1 as amqp


@pytest.mark.parametrize(
    "call",
    [
        lambda: amqp.Frame.__reduce__(5),
        lambda: amqp.Frame.__repr__(5),
        lambda: amqp.Method.validate(5),
        lambda: amqp.Method.validate(amqp.Header()),
        lambda: amqp.Method.validate(amqp.Message()),
    ],
)
def test_other_objects_are_refused(call):
    with pytest.raises(TypeError):
        call()


def test_an_instance_without_its_constructor_is_refused_where_it_matters():
    empty = object.__new__(amqp.Basic.Ack)
    assert repr(empty) == "Basic.Ack()"
    with pytest.raises(EncodeError):
        empty.validate()


@pytest.mark.parametrize("name", ["Frame", "Method", "ContentProperties"])
def test_bases_are_pickled_by_name(name):
    base = getattr(amqp, name)
    assert pickle.loads(pickle.dumps(base)) is base


def test_unions_stand_for_what_decoders_give():
    assert isinstance(amqp.Heartbeat(), amqp.AnyFrame)
    assert isinstance(amqp.Basic.Publish(), amqp.ContentMethod)
    assert not isinstance(amqp.Basic.Ack(), amqp.ContentMethod)
    assert isinstance(amqp.Message(), amqp.AnyEvent)
    assert amqp.Decoder[amqp.AnyFrame] is not None


@pytest.mark.parametrize("base", [amqp.Frame, amqp.Method])
def test_bases_make_no_instances(base):
    with pytest.raises(TypeError, match="is abstract"):
        base()


def restored(properties, **changed):
    """What a pickle gives that says something else in one place."""
    restore, (cls, values, mode, origin) = properties.__reduce__()
    arguments = {"cls": cls, "values": values, "mode": mode, "origin": origin, **changed}
    return restore(*arguments.values())


def test_a_pickle_is_checked():
    header = amqp.decode(amqp.encode(1, amqp.Header(0, amqp.Basic.Properties(headers={}))))[2]
    properties = header.properties
    values = properties.__reduce__()[1][1]
    assert restored(properties, values=values) == properties
    with pytest.raises(TypeError, match="not a class of frames"):
        restored(properties, cls=int)
    with pytest.raises(ValueError, match="made with other fields"):
        restored(properties, values=values[:-1])
    with pytest.raises(ValueError, match="made with other fields"):
        restored(properties, cls=amqp.Frame, values=())
    with pytest.raises(TypeError, match="must be bytes"):
        restored(properties, values=(*values[:-1], "text"))
    with pytest.raises(DecodeError):
        restored(properties, values=(*values[:-1], b"\1aI\0"))


def test_a_value_that_refuses_to_be_compared_equals_nothing():
    headers = [{"n": Decimal(text)} for text in ("sNaN", "sNaN", "1")]
    first, second, third = (amqp.Basic.Properties(headers=table) for table in headers)
    assert first != second
    assert first != third
    assert third != first
