"""Messages whose frames lie in several Arrow batches, as a task of Spark gets them; no session."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from amqpcodec import DecodeError, batch  # noqa: E402
from amqpcodec import v1_0 as wire10  # noqa: E402
from amqpcodec.spark.functions import keyed_decode  # noqa: E402
from amqpcodec.spark.functions.frames import plan_of_batch  # noqa: E402
from tests.support.conversations import delivery_transfers, publication_frames  # noqa: E402

FIELDS = ["channel", "body", "frame", "error"]

publish = partial(publication_frames, size=4)


def table(values: list[tuple[str, bytes]]) -> Any:
    names, frames = zip(*values, strict=True)
    columns = {"id": range(len(values)), "key": names, "frame": pa.array(frames, pa.binary())}
    return pa.table(columns)


def run(values: list[tuple[str, bytes]], size: int, **options: Any) -> list[dict[str, Any]]:
    """Rows of a task that gets batches of so many rows."""
    options = {"protocol": "0-9-1", "mode": "PERMISSIVE", **options}
    plan = plan_of_batch(options["protocol"], "message", options.pop("fields", FIELDS))
    job = keyed_decode.Conversations(plan, 1, 1, **options)
    rows: list[dict[str, Any]] = []
    for out in job.run(table(values).to_batches(size)):
        out.validate(full=True)
        rows += out.to_pylist()
    return rows


MIXED = [
    *(("a", f) for i in range(9) for f in publish(b"%d" % i * i, 1 + i % 2)),
    *(("b", f) for f in publish(b"cut off")[:3]),  # and c must not go on with it
    *(("c", f) for f in publish(b"cut off")[3:]),
    *(("d", f) for f in publish(b"x" * 100)),
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_borders_of_batches_change_nothing(size: int) -> None:
    complete_table = table(MIXED)
    decoded_batch = pa.record_batch(
        batch.decode(complete_table, level="message", fields=["row", *FIELDS], by=["key"])
    )
    expected = [{"id": row.pop("row"), **row} for row in decoded_batch.to_pylist()]
    assert sum(row["error"] is None for row in expected) == 10
    rows = run(MIXED, size)
    errors = [
        (row.pop("error"), other.pop("error")) for row, other in zip(rows, expected, strict=True)
    ]
    assert rows == expected
    assert all((one is None) == (other is None) for one, other in errors)


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_deliveries(size: int) -> None:
    frames = [f for i in range(5) for f in delivery_transfers(b"%d" % i * 9, i)]
    values = [("a", f) for f in frames] + [
        ("b", f) for f in [frames[0], *delivery_transfers(b"new", 7)]
    ]
    rows = run(values, size, protocol="1.0", fields=["body", "error"])
    assert [row["body"] for row in rows[:5]] == [b"%d" % i * 9 for i in range(5)]
    # One delivery begins inside of another: both are errors, whole, and so is the rest.
    assert [row["body"] for row in rows[5:]] == [None] * (len(rows) - 5)
    assert all(row["error"] for row in rows[5:])
    assert rows == run(values, 1000, protocol="1.0", fields=["body", "error"])


def test_what_stays_open_is_an_error_row_with_its_bytes() -> None:
    frames = publish(b"0123456789")[:-1]
    (row,) = run([("a", f) for f in frames], 2)
    assert row["id"] == 0
    assert row["frame"] == b"".join(frames)
    assert "ended inside a message" in row["error"]
    assert "the rows of its key end" in row["error"]
    with pytest.raises(DecodeError, match=r"^id 0: "):
        run([("a", f) for f in frames], 2, mode="FAILFAST")
    assert run([("a", f) for f in frames], 2, mode="DROPMALFORMED") == []


def test_no_more_than_the_limit_is_held() -> None:
    one, other = publish(b"x" * 400, 1), publish(b"y" * 100, 2)
    values = [("a", f) for f in [*one[:60], *other[:-1], one[60], other[-1], *publish(b"z", 1)]]
    unlimited = run(values, 1)
    assert [row["body"] for row in unlimited if not row["error"]] == [b"y" * 100, b"z"]
    rows = run(values, 1, max_open_bytes=600)
    assert [row["body"] for row in rows if not row["error"]] == [b"y" * 100, b"z"]
    given_up = [row for row in rows if row["error"] and "more than 600 bytes" in row["error"]]
    assert len(given_up) == 1
    assert given_up[0]["id"] == 0
    assert b"".join(row["frame"] for row in rows if row["error"]) == b"".join(one[:61])


def test_no_more_messages_than_the_limit_are_held() -> None:
    """Each of these channels has a message that is open where every batch ends."""
    begun = [publish(b"x" * 9, channel) for channel in range(1, 9)]
    values = [("a", frames[0]) for frames in begun]
    values += [("a", frame) for frames in begun for frame in frames[1:]]
    bodies = [row["body"] for row in run(values, 1, max_open=8)]
    assert bodies == [b"x" * 9] * 8
    rows = run(values, 1, max_open=7)
    skipped_ids = [
        row["id"]
        for row in rows
        if row["error"] and "more than 7 messages are open" in row["error"]
    ]
    assert skipped_ids == [0]
    assert [row["body"] for row in rows if not row["error"]] == [b"x" * 9] * 7


def test_the_rest_of_a_delivery_that_was_given_up_is_no_message() -> None:
    frames = [
        wire10.encode(0, wire10.Transfer(0, 1, b"1", 0, more=True), b"Su\xa0\x03" + b"x" * 90)
    ]
    frames += [
        wire10.encode(0, wire10.Transfer(0, more=True), b"Su\xa0\x01y")
    ]  # a message, if alone
    frames += [wire10.encode(0, wire10.Transfer(0), b"Su\xa0\x01y")]
    values = [("a", f) for f in [*frames, *delivery_transfers(b"next", 2)]]
    rows = run(values, 1, protocol="1.0", max_open_bytes=60, fields=["body", "error"])
    assert [row["body"] for row in rows if not row["error"]] == [b"next"]
    assert [bool(row["error"]) for row in rows] == [True, True, True, False]


def test_a_large_message_in_small_batches_is_not_read_again_and_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = 0
    plain = keyed_decode.decode_held

    def counted(data: Any, *arguments: Any, **more: Any) -> Any:
        nonlocal read
        read += data.nbytes
        return plain(data, *arguments, **more)

    monkeypatch.setattr(keyed_decode, "decode_held", counted)
    frames = publish(b"x" * 400_000, size=400)
    (row,) = run([("a", f) for f in frames], 1)
    assert len(row["body"]) == 400_000
    assert read < 4 * sum(map(len, frames)) + 100_000


def test_without_kept_columns() -> None:
    plan = plan_of_batch("0-9-1", "message", ["body"])
    job = keyed_decode.Conversations(plan, 0, 1, "0-9-1", "PERMISSIVE")
    rows = table(MIXED).select(["key", "frame"]).to_batches(2)
    assert pa.Table.from_batches(job.run(rows)).num_rows > 10
