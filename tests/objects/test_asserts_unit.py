"""validate(): every kind of assert, in the built-in versions and in loaded ones."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

import amqpcodec
from amqpcodec import EncodeError, ValidationError, v0_8, v0_9, v0_9_1
from amqpcodec.spec import SpecError

OLD = [v0_8, v0_9]


def loaded(fields: str, version: str = 'major="0" minor="9"') -> Any:
    """The method x.y of a specification with these fields."""
    pytest.importorskip("lxml")
    text = (
        f'<amqp {version}><class name="x" index="1"><method name="z" index="2">'
        '<field name="limit" type="short"/></method>'
        f'<method name="y" index="1">{fields}</method></class></amqp>'
    )
    return amqpcodec.load_xml_spec(io.BytesIO(text.encode())).X


def refused(method: Any, field: str, words: str, *others: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        method.validate(*others)
    assert caught.value.field == field
    assert words in str(caught.value)


# ---- the published asserts of 0-8 and 0-9, beside those of test_validate_unit


@pytest.mark.parametrize("amqp", OLD)
def test_a_ticket_is_not_zero(amqp: Any) -> None:
    amqp.Queue.Declare(ticket=1, queue="q").validate()
    refused(amqp.Queue.Declare(ticket=0, queue="q"), "ticket", "must be other than 0; it is 0")


@pytest.mark.parametrize("amqp", OLD)
def test_patterns_of_names(amqp: Any) -> None:
    amqp.Exchange.Declare(ticket=1, exchange="a-b_c.d:E9", type="direct").validate()
    for name in ("", "a b", "é"):
        refused(amqp.Exchange.Declare(ticket=1, exchange=name, type="direct"), "exchange", "match")
        refused(amqp.Exchange.Declare(ticket=1, exchange="e", type=name), "type", "match")
    amqp.Queue.Declare(ticket=1, queue="").validate()
    refused(amqp.Queue.Declare(ticket=1, queue="a b"), "queue", "match")
    amqp.Connection.Open(virtual_host="/vhost_1").validate()
    for name in ("", "a b", "v" * 128):
        with pytest.raises(ValidationError, match="virtual_host"):
            amqp.Connection.Open(virtual_host=name).validate()


@pytest.mark.parametrize("amqp", OLD)
def test_out_of_band_is_empty(amqp: Any) -> None:
    amqp.Channel.Open().validate()
    refused(amqp.Channel.Open(out_of_band="x"), "out_of_band", "must be empty")


@pytest.mark.parametrize("amqp", [v0_8, v0_9, v0_9_1])
def test_channel_max_is_compared_where_tune_is_there(amqp: Any) -> None:
    tune_ok = amqp.Connection.TuneOk(channel_max=11)
    tune_ok.validate()  # with what it would be compared is not known
    tune_ok.validate(amqp.Connection.Tune(channel_max=11))
    tune_ok.validate(amqp.Connection.Close(reply_text="x"))
    refused(
        tune_ok,
        "channel_max",
        "must be at most 10, the value of connection.tune.channel_max; it is 11",
        amqp.Connection.Close(),
        amqp.Connection.Tune(channel_max=10),
    )


@pytest.mark.parametrize(
    ("method", "field"),
    [
        ("Integer", "operation"),
        ("String", "operation"),
        ("Table", "integer_op"),
        ("Table", "string_op"),
    ],
)
def test_operations_of_the_class_test_are_numbered_from_1(method: str, field: str) -> None:
    kind = getattr(v0_8.Test, method)
    good = dict.fromkeys([name for name in kind.FIELDS if name.endswith(("op", "operation"))], 1)
    for number in (1, 2, 3):
        kind(**{**good, field: number}).validate()
    for number in (0, 4, 250):
        refused(kind(**{**good, field: number}), field, "must be one of 1 (add), 2 (min), 3 (max)")


# ---- every kind of assert, loaded at run time


def test_null() -> None:
    y = loaded('<field name="s" type="shortstr"><assert check="null"/></field>').Y
    y().validate()
    refused(y(s="x"), "s", "must be empty")
    y = loaded('<field name="s" type="longstr"><assert check="null"/></field>').Y
    refused(y(s=b"x"), "s", "must be empty")
    y = loaded('<field name="t" type="table"><assert check="null"/></field>').Y
    y(t={}).validate()
    refused(y(t={"a": 1}), "t", "must be empty")


def test_enum_of_texts_and_of_numbers() -> None:
    choices = '<assert check="enum"><value name="red"/><value name="blue" value="9"/></assert>'
    y = loaded(f'<field name="s" type="shortstr">{choices}</field>').Y
    y(s="blue").validate()
    refused(y(s="green"), "s", "must be one of 1 (red), 9 (blue)")
    y = loaded(f'<field name="n" type="longlong">{choices}</field>').Y
    y(n=9).validate()
    refused(y(n=2), "n", "must be one of 1 (red), 9 (blue)")


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        ("eq", [5], [4, 6]),
        ("ne", [4, 6], [5]),
        ("lt", [4], [5, 6]),
        ("le", [4, 5], [6]),
        ("gt", [6], [4, 5]),
        ("ge", [5, 6], [4]),
    ],
)
def test_comparisons(check: str, good: list[int], bad: list[int]) -> None:
    by_value = loaded(f'<field name="n" type="long"><assert check="{check}" value="5"/></field>').Y
    by_field = loaded(
        f'<field name="n" type="long"><assert check="{check}" field="m"/></field>'
        '<field name="m" type="octet"/>'
    ).Y
    module = loaded(
        f'<field name="n" type="long"><assert check="{check}" method="z" field="limit"/></field>'
    )
    limit = module.Z(limit=5)
    for number in good:
        by_value(n=number).validate()
        by_field(n=number, m=5).validate()
        module.Y(n=number).validate(limit)
    for number in bad:
        refused(by_value(n=number), "n", f"5; it is {number}")
        refused(by_field(n=number, m=5), "n", f"5, the value of m; it is {number}")
        refused(module.Y(n=number), "n", f"5, the value of x.z.limit; it is {number}", limit)
        module.Y(n=number).validate()


def test_times_are_compared_by_their_seconds() -> None:
    time = '<field name="begun" type="timestamp"/><field name="done" type="timestamp">'
    y = loaded(f'{time}<assert check="ge" field="begun"/></field>').Y
    noon = datetime(2026, 1, 2, 12, tzinfo=UTC)
    same = noon.astimezone(timezone(timedelta(hours=5)))
    y(begun=noon, done=same).validate()
    y(begun=noon, done=noon + timedelta(seconds=1)).validate()
    early = noon - timedelta(seconds=1)
    refused(y(begun=same, done=early), "done", "must be at least 2026-01-02 17:00:00+05:00")
    y = loaded('<field name="t" type="timestamp"><assert check="gt" value="60"/></field>').Y
    y(t=datetime.fromtimestamp(61, UTC)).validate()
    refused(y(t=datetime.fromtimestamp(60, UTC)), "t", "must be above 60")


def test_comparison_of_texts_and_times() -> None:
    y = loaded(
        '<field name="a" type="shortstr"><assert check="eq" field="b"/></field>'
        '<field name="b" type="longstr"/>'
    ).Y
    y(a="é", b="é".encode()).validate()
    with pytest.raises(ValidationError) as caught:
        y(a="secret", b=b"other").validate()
    assert "secret" not in str(caught.value)
    assert "other than" not in str(caught.value)
    y = loaded('<field name="t" type="timestamp"><assert check="gt" value="5"/></field>').Y
    y(t=6).validate()
    refused(y(t=5), "t", "must be above 5")


def test_a_pattern_holds_for_longstr_too() -> None:
    y = loaded('<field name="s" type="longstr"><assert check="regexp" value="[a-z]+"/></field>').Y
    y(s=b"abc").validate()
    for text in (b"", b"a1", b"\xff"):
        refused(y(s=text), "s", "does not match [a-z]+")


def test_an_assert_with_a_respelt_field_name() -> None:
    y = loaded(
        '<field name="class" type="short"/>'
        '<field name="n" type="short"><assert check="le" field="class"/></field>'
    ).Y
    y(class_=2, n=2).validate()
    refused(y(class_=1, n=2), "n", "must be at most 1, the value of class_")


def test_asserts_of_properties_and_of_encode() -> None:
    pytest.importorskip("lxml")
    text = (
        '<amqp major="0" minor="9"><class name="x" index="1">'
        '<field name="kind" type="octet"><assert check="enum"><value name="a"/></assert></field>'
        '<field name="least" type="octet"><assert check="le" field="kind"/></field>'
        '<method name="y" index="1" content="1"/></class></amqp>'
    )
    amqp = amqpcodec.load_xml_spec(io.BytesIO(text.encode()))
    amqp.X.Properties(kind=1).validate()
    amqp.X.Properties(kind=1, least=1).validate()
    bad = amqp.Header(0, amqp.X.Properties(kind=2))
    assert amqp.encode(1, bad)
    with pytest.raises(EncodeError, match="kind"):
        amqp.encode(1, bad, validate=True)
    with pytest.raises(ValidationError, match="least"):
        amqp.X.Properties(kind=1, least=2).validate()


def test_a_comparison_with_a_property_that_is_absent_holds() -> None:
    pytest.importorskip("lxml")
    text = (
        '<amqp major="0" minor="9"><class name="x" index="1"><field name="kind" type="octet"/>'
        '<field name="least" type="octet"><assert check="le" field="kind"/></field>'
        '<method name="y" index="1" content="1"/></class></amqp>'
    )
    amqp = amqpcodec.load_xml_spec(io.BytesIO(text.encode()))
    amqp.X.Properties(least=2).validate()


# ---- what a loaded specification says of frames


@pytest.mark.parametrize("name", ["frame-method", "frame-header", "frame-body", "frame-end"])
def test_another_framing_is_refused(name: str) -> None:
    pytest.importorskip("lxml")
    text = f'<amqp major="0" minor="9"><constant name="{name}" value="205"/></amqp>'
    with pytest.raises(SpecError, match=f"constant '{name}' is 205; frames"):
        amqpcodec.load_xml_spec(io.BytesIO(text.encode()))


def test_constants_that_the_file_leaves_out() -> None:
    pytest.importorskip("lxml")
    amqp = amqpcodec.load_xml_spec(io.BytesIO(b'<amqp major="0" minor="9"/>'))
    assert (amqp.FRAME_END, amqp.FRAME_MIN_SIZE) == (206, 4096)


def test_without_a_file_it_is_0_9_1() -> None:
    assert amqpcodec.load_xml_spec() is v0_9_1


@pytest.mark.parametrize(
    ("amqp", "codes"),
    [
        (
            v0_9_1,
            {
                ("basic.consume", "consumer_tag", "01"): 530,
                ("basic.ack", "multiple", "exists"): 406,
                ("tx.commit", "", "transacted"): 406,
                ("channel.open", "", "state"): 504,
                ("queue.declare", "exclusive", "exclusive"): 405,
                ("exchange.bind", "source", "exchange-existence"): 404,
            },
        ),
        (
            v0_9,
            {
                ("basic.consume", "consumer_tag", "01"): 530,
                ("message.consume", "destination", "02"): 530,
                ("queue.declare", "exclusive", "02"): 504,
                ("access.request-ok", "", "per-channel"): 530,
            },
        ),
        (v0_8, {}),
    ],
)
def test_reply_codes_of_rules_are_in_the_table(
    amqp: Any, codes: dict[tuple[str, str, str], int]
) -> None:
    present = {
        (f"{cls['name']}.{method['name']}", field, rule): code
        for cls in amqp.PROTOCOL.table["classes"]
        for method in cls["methods"]
        for field, rule, code in method["reply_codes"]
    }
    assert codes.items() <= present.items()
    assert len(present) == {v0_9_1: 35, v0_9: 28, v0_8: 0}[amqp]
