"""AMQP 1.0 to columns: frames a second on one core.

    python -m bench.v1_columns [--quick]

CPU time, medians, the output of one call given back before the next as a stream of batches does.
Frames are varied: names, ids, sizes and which fields are there differ from one to the next. Gates
are those of the project's targets, in million frames a second on a machine of 2024; on another
one read them with the time of a memcpy of the same octets, which the last column has.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from typing import Any

from amqpcodec import batch
from amqpcodec import v1_0 as amqp

S = amqp.Symbol
COUNT = 20_000

#: Row -> (frames, level, fields, gate, goal).
ROWS: dict[str, tuple[str, str, tuple[str, ...] | None, float, float]] = {
    "transfers, message level": (
        *("transfers", "message"),
        (
            *("performative", "handle", "delivery_id", "delivery_tag", "settled", "header"),
            *("properties", "application_properties", "body_kind", "body", "error"),
        ),
        *(5, 8),
    ),
    "transfers, all columns": ("transfers", "message", None, 5, 8),
    "transfers, pruned": (
        *("transfers", "message"),
        ("properties.to", "properties.message_id", "body"),
        *(5, 10),
    ),
    "transfers, frame level": ("transfers", "frame", None, 5, 8),
    "performatives, fields": (
        *("performatives", "frame"),
        (
            *("channel", "performative", "handle", "delivery_id", "first", "last", "settled"),
            *("next_incoming_id", "link_credit", "delivery_count", "error"),
        ),
        *(20, 30),
    ),
    "performatives, all columns": ("performatives", "frame", None, 20, 30),
    "performatives, pruned": (
        *("performatives", "frame"),
        ("performative", "handle", "delivery_id"),
        *(20, 30),
    ),
}


def transfers(source: random.Random) -> bytes:
    """Deliveries of one transfer with a small message."""
    frames = []
    for number in range(COUNT):
        properties = {"a": number, "b": "two" * source.randrange(4), "c": number % 3 == 0}
        message = amqp.Message(
            source.randbytes(source.randrange(60, 140)),
            durable=number % 4 != 0,
            message_id=f"{number:08x}-id",
            to=f"orders/{source.choice(('eu', 'us', 'asia'))}",
            subject=source.choice(("order", "refund", "note")),
            content_type="application/json",
            creation_time=amqp.Timestamp(1767225600000 + number),
            application_properties=properties if number % 8 else {"n": number},
        )
        transfer = amqp.Transfer(
            *(number % 5, number, number.to_bytes(4, "big"), 0), settled=number % 2 == 0, more=False
        )
        frames.append(amqp.encode(number % 7, transfer, message.encode()))
    return b"".join(frames)


def performatives(source: random.Random) -> bytes:
    """Transfers without payload, dispositions and flows."""
    frames = []
    for number in range(COUNT):
        kind = source.randrange(3)
        frame: Any
        if kind == 0:
            tag = number.to_bytes(4, "big")
            frame = amqp.Transfer(number % 5, number, tag, 0, settled=number % 2 == 0)
        elif kind == 1:
            state = amqp.Accepted() if number % 4 else amqp.Released()
            frame = amqp.Disposition(True, number, number + number % 3, True, state)
        else:
            frame = amqp.Flow(number, 2048, number + 1, 2048, number % 5, number, 100)
        frames.append(amqp.encode(number % 7, frame))
    return b"".join(frames)


def per_call(act: Any, seconds: float) -> float:
    """CPU seconds a call."""
    calls = 0
    start = time.process_time()
    while True:
        act()
        calls += 1
        spent = time.process_time() - start
        if spent > seconds:
            return spent / calls


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    seconds = 0.05 if parser.parse_args().quick else 0.3
    source = random.Random(10)
    streams = {"transfers": transfers(source), "performatives": performatives(source)}
    print(f"{'row':30}{'M/s':>8}{'gate':>6}{'goal':>6}{'ns':>8}{'memcpy':>8}")
    for row, (name, level, fields, gate, goal) in ROWS.items():
        data = streams[name]
        samples, copies = [], []
        for _ in range(7):
            samples.append(
                per_call(lambda: batch.decode(data, "1.0", level, fields), seconds)  # noqa: B023
            )
            copies.append(per_call(lambda: bytearray(data), seconds / 4))  # noqa: B023
        took = statistics.median(samples)
        ratio = took / statistics.median(copies)
        print(
            f"{row:30}{COUNT / took / 1e6:8.1f}{gate:6g}{goal:6g}"
            f"{took / COUNT * 1e9:8.0f}{ratio:7.1f}x",
            flush=True,
        )


if __name__ == "__main__":
    main()
