"""Where values lie that many alike messages are read from: across values, keys and their order."""

from __future__ import annotations

import array
from typing import Any

import pytest

from amqpcodec import _columns
from amqpcodec import v0_9_1 as amqp
from tests.columns.batch_rows import decode, pa
from tests.support import amqp091_wire as w

MANY = b"".join(w.publication(b"%d" % n) for n in range(300))
OPEN = w.method_frame("basic.publish", 2)


def views(values: Any, groups: Any = None, **how: Any) -> Any:
    record_batch = pa.record_batch(
        _columns.decode_columns(
            *(amqp.PROTOCOL, values, ["row", "body", "error"], "PERMISSIVE", "rabbitmq"),
            level="message",
            layout="view",
            groups=groups,
            **how,
        )
    )
    record_batch.validate(full=True)
    return record_batch.to_pylist()


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view()])
def test_messages_alike_to_the_end_of_what_is_read_last(kind: Any) -> None:
    """Which is not the end of memory where keys give another order."""
    values = pa.array([MANY, MANY * 4, MANY], kind)
    bodies = [b"%d" % n for n in range(300)]
    for groups, order in (([2, 1, 0], (2, 1, 0)), ([1, 0, 1], (1, 0, 2)), ([1, 1, 0], (2, 0, 1))):
        message_rows = views(values, array.array("i", groups))
        assert [row["body"] for row in message_rows] == bodies * 6
        rows = [row for row in order for _ in range(300 * (4 if row == 1 else 1))]
        assert [row["row"] for row in message_rows] == rows


def test_messages_alike_from_value_to_value() -> None:
    for values in ([MANY] * 3, [MANY, OPEN + MANY, MANY], [MANY + OPEN, MANY, b"", MANY]):
        message_rows = views(pa.array(values, pa.binary()))
        plain = decode(
            pa.array(values, pa.binary()), level="message", fields=["row", "body", "error"]
        )
        assert message_rows == plain.to_pylist()


def test_very_large_messages_among_those_alike() -> None:
    large = w.publication(b"x" * (3 << 20))
    for at in (0, 150, 299):
        data = b"".join(large if n == at else w.publication(b"%d" % n) for n in range(300))
        sizes = [3 << 20 if n == at else len(b"%d" % n) for n in range(300)]
        sizes += [len(b"%d" % n) for n in range(300)]
        assert [len(row["body"]) for row in views(data + MANY)] == sizes


def test_flags_that_no_property_has() -> None:
    """Of messages alike, each as it is by itself."""
    header = w.header_frame(1)
    more = header[:19] + b"\x00\x02" + header[21:]
    message_frames = w.method_frame("basic.publish") + more + w.body_frame(1, b"b")
    data = message_frames * 20 + MANY
    assert views(data) == decode(data, level="message", fields=["row", "body", "error"]).to_pylist()


@pytest.mark.parametrize(
    "fields",
    [
        ["routing_key", "basic.publish.routing_key"],
        ["properties.headers", "body"],
        ["headers.n:long", "body"],
        ["properties", "body"],
        ["arguments", "body"],
    ],
)
def test_columns_that_messages_alike_have_or_not(fields: list[str]) -> None:
    data = b"".join(w.publication(b"%d" % n, headers={"n": n}, message_id="m") for n in range(200))
    plain = decode(data, level="message", fields=fields)
    view_batch = decode(data, level="message", fields=fields, layout="view")
    assert view_batch.to_pylist() == plain.to_pylist()
