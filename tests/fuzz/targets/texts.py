"""Texts that people and other programs write: JSON, specifications, conditions."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow as pa

from amqpcodec import batch
from amqpcodec.cli import where
from amqpcodec.spec import SpecError, load
from tests.fuzz import mutators
from tests.fuzz.target import Choices, Target

ROOT = Path(__file__).resolve().parents[3]


def json_text(data: bytes) -> None:
    """Text of headers is written and read back as what it says, or refused as a row's error."""
    choices = Choices(data, 1)
    field_tables = choices.pick(("json", "variant", "map"))
    text = choices.rest.decode("utf-8", "surrogatepass") if is_text(choices.rest) else None
    column = pa.array([text], pa.string()) if text is not None else pa.array([choices.rest])
    encoded = batch.encode(pa.record_batch({"properties.headers": column}))
    written = pa.array(encoded)
    if encoded.error_count:
        assert written.null_count == 1
        return
    read = pa.record_batch(
        batch.decode(
            written,
            level="message",
            fields=["properties.headers", "error"],
            field_tables=field_tables,
        )
    )
    read.validate(full=True)
    assert read.column("error").null_count == read.num_rows == 1, read.column("error")
    if field_tables != "json" or text is None:
        return
    headers_text = read.column(0).to_pylist()[0]
    json.loads(headers_text)
    again = batch.encode(
        pa.record_batch({"properties.headers": pa.array([headers_text], pa.string())})
    )
    assert again.error_count == 0
    twice = pa.record_batch(
        batch.decode(pa.array(again), level="message", fields=["properties.headers"])
    )
    assert twice.column(0).to_pylist() == [headers_text]


def is_text(data: bytes) -> bool:
    """Whether these bytes are UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def json_seeds() -> Iterator[bytes]:
    """Each form of value."""
    for text in (
        "{}", '{"a":1,"b":-2.5e3,"c":"x","d":null,"e":true,"f":[1,[2]],"g":{"h":{}}}',
        '{"$table":[["k",1],["k",2]]}', '{"b":{"$binary":"AAEC"},"d":{"$decimal":"-1.50"}}',
        '{"t":{"$timestamp":1700000000},"n":{"$double":"NaN"},"$$x":1}', '{"$key:AP8=":1}',
        '{"u":"\\u00e9\\ud83d\\ude00\\n","n":9223372036854775807,"m":-9223372036854775808}',
        '{"a":1', "[]", '{"a":1,"a":2}', '{"x":1e400}',
    ):  # fmt: skip
        for choice in range(3):
            yield bytes([choice]) + text.encode()


def xml(data: bytes) -> None:
    """A specification or a SpecError; nothing else, whatever the file holds."""
    try:
        load(io.BytesIO(data))
    except SpecError:
        return


def xml_seeds() -> Iterator[bytes]:
    """Small grammars of all forms, and pieces of those that are built in."""
    yield (
        b'<amqp major="0" minor="9" revision="1" port="5672">'
        b'<constant name="frame-end" value="206"/>'
        b'<domain name="bit" type="bit"/>'
        b'<domain name="n" type="short"><assert check="notnull"/></domain>'
        b'<class name="c" index="10" handler="c"><field name="p" domain="n"/>'
        b'<method name="m" index="10" synchronous="1"><response name="m-ok"/>'
        b'<chassis name="server" implement="MUST"/><field name="f" domain="bit"/></method>'
        b'<method name="m-ok" index="11"/></class></amqp>'
    )
    for path in sorted((ROOT / "spec").glob("amqp0-*.xml")):
        text = path.read_bytes()
        start, stop = text.find(b"<domain"), text.find(b"</class>")
        head = text[: text.find(b">", text.find(b"<amqp ")) + 1]
        yield (head + text[start : stop + 8] + b"</amqp>")[:20_000]


BATCH = pa.record_batch(
    {
        "method": ["basic.publish", None, "basic.ack"],
        "channel": pa.array([1, 2, None], pa.int32()),
        "arguments": ['{"exchange":"x","n":1}', None, '{"a":{"b":[1]}}'],
        "payload": [b"abc", None, b"\xff"],
        "flags": pa.array([["gap"], [], None], pa.list_(pa.string())),
        "timestamp": pa.array([0, 10**15, None], pa.timestamp("us", "UTC")),
        "properties": pa.array([{"type": "t", "priority": 1}, None, {"type": None, "priority": 2}]),
    }
)


def conditions(data: bytes) -> None:
    """A condition selects rows or is refused with a text that says where."""
    text = data.decode("utf-8", "replace")
    try:
        selection = where.parse(text).fits(BATCH)
    except where.WhereError as error:
        assert str(error)
        return
    assert len(selection) == BATCH.num_rows


def condition_seeds() -> Iterator[bytes]:
    """Every sign and form of value."""
    for text in (
        "method = basic.publish", "a", "((((", "channel > 1 and channel <= 7",
        "not (method ~ '^basic') or channel = 2",
        "flags = gap", "timestamp >= 2020-01-01", "properties.priority != 1", "arguments.a.b = 1",
        'arguments.exchange = "x"', "method = null", "payload = abc", "method ~ (a+)+$",
    ):  # fmt: skip
        yield text.encode()


def xml_changes(data: bytes, rng: Random) -> bytes:
    """Attributes and elements repeated, cut out and exchanged."""
    parts = data.split(b"<")
    for _ in range(rng.randint(1, 3)):
        if len(parts) < 3:
            break
        place = rng.randrange(1, len(parts))
        how = rng.randrange(4)
        if how == 0:
            del parts[place]
        elif how == 1:
            parts.insert(rng.randrange(1, len(parts)), parts[place])
        elif how == 2:
            words = parts[place].split(b'"')
            words[rng.randrange(len(words))] = rng.choice(
                (b"", b"-1", b"65536", b"99999999999", b"bit", b"table", b"\xff", b"a" * 300)
            )
            parts[place] = b'"'.join(words)
        else:
            piece = bytearray(parts[place])
            mutators.edit(piece, rng)
            parts[place] = bytes(piece)
    return b"<".join(parts)


TARGETS = (
    Target("json", json_text, json_seeds, mutators.plain(1), largest=400),
    Target(
        "xml",
        xml,
        xml_seeds,
        xml_changes,
        largest=30_000,
        python=(
            "amqpcodec.spec.document",
            "amqpcodec.spec.loader",
            "amqpcodec.spec.model",
            "amqpcodec.spec.names",
        ),
    ),
    Target(
        "where",
        conditions,
        condition_seeds,
        mutators.plain(0),
        largest=200,
        python=("amqpcodec.cli.where",),
    ),
)
