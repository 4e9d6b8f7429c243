"""The methods that all frames share, called by hand with what they are not made for."""

import pickle

import pytest

from amqpcodec import EncodeError
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
