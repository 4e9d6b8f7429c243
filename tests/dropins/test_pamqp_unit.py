"""pamqp's drop-in, piece by piece: install and uninstall, checks, switches, strictness."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from string import ascii_letters, digits
from typing import Any

import pytest

from amqpcodec import _dropins
from amqpcodec.types import RawValue

pytest.importorskip("pamqp")

from pamqp import body, commands, decode, encode, exceptions, frame, header, heartbeat

from amqpcodec.compat import CompatWarning
from amqpcodec.compat import pamqp as drop_in
from tests.support import amqp091_wire as w
from tests.support.growth import block_growth

Basic = commands.Basic


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    drop_in.uninstall()
    drop_in.install()
    yield
    drop_in.uninstall()
    encode.support_deprecated_rabbitmq(False)


def fallback_count() -> int:
    return sum(drop_in.fallbacks().values())


def test_uninstall_puts_the_very_objects_back() -> None:
    drop_in.uninstall()
    before = [dict(vars(module)) for module in (frame, encode, decode)]
    drop_in.install()
    changed = [
        {name for name, value in vars(module).items() if value is not was.get(name)}
        for module, was in zip((frame, encode, decode), before, strict=True)
    ]
    assert changed[0] == {"marshal", "unmarshal"}
    assert {"field_table", "field_array", "encode_table_value"} < changed[1]
    assert {"field_table", "field_array", "embedded_value"} < changed[2]
    drop_in.uninstall()
    assert [dict(vars(module)) for module in (frame, encode, decode)] == before


@pytest.mark.parametrize(
    ("method", "sure"),
    [
        (Basic.Publish(exchange="orders", routing_key="größe"), True),
        (Basic.Publish(exchange="", routing_key="k" * 255, mandatory=True), True),
        (Basic.Publish(exchange="a" * 127), True),
        (Basic.Publish(exchange=ascii_letters + digits + "-_.:@#,/+ "), True),
        (commands.Queue.Declare(queue="q" * 255, arguments={"x-max": 5}), True),
        (commands.Connection.Open("/"), True),
        (commands.Connection.Open("größe"), False),  # pamqp allows it, and is asked
        (commands.Channel.Open(), True),
    ],
)
def test_what_a_check_lets_through_needs_no_check(method: Any, sure: bool) -> None:
    before = fallback_count()
    ours = frame.marshal(method, 1)
    assert (fallback_count() == before) is sure
    drop_in.uninstall()
    assert frame.marshal(method, 1) == ours


@pytest.mark.parametrize(
    ("name", "value"),
    [("ticket", 1), ("exchange", "ä"), ("exchange", "a" * 128), ("exchange", "a*b")],
)
def test_what_a_check_refuses_is_refused(name: str, value: Any) -> None:
    method = Basic.Publish()
    setattr(method, name, value)
    with pytest.raises(ValueError):
        frame.marshal(method, 1)


@pytest.mark.parametrize(
    ("value", "octets", "deprecated"),
    [
        (127, b"b\x7f", b"b\x7f"),
        (128, b"s\x00\x80", b"s\x00\x80"),
        (40000, b"u\x9c\x40", b"I\x00\x00\x9c\x40"),
        (2**31, b"i\x80\x00\x00\x00", b"l\x00\x00\x00\x00\x80\x00\x00\x00"),
        (-(2**31) - 1, b"l\xff\xff\xff\xff\x7f\xff\xff\xff", b"l\xff\xff\xff\xff\x7f\xff\xff\xff"),
    ],
)
def test_old_brokers_get_no_unsigned_numbers(value: int, octets: bytes, deprecated: bytes) -> None:
    before = fallback_count()
    properties = Basic.Properties(headers={"n": value})
    assert octets in frame.marshal(header.ContentHeader(0, 5, properties), 1)
    assert encode.encode_table_value(value) == octets
    encode.support_deprecated_rabbitmq()
    assert deprecated in frame.marshal(header.ContentHeader(0, 5, properties), 1)
    assert encode.encode_table_value(value) == deprecated
    assert fallback_count() == before


def test_versions_that_write_no_negative_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before 4.0.0: such numbers are left to pamqp, which refuses them then."""
    profile = _dropins.ClientProfile
    monkeypatch.setattr(
        _dropins,
        "ClientProfile",
        lambda read, **options: profile(read, **options | {"negative_bytes": False}),
    )
    drop_in.uninstall()
    drop_in.install()
    for value in (-129, -128, -1, 0, 127):
        before = fallback_count()
        octets = encode.field_table({"n": value})
        assert (fallback_count() > before) == (-128 <= value < 0)
        assert decode.field_table(octets) == (len(octets), {"n": value})


def test_versions_that_read_short_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where `s` is one, as in the letter of 0-9-1, ours asks and does the same."""
    drop_in.uninstall()
    monkeypatch.setattr(drop_in._DROP_IN, "versions", ("0.1",))
    monkeypatch.setitem(decode.TABLE_MAPPING, b"s", decode.short_str)
    with pytest.warns(CompatWarning, match=r"knows pamqp 0\.1"):
        drop_in.install()
    before = fallback_count()
    octets = w.table(("k", b"s\5caf\xc3\xa9"), ("n", b"s\0"))
    assert decode.field_table(octets) == (len(octets), {"k": "caf\u00e9", "n": ""})
    assert fallback_count() == before
    with pytest.raises(UnicodeDecodeError):
        decode.field_table(w.table(("k", b"s\2\xff\xff")))
    assert fallback_count() > before


@pytest.mark.parametrize("size", [2, 24, 25, 60])
def test_names_are_sorted(size: int) -> None:
    names = [f"{(i * 37) % size:03}" + "ab"[i % 2] * (i % 3) for i in range(size)]
    before = fallback_count()
    octets = encode.field_table(dict.fromkeys(names, 1))
    assert list(decode.field_table(octets)[1]) == sorted(names)
    odd = [*names, "ä", "z", "Ω"]
    assert list(decode.field_table(encode.field_table(dict.fromkeys(odd, 1)))[1]) == sorted(odd)
    assert fallback_count() == before


def test_a_long_name_is_cut_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    properties = Basic.Properties(headers={"k" * 129: 1})
    with caplog.at_level(logging.WARNING):
        octets = frame.marshal(header.ContentHeader(0, 0, properties), 1)
    assert b"\x80" + b"k" * 128 + b"b\x01" in octets
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2024, 1, 2, 3, 4, 5, 999999),
        datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),
        datetime(2024, 7, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=5, minutes=30))),
        datetime(1970, 1, 1, 5, 30, tzinfo=timezone(timedelta(hours=5, minutes=30))),
        datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
    ],
)
def test_moments(moment: datetime) -> None:
    before = fallback_count()
    ours = encode.timestamp(moment)
    assert fallback_count() == before
    drop_in.uninstall()
    assert encode.timestamp(moment) == ours


@pytest.mark.parametrize("length", [0, 3, 4, 6, 7, 8, 20])
def test_the_beginning_of_a_frame_is_told_at_once(length: int) -> None:
    octets = frame.marshal(Basic.Publish(exchange="orders"), 1)[:length]
    before = fallback_count()
    with pytest.raises(exceptions.UnmarshalingException) as ours:
        frame.unmarshal(octets)
    assert fallback_count() == before
    drop_in.uninstall()
    with pytest.raises(exceptions.UnmarshalingException) as theirs:
        frame.unmarshal(octets)
    assert ours.value.args == theirs.value.args
    assert ours.value.__context__ is None


def test_small_frames() -> None:
    before = fallback_count()
    assert frame.marshal(heartbeat.Heartbeat(), 0) == b"\x08\0\0\0\0\0\0\xce"
    assert type(frame.unmarshal(b"\x08\0\0\0\0\0\0\xce")[2]) is heartbeat.Heartbeat
    octets = frame.marshal(body.ContentBody(b"abc"), 7)
    assert frame.unmarshal(octets + b"more")[:2] == (11, 7)
    assert fallback_count() == before


def test_one_value_does_not_end_the_stream() -> None:
    octets = w.headers_frame(b"\x01nb\x05\x01uU\0\x01", 5, priority=9)
    with pytest.raises(exceptions.UnmarshalingException):
        frame.unmarshal(octets)
    drop_in.install(strict=False)
    properties = frame.unmarshal(octets)[2].properties
    assert properties.headers == {"n": 5, "u": RawValue("U", b"\0\x01")}
    assert properties.priority == 9
    assert frame.marshal(header.ContentHeader(0, 5, properties), 1) == octets
    drop_in.install(strict=True)
    with pytest.raises(exceptions.UnmarshalingException):
        frame.unmarshal(octets)


def test_a_name_that_is_not_text_does_not_either() -> None:
    octets = w.headers_frame(b"\x02\xffab\x05\x01nb\x05", 5, priority=9)
    drop_in.install(strict=False)
    assert frame.unmarshal(octets)[2].properties.headers == {"\udcffa": 5, "n": 5}


def test_nothing_leaks() -> None:
    properties = Basic.Properties(headers={"k": ["v", {"n": 2**40}]}, message_id="m" * 50)
    good = frame.marshal(header.ContentHeader(0, 5, properties), 1)
    bad = good.replace(b"A\0\0\0", b"A\xff\0\0")

    def once() -> None:
        frame.marshal(frame.unmarshal(good)[2], 1)
        for octets in (good[:-1], bad):
            try:
                frame.unmarshal(octets)
            except exceptions.UnmarshalingException:
                pass
        try:
            frame.marshal(header.ContentHeader(0, 5, Basic.Properties(headers={"k": 1j})), 1)
        except TypeError:
            pass

    assert block_growth(once, 2000) < 200


#: Conversions that no function of pamqp's has, bytes, and what they are read as.
CONVERSIONS = [
    ("bytes", b"\0\0\0\1a", b"a"),
    ("uint64", b"\xff" * 8, 2**64 - 1),
    ("naive", bytes(8), datetime(1970, 1, 1)),
    ("unsigned decimal product", b"\1\xff\xff\xff\xff", Decimal("429496729.5")),
    ("float cut", b"\x40\x20\0\0", 2),
    ("void", b"", None),
]


@pytest.mark.parametrize(("conversion", "octets", "value"), CONVERSIONS)
def test_a_reader_of_each_conversion(conversion: str, octets: bytes, value: Any) -> None:
    codec = drop_in._DROP_IN._patch.codec
    reader = _dropins.pamqp_reader(codec, "", conversion, decode.embedded_value)
    assert repr(reader(octets + b"more")) == repr((len(octets), value))


def test_the_conversion_of_a_timestamp_is_one_of_times() -> None:
    profile = drop_in._profile(decode.embedded_value, encode.encode_table_value)
    with pytest.raises(KeyError, match="text"):
        profile.make(timestamp="text")
