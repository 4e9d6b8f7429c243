"""AMQP 1.0 to columns: frames a second on one core, beside proton's C library.

    python -m bench.v1_columns [--quick]

CPU time, medians, the output of one call given back before the next as a stream of batches does.
Frames are varied: names, ids, sizes and which fields are there differ from one to the next.

Gates and goals are million frames a second on the machine of the project's targets. This one is
compared with it by what was measured on both: proton C, which there decodes a message (M1 of
bench.v1) in 413 ns, its transfer in 126, a disposition in 111 and a flow in 139. In every round all
four are timed beside the row. Each gives a factor, its time here over its time there; the median of
the four is the round's, so that one outlier does not decide. "M/s" is the median of what was
seen here, "there" the median over the rounds of that times the factor of the same round, and this
is what the gate is for. "machine" is the median factor, with the lowest and highest of the four in
brackets: the further they lie apart, the less "there" is worth. Where proton C cannot be built,
nothing is scaled and no gate is judged. "memcpy" is the time over that of a bytearray of the same
bytes.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

from amqpcodec import batch
from amqpcodec import v1_0 as amqp
from bench.peers.use_proton_c import TIMES, loops
from bench.v1 import OCTETS, WIRE
from bench.work import Absent

S = amqp.Symbol
COUNT = 20_000

#: What proton C takes on the machine of the targets, ns.
PROTON_C = {"M1": 413, "transfer": 126, "disposition": 111, "flow": 139}

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


def transfers(source: random.Random, count: int = COUNT) -> bytes:
    """Deliveries of one transfer with a small message."""
    frames = []
    for number in range(count):
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


def performatives(source: random.Random, count: int = COUNT) -> bytes:
    """Transfers without payload, dispositions and flows."""
    frames = []
    for number in range(count):
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


def proton_c() -> dict[str, Callable[[], object]]:
    """What PROTON_C has the times of, TIMES at a call; nothing where it cannot be built."""
    try:
        run = loops()
    except Absent as error:
        print(f"nothing to scale by, no gates: {error}")
        return {}
    work = {name: run["data_decode"](raw[8:]) for name, raw in WIRE.items()}
    work["M1"] = run["message_decode"](OCTETS["M1"])
    return work


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    seconds = 0.05 if parser.parse_args().quick else 0.3
    source = random.Random(10)
    streams = {"transfers": transfers(source), "performatives": performatives(source)}
    peer = proton_c()
    head = f"{'row':28}{'ns':>6}{'M/s':>7}{'there':>7}{'gate':>6}{'goal':>6}{'memcpy':>8}"
    print(f"{head}  machine (lowest, highest)")
    for row, (name, level, fields, gate, goal) in ROWS.items():
        data = streams[name]
        samples, copies, scaled = [], [], []
        factors: list[list[float]] = []
        for _ in range(7):
            took = per_call(lambda: batch.decode(data, "1.0", level, fields), seconds)  # noqa: B023
            samples.append(took)
            copies.append(per_call(lambda: bytearray(data), seconds / 4))  # noqa: B023
            if peer:
                seconds_here = [per_call(work, seconds / 8) for work in peer.values()]
                seconds_there = [PROTON_C[case] * TIMES / 1e9 for case in peer]
                pairs = zip(seconds_here, seconds_there, strict=True)
                factors.append([here / elsewhere for here, elsewhere in pairs])
                scaled.append(COUNT / took / 1e6 * statistics.median(factors[-1]))
        took = statistics.median(samples)
        text = f"{row:28}{took / COUNT * 1e9:6.0f}{COUNT / took / 1e6:7.2f}"
        ratio = took / statistics.median(copies)
        if not peer:
            print(f"{text}{'-':>7}{gate:6g}{goal:6g}{ratio:7.1f}x", flush=True)
            continue
        speed = statistics.median(scaled)
        middle = statistics.median(statistics.median(of) for of in factors)
        of_each = [statistics.median(of) for of in zip(*factors, strict=True)]
        print(
            f"{text}{speed:7.2f}{gate:6g}{goal:6g}{ratio:7.1f}x"
            f"  {middle:.2f} ({min(of_each):.2f}, {max(of_each):.2f})"
            f"  {'goal' if speed >= goal else 'gate' if speed >= gate else 'below the gate'}",
            flush=True,
        )


if __name__ == "__main__":
    main()
