"""The Python of the guides to Spark runs, block after block."""

from __future__ import annotations

import re
import shutil

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from amqpcodec import v0_9_1
from amqpcodec.spark.planning.versions import DATA_SOURCES
from amqpcodec.v0_9_1 import Basic, Channel, Confirm
from tests.paths import REPO
from tests.spark.frames import RECORDING
from tests.support import recording

PAGES = ["spark.md", "spark-questions.md"]


def run_page(name, spark, folder):
    """Run the blocks of a page over the captures in a folder; the names that they made."""
    page = (REPO / "docs" / name).read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == page.count("```python") > 6
    names = {"spark": spark}
    for block in blocks:
        exec(compile(block.replace("captures/", f"{folder}/"), f"docs/{name}", "exec"), names)
    return names


@pytest.mark.parametrize("name", PAGES)
def test_blocks(name, spark, tmp_path):
    import gzip

    if name == "spark.md" and not DATA_SOURCES:
        pytest.skip("the page is about the format, too, which Spark 3.5 does not have")

    folder = tmp_path / "captures"
    folder.mkdir()
    shutil.copy(RECORDING, folder)
    (folder / "plain.pcap").write_bytes(gzip.decompress(RECORDING.read_bytes()))
    run_page(name, spark, folder)


def published(key):
    return v0_9_1.encode_message(1, Basic.Publish(exchange="e", routing_key=key), None, b"x")


def delivered(tag):
    return v0_9_1.encode_message(1, Basic.Deliver("c", tag, False, "", "k"), None, b"x")


def life_of_a_channel(queue, keys, ack, deliveries):
    """A channel that confirms what is published, and consumes from a queue with the tag c."""
    methods = [
        (0, Channel.Open()),
        (1, Channel.OpenOk()),
        (0, Confirm.Select()),
        (1, Confirm.SelectOk()),
        *[(0, published(key)) for key in keys],
        (0, Confirm.Select()),  # once more, which changes nothing
        (1, Confirm.SelectOk()),
        (0, published("last")),
        (1, ack),
        (0, Basic.Consume(queue=queue, consumer_tag="c")),
        (1, Basic.ConsumeOk("c")),
        *[(1, delivered(tag + 1)) for tag in range(deliveries)],
        (0, Basic.Ack(deliveries, True)),
        (0, Channel.Close(200, "bye")),
        (1, Channel.CloseOk()),
    ]
    return [(who, m if isinstance(m, bytes) else v0_9_1.encode(1, m)) for who, m in methods]


def test_lives_of_a_channel_are_told_apart(spark, tmp_path):
    messages = [
        (0, v0_9_1.PROTOCOL_HEADER),
        *life_of_a_channel("q1", [], Basic.Ack(1), 1),
        *life_of_a_channel("q2", ["a"], Basic.Ack(2, True), 2),
        (0, Channel.Open()),
        (1, Channel.OpenOk()),
        (0, Basic.Consume(queue="q3", consumer_tag="c")),
        (1, Basic.ConsumeOk("c")),
        (0, Basic.Cancel("c")),
        (1, Basic.CancelOk("c")),
        (0, Basic.Consume(queue="q4", consumer_tag="c")),
        (1, Basic.ConsumeOk("c")),
        (1, delivered(1)),
    ]
    messages = [(who, m if isinstance(m, bytes) else v0_9_1.encode(1, m)) for who, m in messages]
    (tmp_path / "lives.pcap").write_bytes(recording.pcap(recording.packets(messages)))
    names = run_page("spark-questions.md", spark, tmp_path)
    queues = {row.queue: row for row in names["queues"].collect()}
    assert {queue: queues[queue].delivered for queue in ("q1", "q2", "q4")} == {
        **{"q1": 1, "q2": 2, "q4": 1},
    }
    assert {queue: queues[queue].acknowledged for queue in ("q1", "q2", "q4")} == {
        **{"q1": 1, "q2": 2, "q4": 0},
    }
    spans = {row.span: row for row in names["latency"].collect()}
    assert spans["published to confirmed"]["count"] == 3
    assert {row.routing_key for row in names["publishers"].collect()} >= {"a", "last"}
