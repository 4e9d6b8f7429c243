"""What a notebook shows: escaped, bounded, and without credentials."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from amqpcodec import batch, capture
from amqpcodec import v0_9_1 as amqp
from amqpcodec import v1_0 as v1

DEMO = Path(__file__).parents[2] / "demo" / "kombu_celery.pcap.gz"
EVIL = "<script>alert(1)</script>&\"'"
SECRET = "hunter2"


class Cells(HTMLParser):
    """The texts of a table's cells, and all tags."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def cells(shown: Any) -> list[str]:
    read = Cells(shown._repr_html_())
    assert read.tags <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "code"}
    return read.texts


OBJECTS = [
    amqp.Basic.Publish(exchange=EVIL),
    amqp.Basic.Properties(headers={EVIL: EVIL}),
    amqp.Header(5, amqp.Basic.Properties(app_id=EVIL)),
    amqp.Message(amqp.Basic.Publish(EVIL), None, EVIL.encode()),
    v1.Open(EVIL),
    v1.Message(EVIL, subject=EVIL, application_properties={EVIL: 1}),
    v1.Delivery(v1.Transfer(0), v1.Message(EVIL)),
]


@pytest.mark.parametrize("shown", OBJECTS, ids=lambda instance: type(instance).__qualname__)
def test_objects_are_escaped(shown: Any) -> None:
    texts = cells(shown)
    assert texts[0] == type(shown).__qualname__
    assert any("alert(1)" in text for text in texts)


def test_objects_show_no_credentials() -> None:
    login = b"\0me\0" + SECRET.encode()
    for shown in (
        amqp.Connection.StartOk({}, "PLAIN", login),
        amqp.Connection.UpdateSecret(login),
        v1.SaslInit("PLAIN", login),
    ):
        assert SECRET not in "".join(cells(shown))
        assert "not shown" in "".join(cells(shown))


def test_large_objects_are_cut() -> None:
    for shown in (
        amqp.Basic.Properties(headers={f"name-{n}": "x" * 200 for n in range(1000)}),
        v1.Message(["x" * 100] * 10_000),
    ):
        assert len(shown._repr_html_()) < 10_000
    around = amqp.Basic.Properties(headers={})
    around.headers["self"] = around
    assert "..." in "".join(cells(around))


def test_batches_show_first_rows() -> None:
    publish = amqp.encode_message(1, amqp.Basic.Publish("", EVIL), None, EVIL.encode())
    columns = batch.decode(publish * 100, level="message")
    texts = cells(columns)
    assert texts[0] == "Columns: 100 rows, the first 20 of them shown"
    assert texts.count(EVIL) == 20
    assert f"{len(EVIL)} bytes" in texts
    [captured] = capture.read(DEMO)
    assert cells(captured)[0] == f"Batch: {len(captured)} rows, the first 20 of them shown"
    assert len(captured._repr_html_()) < 60_000
    empty = batch.decode(b"")
    assert cells(empty)[0] == "Columns: 0 rows"


@pytest.mark.parametrize(
    "fields", [None, ["arguments"], ["frame"], ["connection.start_ok.response"]]
)
def test_batches_show_no_credentials(fields: list[str] | None) -> None:
    properties = {"password": SECRET, "passwd": SECRET, "deep": [{"api_token": SECRET}]}
    frame = amqp.encode(0, amqp.Connection.StartOk(properties, "PLAIN", SECRET.encode()))
    shown = batch.decode(frame, fields=fields)._repr_html_()
    assert SECRET not in shown
    header = amqp.Header(0, amqp.Basic.Properties(headers={"x-secret": SECRET}))
    columns = ["headers.x-secret:string", "properties", "properties_json"]
    assert SECRET not in batch.decode(amqp.encode(1, header), fields=columns)._repr_html_()


def test_encoded_columns_say_how_many_errors_they_have() -> None:
    rows = pa.RecordBatch.from_pylist([{"routing_key": "k" * n} for n in (1, 300, 400)])
    assert repr(batch.encode(rows)) == "<amqpcodec.batch.Encoded: 3 rows, 2 with an error>"
