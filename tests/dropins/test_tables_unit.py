"""An entry of a client's own tables that somebody exchanged before the drop-in was installed."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from unittest import mock

import pytest

from amqpcodec.compat import CompatWarning
from tests.dropins.canon import outcome
from tests.dropins.conftest import need
from tests.dropins.stock import dropin, live
from tests.support.amqp091_wire import table


@contextmanager
def exchanged(package: str, table: Any, key: Any, value: Any) -> Iterator[tuple[Any, list[str]]]:
    """(The drop-in of a client that has another entry in one of its tables, what it warned of)."""
    module = dropin(package)
    with mock.patch.dict(table, {key: value}), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", CompatWarning)
        module.install()
        try:
            yield module, [str(one.message) for one in warned]
        finally:
            module.uninstall()


#: Tag, whose function stands there instead, and bytes of which both make different values. Where
#: the tag has a conversion of that kind, the drop-in uses it; else it leaves the tag to the client.
ENTRIES = [
    (b"t", b"B", b"\x07", 7),
    (b"b", b"B", b"\xff", 255),
    (b"B", b"b", b"\x80", -128),
    (b"s", b"u", b"\xff\xfe", 65534),
    (b"u", b"s", b"\x80\0", -32768),
    (b"I", b"i", b"\xff" * 4, 2**32 - 1),
    (b"i", b"I", b"\x80" + bytes(3), -(2**31)),
    (b"I", b"l", b"\0\0\0\1\0\0\0\0", 2**32),
    (b"L", b"d", b"\x3f\xf8" + bytes(6), 1.5),
    (b"S", b"x", b"\0\0\0\1a", bytearray(b"a")),
    (b"V", b"t", b"\1", True),
]


@pytest.mark.parametrize(("tag", "other", "payload", "value"), ENTRIES)
def test_a_tag_with_another_function_of_the_client(
    tag: bytes, other: bytes, payload: bytes, value: Any
) -> None:
    need("pamqp")
    side = live("pamqp")
    mapping = side.decode.TABLE_MAPPING
    with exchanged("pamqp", mapping, tag, mapping[other]) as (module, texts):
        is_left = any(f"reading tag {tag.decode()} is left to pamqp: " in text for text in texts)
        assert is_left == (tag in b"tLSV")
        raw = table(("k", tag + payload))
        assert side.decode.field_table(raw) == (len(raw), {"k": value})
        assert type(side.decode.field_table(raw)[1]["k"]) is type(value)
        before = module.fallbacks()
        raw = table(("k", b"D" + b"\2\0\0\0\x64"))  # which is read as before
        assert side.decode.field_table(raw)[0] == len(raw)
        assert module.fallbacks() == before
        report = module._DROP_IN.report()
        assert report.is_known
        assert bool(report.uncompiled) == is_left


@pytest.mark.parametrize("tag", [b"A", b"F"])
def test_arrays_or_tables_by_another_function(tag: bytes) -> None:
    """All values are left to the client, since each may hold one."""
    need("pamqp")
    side = live("pamqp")
    mapping = side.decode.TABLE_MAPPING
    with exchanged("pamqp", mapping, tag, mapping[b"x"]) as (_, texts):
        assert any("reading and writing values is left to pamqp: read tag" in one for one in texts)
        raw = table(("k", tag + b"\0\0\0\1V"))
        assert side.decode.field_table(raw) == (len(raw), {"k": bytearray(b"V")})


@pytest.mark.parametrize("direction", ["decode", "encode"])
@pytest.mark.parametrize(
    ("name", "other"),
    [("octet", "short"), ("short", "octet"), ("long", "short"), ("longlong", "long")],
)
def test_arguments_of_methods_by_another_function(direction: str, name: str, other: str) -> None:
    need("pamqp")
    side = live("pamqp")
    qos = side.commands.Basic.Qos(prefetch_size=7, prefetch_count=200)
    header = side.header.ContentHeader(0, 5, side.commands.Basic.Properties(priority=200))
    frames = [side.frame.marshal(frame, 1) for frame in (qos, header)]

    def answers() -> list[Any]:
        read = [outcome(lambda raw=raw: side.frame.unmarshal(raw)) for raw in frames]
        return read + [outcome(lambda one=one: side.frame.marshal(one, 1)) for one in (qos, header)]

    table = getattr(side, direction).METHODS
    with exchanged("pamqp", table, name, table[other]) as (module, texts):
        assert any("reading and writing values is left to pamqp: " in one for one in texts)
        assert module._DROP_IN.report().uncompiled
        with_drop_in = answers()
        module.uninstall()
        assert with_drop_in == answers()


@pytest.mark.parametrize(
    ("package", "registry", "name"),
    [("pamqp", "commands", "INDEX_MAPPING"), ("pika", "spec", "methods")],
)
def test_a_method_with_the_class_of_another(package: str, registry: str, name: str) -> None:
    """Basic.ConsumeOk under the number of Basic.CancelOk, which has the same arguments."""
    need(package)
    side = live(package)
    table = getattr(getattr(side, registry), name)
    consume_ok, cancel_ok = 60 << 16 | 21, 60 << 16 | 31
    module = dropin(package)
    raw = bytes.fromhex("01 0001 00000006 003c 001f 01 61 ce")
    with mock.patch.dict(table, {cancel_ok: table[consume_ok]}):
        module.install()
        try:
            frame = (
                side.frame.unmarshal(raw)[2]
                if package == "pamqp"
                else side.frame.decode_frame(raw)[1].method
            )
            assert type(frame) is table[consume_ok]
            written = (
                side.frame.marshal(frame, 1)
                if package == "pamqp"
                else side.frame.Method(1, frame).marshal()
            )
            assert written == raw[:10] + b"\x15" + raw[11:]
        finally:
            module.uninstall()


def test_times_of_a_faked_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """As libraries do that set the time for tests: `datetime` is a class of theirs."""
    need("pika")
    side = live("pika")

    class FakeDatetime(datetime):
        pass

    monkeypatch.setattr(side.data, "datetime", FakeDatetime)
    module = dropin("pika")
    with pytest.warns(CompatWarning) as warned:
        module.install()
    assert any("reading tag T is left to pika" in str(one.message) for one in warned)
    try:
        raw = table(("k", b"T" + struct.pack(">Q", 1_700_000_000)))
        assert type(side.data.decode_table(raw, 0)[0]["k"]) is FakeDatetime
    finally:
        module.uninstall()


def test_what_nobody_changed_is_not_warned_of(
    package: str, recwarn: pytest.WarningsRecorder
) -> None:
    module = dropin(package)
    module.install()
    assert module._DROP_IN.report().uncompiled == ()
    module.uninstall()
    assert not [one for one in recwarn if issubclass(one.category, CompatWarning)]
