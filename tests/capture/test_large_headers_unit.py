"""Methods and content headers above the agreed frame_max, which brokers send."""

from __future__ import annotations

from typing import Any

import pytest

from amqpcodec import v0_9_1 as amqp
from tests.capture.rows import rows
from tests.support import recording as make

FRAME_MAX = 4096
TUNE_OK = amqp.encode(0, amqp.Connection.TuneOk(frame_max=FRAME_MAX))
PROPERTIES = amqp.Basic.Properties(headers={"exception": "e" * 9000, "n": 1})
DELIVERY = amqp.encode_message(
    1, amqp.Basic.Deliver("t", 1, False, "", "dead"), PROPERTIES, b"body", frame_max=0
)
NEXT = amqp.encode_message(1, amqp.Basic.Deliver("t", 2, False, "", "dead"), None, b"next")
LARGE_METHOD = amqp.encode(1, amqp.Queue.Declare(queue="q", arguments={"x": "y" * 9000}))


def recorded(data: bytes, step: int) -> bytes:
    pieces = [(1, data[at : at + step]) for at in range(0, len(data), step)]
    return make.pcap(make.packets([(0, amqp.PROTOCOL_HEADER), (0, TUNE_OK), *pieces]))


@pytest.mark.parametrize("step", [1, 7, 9, 1400, 60_000])
@pytest.mark.parametrize("level", ["frame", "message"])
def test_a_large_content_header(level: str, step: int) -> None:
    data = (DELIVERY + NEXT) if step > 1 else (DELIVERY[:5000] + DELIVERY[5000:] + NEXT)
    result_rows = rows(recorded(data, step), level=level)
    assert not [row["error"] for row in result_rows if row["error"]]
    if level == "message":
        delivered = [row["body"] for row in result_rows if row["method"] == "basic.deliver"]
        assert delivered == [b"body", b"next"]
    else:
        assert b"".join(row["frame"] for row in result_rows if row["direction"] == "server") == data


def test_a_large_method() -> None:
    frame_rows = rows(recorded(LARGE_METHOD + NEXT, 1400))
    assert [row["frame"] for row in frame_rows][2] == LARGE_METHOD
    assert not [row["error"] for row in frame_rows if row["error"]]


def errors(data: bytes, **options: Any) -> list[str]:
    return [row["error"] for row in rows(recorded(data, 1400), **options) if row["error"]]


def test_large_bodies_and_what_is_no_method_stay_errors() -> None:
    body = amqp.encode(1, amqp.Body(b"x" * 9000))
    assert "larger than frame_max" in errors(body + NEXT * 3)[0]
    unknown = LARGE_METHOD[:7] + b"\x7f\x7f\x7f\x7f" + LARGE_METHOD[11:]
    assert "larger than frame_max" in errors(unknown + NEXT * 3)[0]
    assert "larger than frame_max" in errors(DELIVERY + NEXT * 3, frame_bytes=8000)[0]
