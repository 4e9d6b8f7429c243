"""One message through a broker by a version of a client, without and with its drop-in.

`python -m tests.dropins.live.round_trip pika HOST PORT` asks for the same twice, prints what came
back, and ends with status 1 where both differ.
"""

from __future__ import annotations

import importlib
import socket
import sys
import warnings
from collections.abc import Callable
from typing import Any

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


CLIENTS: dict[str, Callable[[str, int], list[Any]]] = {
    "amqp": by_amqp,
    "pamqp": by_pamqp,
    "pika": by_pika,
}


def main(client: str, host: str, port: str) -> int:
    """Exit status 1 where the answers differ or the drop-in did nothing."""
    warnings.simplefilter("ignore", DeprecationWarning)
    module = importlib.import_module(f"amqpcodec.compat.{client}")
    plain = canon(CLIENTS[client](host, int(port)))
    module.install(on_unknown="error")
    with_drop_in = canon(CLIENTS[client](host, int(port)))
    calls = module.calls() - sum(module.fallbacks().values())
    print(f"{client} {module.DROP_INS[0].version()}: {calls} calls, {repr(plain)[:300]}")
    if plain != with_drop_in:
        print(f"with the drop-in: {repr(with_drop_in)[:300]}")
    return 0 if plain == with_drop_in and calls > 10 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
