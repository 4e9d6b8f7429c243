"""Classes at the edge: abstract ones, those of a protocol of one's own, names of any length."""

from __future__ import annotations

import gc
import inspect
import io
from types import ModuleType
from typing import Any

import pytest

import amqpcodec
from amqpcodec import DecodeError, EncodeError, ValidationError, _codec, v0_9_1, v1_0
from amqpcodec._gen.v1_0 import TABLE
from amqpcodec._v1 import V1Core


def loaded(content: str, properties: str = "") -> ModuleType:
    """A protocol of one class: properties, and what else is in it."""
    text = f"""<amqp major="0" minor="9" revision="1" port="5672">
        <class name="basic" handler="channel" index="60">{properties}{content}</class></amqp>"""
    return amqpcodec.load_xml_spec(io.BytesIO(text.encode()))


@pytest.mark.parametrize("base", [_codec.Frame, _codec.Method, _codec.ContentProperties])
def test_abstract_classes(base: Any) -> None:
    assert not hasattr(base, "__signature__")
    with pytest.raises(TypeError, match="is abstract"):
        base()
    instance = base.__new__(base)
    with pytest.raises(TypeError, match="is abstract"):
        amqpcodec.replace(instance)
    with pytest.raises((TypeError, EncodeError)):
        v0_9_1.encode(1, instance)


def test_a_field_that_was_deleted_equals_one_that_was_deleted() -> None:
    method, other = v0_9_1.Basic.Publish("e"), v0_9_1.Basic.Publish("f")
    del method.exchange
    assert method != v0_9_1.Basic.Publish("e") != method
    del other.exchange
    assert method == other


def test_the_signature_of_what_has_properties() -> None:
    parameters = inspect.signature(v0_9_1.Header).parameters
    assert parameters["properties"].default is None
    assert parameters["class_id"].default == 60


def test_asserts_of_numbers_and_of_what_is_not_there() -> None:
    assert_ = '<assert check="notnull"/>'
    module = loaded(
        f"""<method name="go" index="10" content="1"><field name="n" type="long">{assert_}</field>
        <field name="s" type="shortstr">{assert_}</field></method>""",
        f'<field name="kind" type="shortstr">{assert_}</field>',
    )
    module.Basic.Go(n=0, s="x").validate()
    with pytest.raises(ValidationError, match=r"basic\.go\.s: must not be empty"):
        module.Basic.Go(n=5).validate()
    module.Basic.Properties().validate()
    with pytest.raises(ValidationError, match="kind: must not be empty"):
        module.Basic.Properties(kind="").validate()


@pytest.mark.parametrize("count", [15, 16, 17, 31])
def test_more_properties_than_a_word_of_flags_has(count: int) -> None:
    names = [f"p{n}" for n in range(count)]
    module = loaded(
        '<method name="go" index="10" content="1"/>',
        "".join(f'<field name="{name}" type="short"/>' for name in names),
    )
    for some in (names, names[:1], names[-1:], names[::3]):
        properties = module.Basic.Properties(**{name: n for n, name in enumerate(some)})
        header = module.Header(7, properties)
        data = module.encode(1, header)
        words = data[19 : 19 + 2 * -(-count // 15)]
        assert [word & 1 for word in words[1::2]] == [1] * (len(words) // 2 - 1) + [0]
        assert module.decode(data)[2] == header


@pytest.mark.parametrize("length", [300, 5000])
def test_names_that_are_longer_than_messages_of_errors(length: int) -> None:
    name = "n" * length
    module = loaded(
        f"""<method name="{name}" index="10"><field name="{name}" type="shortstr"/></method>"""
    )
    data = b"\1\0\1\0\0\0\x06\0\x3c\0\x0a\5a\xce"
    with pytest.raises(DecodeError) as caught:
        module.decode(data)
    assert str(caught.value).startswith(f"basic.{name[:50]}")
    pa = pytest.importorskip("pyarrow")
    from amqpcodec import batch

    (row,) = pa.record_batch(batch.decode(data, module.PROTOCOL)).to_pylist()
    assert row["error"].startswith(f"basic.{name[:50]}")


def test_a_core_of_1_0_that_nobody_holds_goes() -> None:
    core = V1Core(TABLE)
    assert core.classes["Open"]("c") != v1_0.Open("c")
    del core
    gc.collect()
    assert v1_0.decode(v1_0.encode(0, v1_0.Open("c")))[2] == v1_0.Open("c")
