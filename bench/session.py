"""`python -m bench.session`: clients against a live broker, publishing with confirms and consuming.

Ours is amqpcodec.aio; beside it aio-pika, aiormq and pika's
SelectConnection, each as it is and with its drop-in. A message has a body of 256 bytes, 5 headers
and 5 properties. Publishers keep 1,000 publications waiting for their confirms (publish), or one
(awaited); consumers have a prefetch of 500 and acknowledge each message. CPU time of the client's
process a message, each measurement in a process of its own, in turn; the median of the rounds.
`session` is the part of ours that is spent in amqpcodec.session itself without the codec below it:
the traffic of such a run, played into a session alone, less the codec on the same bytes.

Needs AMQPCODEC_BROKER=HOST:PORT: scripts/broker.py run -- python -m bench.session
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.live.clients import BODY, HEADERS, PROPERTIES, WARM_UP, Meter

QUEUE = "amqpcodec.bench.session"
WINDOWS = {"publish": 1000, "awaited": 1}
PREFETCH = 500
CLIENTS = ("ours", "aio-pika", "aiormq", "pika Select")
DROPINS = {"aio-pika": "pamqp", "aiormq": "pamqp", "pika Select": "pika"}
DIRECTIONS = ("publish", "awaited", "consume")
#: How many times the CPU time of ours others take at least.
GATES = {
    "publish": {"aio-pika": 20, "pika Select with drop-in": 2.5},
    "awaited": {"aio-pika": 3},
    "consume": {"aio-pika": 18, "pika Select with drop-in": 2.2},
}


async def windowed(publish: Callable[[], Any], meter: Meter, window: int) -> None:
    """So many tasks, each of which publishes one message after the other."""

    async def work() -> None:
        while not meter.step():
            await publish()

    await asyncio.gather(*(work() for _ in range(window)))


# ---- ours ----


async def ours_publish(url: str, meter: Meter, window: int) -> None:
    """By Channel.publish."""
    from amqpcodec import aio

    async with aio.connect(url) as connection, connection.channel() as channel:

        def publish() -> Any:
            return channel.publish(
                BODY, routing_key=QUEUE, mandatory=False, headers=HEADERS, **PROPERTIES
            )

        await windowed(publish, meter, window)


async def ours_consume(url: str, meter: Meter) -> None:
    """By iteration."""
    from amqpcodec import aio

    async with (
        aio.connect(url) as connection,
        connection.channel() as channel,
        channel.consume(QUEUE, prefetch=PREFETCH) as messages,
    ):
        async for message in messages:
            await message.ack()
            if meter.step():
                break


# ---- aio-pika, aiormq ----


async def aio_pika_publish(url: str, meter: Meter, window: int) -> None:
    """By its default exchange."""
    import aio_pika

    connection = await aio_pika.connect(url)
    async with connection:
        channel = await connection.channel()

        def publish() -> Any:
            message = aio_pika.Message(BODY, headers=HEADERS, **PROPERTIES)
            return channel.default_exchange.publish(message, QUEUE, mandatory=False)

        await windowed(publish, meter, window)


async def aio_pika_consume(url: str, meter: Meter) -> None:
    """By a callback."""
    import aio_pika

    finished = asyncio.Event()

    async def on_message(message: Any) -> None:
        await message.ack()
        if meter.step():
            finished.set()

    connection = await aio_pika.connect(url)
    async with connection:
        channel = await connection.channel()
        await channel.set_qos(prefetch_count=PREFETCH)
        queue = await channel.get_queue(QUEUE)
        await queue.consume(on_message)
        await finished.wait()


async def aiormq_publish(url: str, meter: Meter, window: int) -> None:
    """By basic_publish."""
    import aiormq

    connection = await aiormq.connect(url)
    channel = await connection.channel(publisher_confirms=True)

    def publish() -> Any:
        properties = aiormq.spec.Basic.Properties(headers=HEADERS, **PROPERTIES)
        return channel.basic_publish(BODY, routing_key=QUEUE, properties=properties)

    await windowed(publish, meter, window)
    await connection.close()


async def aiormq_consume(url: str, meter: Meter) -> None:
    """By a callback."""
    import aiormq

    finished = asyncio.Event()
    connection = await aiormq.connect(url)
    channel = await connection.channel()

    async def on_message(message: Any) -> None:
        await channel.basic_ack(message.delivery_tag)
        if meter.step():
            finished.set()

    await channel.basic_qos(prefetch_count=PREFETCH)
    await channel.basic_consume(QUEUE, on_message)
    await finished.wait()
    await connection.close()


# ---- pika ----


def pika_run(url: str, on_channel: Callable[[Any], None]) -> None:
    """A SelectConnection, until somebody closes it."""
    import pika

    connection = pika.SelectConnection(
        pika.URLParameters(url),
        on_open_callback=lambda one: one.channel(on_open_callback=on_channel),
        on_open_error_callback=lambda one, _error: one.ioloop.stop(),
        on_close_callback=lambda one, _error: one.ioloop.stop(),
    )
    connection.ioloop.start()


def pika_publish(url: str, meter: Meter, window: int) -> None:
    """A publication for each confirm."""
    import pika

    sent, settled, is_over = 0, 0, False

    def on_channel(channel: Any) -> None:
        def publish() -> None:
            nonlocal sent
            properties = pika.BasicProperties(headers=HEADERS, **PROPERTIES)
            channel.basic_publish("", QUEUE, BODY, properties)
            sent += 1

        def on_confirm(frame: Any) -> None:
            nonlocal settled, is_over
            method = frame.method
            count = method.delivery_tag - settled if method.multiple else 1
            settled += count
            for _ in range(count):
                if is_over:
                    return
                is_over = meter.step()
                if is_over:
                    channel.connection.close()
                else:
                    publish()

        channel.confirm_delivery(on_confirm)
        for _ in range(window):
            publish()

    pika_run(url, on_channel)


def pika_consume(url: str, meter: Meter) -> None:
    """By a callback."""

    def on_message(channel: Any, method: Any, _properties: Any, _body: bytes) -> None:
        if not channel.connection.is_open:
            return
        channel.basic_ack(method.delivery_tag)
        if meter.step():
            channel.connection.close()

    def on_channel(channel: Any) -> None:
        channel.basic_qos(prefetch_count=PREFETCH)
        channel.basic_consume(QUEUE, on_message)

    pika_run(url, on_channel)


# ---- one measurement, and all ----


def fill(url: str, count: int) -> None:
    """Empty the queue, and put so many messages into it."""
    from amqpcodec import aio

    async def work() -> None:
        async with aio.connect(url) as connection, connection.channel() as channel:
            await channel.declare_queue(QUEUE)
            await channel.purge_queue(QUEUE)
            remaining = count
            while remaining > 0:
                burst = min(remaining, 1000)
                sends = (
                    channel.publish(BODY, routing_key=QUEUE, headers=HEADERS, **PROPERTIES)
                    for _ in range(burst)
                )
                await asyncio.gather(*sends)
                remaining -= burst

    asyncio.run(work())


def measure(url: str, client: str, direction: str, dropin: bool, count: int) -> float:
    """CPU seconds a message, in this process."""
    if dropin:
        importlib.import_module(f"amqpcodec.compat.{DROPINS[client]}").install()
    name = client.partition(" ")[0].replace("-", "_")
    meter = Meter(count)
    if direction == "consume":
        outcome = globals()[f"{name}_consume"](url, meter)
    else:
        outcome = globals()[f"{name}_publish"](url, meter, WINDOWS[direction])
    if asyncio.iscoroutine(outcome):
        asyncio.run(outcome)
    return meter.cost


def session_alone(count: int = 20000) -> dict[str, float]:
    """CPU seconds a message that the session takes itself: with the codec, less the codec."""
    from amqpcodec import v0_9_1 as amqp
    from bench.session_alone import codec_consume, codec_publish, consume, publish

    properties = {"headers": HEADERS, **PROPERTIES}
    seconds = {}
    for name, measure, codec in (
        ("publish", publish, codec_publish),
        ("consume", consume, codec_consume),
    ):
        pairs = [
            (measure(amqp, BODY, properties, count), codec(amqp, BODY, properties, count))
            for _ in range(5)
        ]
        seconds[name] = statistics.median(max(one - other, 0) for one, other in pairs)
        seconds[name + " with codec"] = statistics.median(one for one, _ in pairs)
    return seconds


def once(arguments: list[str]) -> float:
    """A measurement in a process of its own."""
    command = [sys.executable, "-m", "bench.session", *arguments]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)}: {process.stderr[-2000:]}")
    return float(json.loads(process.stdout.splitlines()[-1]))


def main() -> int:
    """Print the table, and whether the gates hold; exit status 1 if one does not."""
    parser = argparse.ArgumentParser(prog="python -m bench.session")
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the ratios to it")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    host, _, port = os.environ["AMQPCODEC_BROKER"].rpartition(":")
    url = f"amqp://guest:guest@{host}:{port}/%2F"
    if options.one:
        client, direction, dropin = options.one
        print(json.dumps(measure(url, client, direction, dropin == "dropin", options.count)))
        return 0
    cells = [(client, way, "stock") for client in CLIENTS for way in DIRECTIONS]
    cells += [(client, way, "dropin") for client in DROPINS for way in DIRECTIONS]
    costs: dict[tuple[str, str, str], list[float]] = {cell: [] for cell in cells}
    for _ in range(options.rounds):
        for cell in cells:
            fill(url, WARM_UP + options.count + 2 * PREFETCH if cell[1] == "consume" else 0)
            time.sleep(0.2)
            costs[cell].append(once(["--count", str(options.count), "--one", *cell]))
    median = {cell: statistics.median(one) for cell, one in costs.items()}
    if options.json:
        options.json.write_text(json.dumps({"session": compared(median)}, indent=1))
    return report(median)


def compared(cost: dict[tuple[str, str, str], float]) -> dict[str, dict[str, float]]:
    """For each direction: us a message of ours, and how many times as much others take."""
    rows: dict[str, dict[str, float]] = {}
    for way in DIRECTIONS:
        ours = cost["ours", way, "stock"]
        rows[way] = {"us": ours * 1e6}
        for client, dropin in ((one, side) for one in DROPINS for side in ("stock", "dropin")):
            name = client + " with drop-in" * (dropin == "dropin")
            rows[way][name] = cost[client, way, dropin] / ours
    return rows


def report(cost: dict[tuple[str, str, str], float]) -> int:
    """The table and the gates."""
    alone = session_alone()
    failed = 0
    for way, row in compared(cost).items():
        print(f"{way}: ours {row['us']:.1f} us a message")
        gates = GATES[way]
        for name, ratio in row.items():
            if name == "us":
                continue
            gate, verdict = gates.get(name, 0), ""
            if gate:
                verdict = f"{'ok  ' if ratio >= gate else 'FAIL'} (at least {gate})"
                failed += ratio < gate
            print(f"  {name:25} {ratio:6.2f} times {verdict}")
        if way in alone:
            share = alone[way] * 1e6 / row["us"]
            failed += share >= 0.5
            print(
                f"  the session itself takes {alone[way] * 1e6:.2f} us"
                f" ({alone[way + ' with codec'] * 1e6:.2f} with the codec), a share of {share:.2f}:"
                f" {'ok' if share < 0.5 else 'FAIL'} (below 0.5)"
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
