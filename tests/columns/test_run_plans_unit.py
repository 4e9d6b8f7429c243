"""Messages that look like a run of views, for which there is no plan or which end it."""

from __future__ import annotations

import io
from typing import Any

import pytest

import amqpcodec
from amqpcodec import v0_9_1 as amqp
from tests.columns.batch_rows import decode
from tests.paths import REPO
from tests.support import amqp091_wire as w

#: Runs look further than their last message.
MANY = 400
#: Columns for which no text has to be made.
FIELDS = ["offset", "consumer_tag", "body", "error"]
FIELDS += [f"properties.{name}" for name in ("content_type", "delivery_mode", "priority")]


def both(data: bytes, **how: Any) -> list[dict[str, Any]]:
    """Rows of views, which are those of plain columns."""
    how = {"fields": FIELDS, **how}
    views = decode(data, level="message", layout="view", **how).to_pylist()
    assert views == decode(data, level="message", **how).to_pylist()
    return views


def message(*, tag: bytes = b"tag", flags: int = 0, values: bytes = b"") -> bytes:
    """A delivery with properties as they are."""
    deliver = w.method_payload("basic.deliver", consumer_tag=tag, delivery_tag=1)
    head = b"\0\x3c\0\0" + (4).to_bytes(8, "big") + flags.to_bytes(2, "big") + values
    return w.frame(1, 1, deliver) + w.frame(2, 1, head) + w.body_frame(1, b"body")


@pytest.mark.parametrize(
    ("flags", "values"), [(0x1000, b"\x02"), (0x0800, b"\x05"), (0x8000, b"\x01t")]
)
def test_a_text_that_is_none_before_the_first_property(flags: int, values: bytes) -> None:
    """A number or a text of the properties is then looked for nowhere."""
    good = message(flags=flags, values=values)
    bad = message(tag=b"\xff\xfe", flags=flags, values=values)
    message_rows = both(good * 100 + bad + good * MANY)
    assert [number for number, row in enumerate(message_rows) if row["error"]] == [100]
    assert "UTF-8" in message_rows[100]["error"]
    assert {**message_rows[99], "offset": 0} == {**message_rows[101], "offset": 0}


@pytest.mark.parametrize(("flags", "good"), [(0x0002, True), (0x0001, False), (0x0003, False)])
def test_flags_of_properties_that_there_are_not(flags: int, good: bool) -> None:
    """One may be set; the last says that more flags follow."""
    data = message(flags=flags)
    assert [row["error"] is None for row in both(data * MANY)] == [good] * MANY
    if good:
        assert len(list(amqp.Decoder().feed(data))) == 3
    else:
        with pytest.raises(amqpcodec.DecodeError):
            list(amqp.Decoder().feed(data))


def test_a_header_too_short_to_say_a_size() -> None:
    good = message()
    short = w.frame(1, 1, w.method_payload("basic.deliver")) + w.frame(2, 1, b"\0\x3c\0\0\0")
    message_rows = both(good * 100 + short + good * MANY)
    assert [number for number, row in enumerate(message_rows) if row["error"]] == [100]
    assert "needs 12 bytes" in message_rows[100]["error"]


def test_an_argument_in_two_columns() -> None:
    names = ["exchange", "basic.deliver.exchange", "body"]
    sent = amqp.encode_message(
        1, amqp.Basic.Deliver("t", 1, False, "e", "k"), amqp.Basic.Properties(), b"b"
    )
    assert (
        both(sent * MANY, fields=names) == [dict(zip(names, ["e", "e", b"b"], strict=True))] * MANY
    )


def test_an_argument_whose_column_is_wider() -> None:
    """Another method has one of this name, and a larger number."""
    text = (REPO / "spec" / "amqp0-9-1.xml").read_text(encoding="utf-8")
    other = """<class name="file" index="70" handler="channel"><method name="send" index="10">
        <field name="reply-code" type="long"/></method></class>"""
    text = text.replace('<class name="basic"', f'{other}<class name="basic"', 1)
    module = amqpcodec.load_xml_spec(io.BytesIO(text.encode()))
    method = module.Basic.Return(312, "text", "e", "k")
    sent = module.encode_message(1, method, module.Basic.Properties(), b"b")
    names = ["reply_code", "exchange", "body"]
    message_rows = both(sent * MANY, protocol=module.PROTOCOL, fields=names)
    assert message_rows == [dict(zip(names, [312, "e", b"b"], strict=True))] * MANY
