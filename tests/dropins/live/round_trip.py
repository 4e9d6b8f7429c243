"""Messages through a broker by a version of a client, without and with its drop-in.

`python -m tests.dropins.live.round_trip pika HOST PORT` asks for the same twice, prints what came
back, and ends with status 1 where both differ. The address is that of RabbitMQ; for rstream, of its
stream protocol; for Azure's clients, of a broker of python-qpid-proton behind `relay`.
"""

from __future__ import annotations

import asyncio
import importlib
import socket
import sys
import uuid
import warnings
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

from amqpcodec.compat.azure import CLIENTS as V1_PACKAGES
from tests.dropins.canon import canon

#: Header values that every version can write.
HEADERS: dict[str, Any] = {
    "small": 5,
    "negative": -700,
    "large": 2**40,
    "below": -(2**40),
    "text": "gr\u00f6\u00dfe",
    "yes": True,
    "nothing": None,
    "list": [1, "two", {"four": 4}],
}
BODY = b"b" * 300_000


def by_pika(host: str, port: int) -> list[Any]:
    """A blocking connection."""
    pika = importlib.import_module("pika")
    properties = pika.BasicProperties(headers=HEADERS, priority=3, timestamp=1_700_000_000)
    with pika.BlockingConnection(pika.ConnectionParameters(host, port)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        queue = channel.queue_declare(
            "", exclusive=True, arguments={"x-max-length": 10}
        ).method.queue
        channel.basic_publish("", queue, BODY, properties)
        method, header, body = channel.basic_get(queue, auto_ack=True)
        return [method.redelivered, vars(header), body]


def by_amqp(host: str, port: int) -> list[Any]:
    """py-amqp with confirms."""
    amqp = importlib.import_module("amqp")
    connection = amqp.Connection(f"{host}:{port}", confirm_publish=True)
    connection.connect()
    channel = connection.channel()
    queue = channel.queue_declare("", arguments={"x-max-length": 10}).queue
    message = amqp.Message(BODY, application_headers=HEADERS, priority=3, timestamp=1_700_000_000)
    channel.basic_publish_confirm(message, "", queue)
    received = channel.basic_get(queue, no_ack=True)
    connection.close()
    return [received.properties, received.headers, received.body]


def by_pamqp(host: str, port: int) -> list[Any]:
    """pamqp's frames on a socket."""
    frame, commands, header, body, heartbeat = (
        importlib.import_module(f"pamqp.{name}")
        for name in ("frame", "commands", "header", "body", "heartbeat")
    )
    basic, channel, connection = commands.Basic, commands.Channel, commands.Connection
    buffer = bytearray()
    with socket.create_connection((host, port), timeout=30) as wire:

        def send(*frames: Any, number: int = 1) -> None:
            wire.sendall(b"".join(frame.marshal(one, number) for one in frames))

        def receive(wanted: type) -> Any:
            while True:
                if len(buffer) >= 7:
                    size = int.from_bytes(buffer[3:7], "big") + 8
                    if len(buffer) >= size:
                        raw = bytes(buffer[:size])
                        del buffer[:size]
                        _, _, read = frame.unmarshal(raw)
                        if isinstance(read, heartbeat.Heartbeat):
                            continue
                        assert isinstance(read, wanted), read
                        return read
                data = wire.recv(65536)
                assert data, "the broker closed the connection"
                buffer.extend(data)

        wire.sendall(header.ProtocolHeader().marshal())
        receive(connection.Start)
        start_ok = connection.StartOk({"product": "test"}, "PLAIN", "\0guest\0guest", "en_US")
        send(start_ok, number=0)
        tune = receive(connection.Tune)
        size = tune.frame_max
        send(connection.TuneOk(tune.channel_max, size, 0), connection.Open("/"), number=0)
        receive(connection.OpenOk)
        send(channel.Open())
        receive(channel.OpenOk)
        send(commands.Queue.Declare(queue="", exclusive=True, arguments={"x-max-length": 10}))
        queue = receive(commands.Queue.DeclareOk).queue
        send(commands.Confirm.Select())
        receive(commands.Confirm.SelectOk)
        properties = basic.Properties(headers=HEADERS, priority=3, message_id="m")
        pieces = [BODY[i : i + size - 8] for i in range(0, len(BODY), size - 8)]
        send(
            basic.Publish(exchange="", routing_key=queue),
            header.ContentHeader(0, len(BODY), properties),
            *map(body.ContentBody, pieces),
        )
        receive(basic.Ack)
        send(basic.Get(queue=queue, no_ack=True))
        response = receive(basic.GetOk)
        content = receive(header.ContentHeader)
        data = b""
        while len(data) < content.body_size:
            data += receive(body.ContentBody).value
        send(connection.Close(200, "", 0, 0), number=0)
        receive(connection.CloseOk)
        return [response.redelivered, dict(content.properties), data]


#: A value of each type of AMQP 1.0 that every version can write.
V1_VALUES: dict[str, Any] = {
    "NULL": None,
    "BOOL": True,
    "UBYTE": 200,
    "BYTE": -5,
    "USHORT": 60_000,
    "SHORT": -300,
    "UINT": 4_000_000_000,
    "INT": -70_000,
    "ULONG": 2**64 - 1,
    "LONG": -(2**40),
    "FLOAT": 1.5,
    "DOUBLE": -2.25,
    "TIMESTAMP": 1_700_000_000_123,
    "UUID": uuid.UUID(int=5),
    "BINARY": b"\0\xff",
    "STRING": "gr\u00f6\u00dfe",
    "SYMBOL": b"symbol",
}
V1_TYPED = {name: {"TYPE": name, "VALUE": value} for name, value in V1_VALUES.items()}
V1_PLAIN: dict[str, Any] = {
    "text": "gr\u00f6\u00dfe",
    "number": 5,
    "negative": -7,
    "real": 1.5,
    "yes": True,
    "nothing": None,
    "bytes": b"x",
}


def _v1_sections(message: Any) -> dict[str, Any]:
    return {
        "header": message.Header(durable=True, priority=3, ttl=60_000),
        "message_annotations": {b"x-a": 5},
        "properties": message.Properties(
            message_id="m",
            user_id=b"guest",
            to="to",
            subject="subject",
            reply_to="answers",
            correlation_id=uuid.UUID(int=7),
            content_type=b"text/plain",
            absolute_expiry_time=1_900_000_000_000,
            creation_time=1_700_000_000_001,
            group_id="group",
            group_sequence=5,
            reply_to_group_id="other",
        ),
        "application_properties": {**V1_PLAIN, **V1_TYPED},
    }


def _v1_bodies() -> list[dict[str, Any]]:
    nested = {"list": [1, "two", None, {"four": 4}], "map": V1_TYPED, "plain": V1_PLAIN}
    return [{"data": [BODY]}, {"value": nested}, {"sequence": [[1, "a", 2.5]]}, {"data": [b""]}]


def by_azure(package: str, host: str, port: int) -> list[Any]:
    """The clients of azure-eventhub and azure-servicebus, without TLS, as for Azure's emulator."""
    module = importlib.import_module(f"{package}._pyamqp")
    message, constants, sasl = (
        importlib.import_module(f"{package}._pyamqp.{name}")
        for name in ("message", "constants", "sasl")
    )
    options: dict[str, Any] = {
        "auth": SimpleNamespace(sasl=sasl.SASLAnonymousCredential(), auth_type="anonymous"),
        "use_tls": False,
    }
    messages = [message.Message(**_v1_sections(message), **body) for body in _v1_bodies()]
    messages.append(message.Message(data=[b"without any section"]))
    queue = f"{package}-{uuid.uuid4()}"
    with module.SendClient(f"{host}:{port}", queue, **options) as sender:
        for one in messages:
            sender.send_message(one, timeout=20)
    results: list[Any] = []
    settled = constants.SenderSettleMode.Settled
    with module.ReceiveClient(
        f"{host}:{port}", queue, send_settle_mode=settled, link_credit=10, **options
    ) as receiver:
        while len(results) < len(messages):
            batch = receiver.receive_message_batch(max_batch_size=1, timeout=20)
            assert batch, f"{len(results)} of {len(messages)} messages came back"
            results += batch
    return results


def by_rstream(host: str, port: int) -> list[Any]:
    """A stream, its producer and its consumer."""
    rstream = importlib.import_module("rstream")
    message = importlib.import_module("rstream._pyamqp.message")
    stream = f"round-trip-{uuid.uuid4()}"
    account = {"username": "guest", "password": "guest"}
    bodies = [{"body": BODY}, *_v1_bodies()[1:3]] * 4

    async def work() -> list[Any]:
        results: list[Any] = []
        all_came = asyncio.Event()

        def take(one: Any, _context: Any) -> None:
            results.append(one)
            if len(results) == len(bodies):
                all_came.set()

        async with rstream.Producer(host, port, **account) as producer:
            await producer.create_stream(stream)
            for body in bodies:
                one = rstream.AMQPMessage(**_v1_sections(message), **body)
                await producer.send_wait(stream, one)
            async with rstream.Consumer(host, port, **account) as consumer:
                await consumer.subscribe(stream, take, decoder=rstream.amqp_decoder)
                await asyncio.wait_for(all_came.wait(), 20)
            await producer.delete_stream(stream)
        return results

    return asyncio.run(asyncio.wait_for(work(), 60))


CLIENTS: dict[str, Callable[[str, int], list[Any]]] = {
    "amqp": by_amqp,
    "azure-eventhub": partial(by_azure, "azure.eventhub"),
    "azure-servicebus": partial(by_azure, "azure.servicebus"),
    "pamqp": by_pamqp,
    "pika": by_pika,
    "rstream": by_rstream,
}


def main(client: str, host: str, port: str) -> int:
    """Exit status 1 where the answers differ or the drop-in did nothing."""
    warnings.simplefilter("ignore", DeprecationWarning)
    is_v1 = client in V1_PACKAGES
    module = importlib.import_module(f"amqpcodec.compat.{'azure' if is_v1 else client}")
    plain = canon(CLIENTS[client](host, int(port)))
    module.install(on_unknown="error", **({"clients": [client]} if is_v1 else {}))
    with_drop_in = canon(CLIENTS[client](host, int(port)))
    calls = module.calls() - sum(module.fallbacks().values())
    print(f"{client} {version(client)}: {calls} calls, {repr(plain)[:300]}")
    if plain != with_drop_in:
        print(f"with the drop-in: {repr(with_drop_in)[:300]}")
    return 0 if plain == with_drop_in and calls > 10 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
