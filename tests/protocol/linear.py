"""Constructs of so many parts, read once. Run as a program under an instruction counter:

    python tests/protocol/linear.py

It reads lines of stdin, PARTS CONSTRUCT, and runs each in a process forked from this one, in which
all is imported; it writes the process's id and exit status to stdout. A counter then counts in each
process what this one cost until the fork, and what the construct costs.

The input is made by repetition, which costs little beside the reading.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import signal
import struct
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

from amqpcodec import v0_9_1 as a
from amqpcodec import v1_0 as v

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.session import amqp0_linear, v1_linear
from tests.support import colliding, recording
from tests.support import trace_logs as logs
from tests.support.amqp10_wire import compound

#: Seconds of a construct, under a counter that slows it down fifty times.
TIMEOUT = 600

#: Parts of each construct that runs before the first fork; some divide them by 16.
FIRST_PARTS = 32


def header(table: bytes) -> bytes:
    payload = struct.pack(">HHQHI", 60, 0, 0, 0x2000, len(table)) + table
    return struct.pack(">BHI", 2, 1, len(payload)) + payload + b"\xce"


def headers(table: bytes) -> Any:
    frame = a.decode(header(table))[2]
    frame.properties.headers["one more"] = 1
    a.encode(1, frame)
    return frame == a.decode(header(table))[2]


def entries(n: int) -> bytes:
    return b"".join([b"\x05%05dI\0\0\0\x01" % i for i in range(n)])


def value(data: bytes) -> Any:
    decoded_value = v.decode_value(data)[0]
    v.encode_value(decoded_value)
    return decoded_value == v.decode_value(data)[0]


def longs(step: int, n: int) -> bytes:
    pairs = b"".join([b"\x81" + struct.pack(">q", i * step) + b"\x40" for i in range(n)])
    return compound(0xD1, pairs, 2 * n)


def message(n: int) -> None:
    decoder = a.MessageDecoder()
    piece = struct.pack(">BHI", 3, 1, 20) + bytes(20) + b"\xce"
    head = struct.pack(">HHQH", 60, 0, 20 * n, 0)
    head = struct.pack(">BHI", 2, 1, len(head)) + head + b"\xce"
    data = a.encode(1, a.Basic.Deliver("c", 1, False, "e", "r")) + head + piece * n
    [_] = [event for at in range(0, len(data), 30) for event in decoder.feed(data[at : at + 30])]


def bytewise(n: int) -> None:
    decoder = a.Decoder()
    data = header(entries(n))
    [_] = [frame for at in range(0, len(data), 11) for frame in decoder.feed(data[at : at + 11])]


def delivery(n: int) -> None:
    decoder = v.MessageDecoder(opened=True)
    first = v.encode(0, v.Transfer(0, 0, b"t", more=True), b"\0\x53\x75\xb0")
    more = v.encode(0, v.Transfer(0, more=True), struct.pack(">I", 10)[:1] * 20)
    list(decoder.feed(first + more * n))
    decoder.discard(0, 0)


def columns(protocol: str, data: bytes, **how: Any) -> None:
    from amqpcodec import batch

    batch.decode(data, protocol=protocol, **how)


def open_channels(n: int) -> bytes:
    """Messages on so many channels, each with its body after the headers of all."""
    frames = [
        a.encode(1, a.Basic.Deliver("c", 1, False, "e", "r")),
        a.encode(1, a.Header(5, a.Basic.Properties(headers={"k": 1}))),
        a.encode(1, a.Body(b"hello")),
    ]
    numbers = [struct.pack(">H", i) for i in range(1, n + 1)]
    return b"".join([one[:1] + number + one[3:] for one in frames for number in numbers])


def links(n: int) -> None:
    """Deliveries on so many links, each begun before the first one ends."""
    data = [v.encode(0, v.Attach(f"l{i}", i, True)) for i in range(n)]
    data += [
        v.encode(0, v.Transfer(i, i, b"t", more=True), b"\0\x53\x75\xa0\x01") for i in range(n)
    ]
    data += [v.encode(0, v.Transfer(i), b"b") for i in range(n)]
    assert sum(1 for _ in v.MessageDecoder(opened=True).feed(b"".join(data))) == 2 * n


# ---- captures: one packet, with other numbers in it

PCAP = 24  # bytes of a file before its first record
PORT, SEQUENCE = 16 + 34, 16 + 38  # of a TCP segment in a record


def one_record(data: bytes) -> bytes:
    return recording.pcap([recording.client(0, data)])[PCAP:]


def segments(data: bytes, numbers: Iterable[int], first: bytes = a.PROTOCOL_HEADER) -> bytes:
    """The same bytes at so many places of one stream, after its first ones."""
    record = one_record(data)
    head, tail = record[:SEQUENCE], record[SEQUENCE + 4 :]
    start = recording.pcap([*recording.opening(), recording.client(1001, first)])
    at = [struct.pack(">I", 1001 + len(first) + len(data) * number) for number in numbers]
    return start + b"".join([head + place + tail for place in at])


def files(n: int) -> list[bytes]:
    """A stream whose segments are in a file each."""
    first, *more = [segments(HEARTBEAT, [number]) for number in range(n)]
    return [first] + [file[:PCAP] + file[-len(one_record(HEARTBEAT)) :] for file in more]


def connections(data: bytes, n: int) -> bytes:
    record = one_record(data)
    head, tail = record[:PORT], record[PORT + 2 :]
    ports = [struct.pack(">H", 10_000 + i) for i in range(n)]
    return recording.pcap([]) + b"".join([head + port + tail for port in ports])


def rows(*files: bytes, **how: Any) -> int:
    from amqpcodec import capture

    return sum(map(len, capture.read([io.BytesIO(file) for file in files], **how)))


def states(n: int) -> None:
    from amqpcodec import capture

    file = io.BytesIO(connections(HEARTBEAT + HEARTBEAT[:5], n))
    reader = capture.Reader(file)
    for _ in reader.read(stop=len(file.getvalue())):
        pass
    capture.Reader(file).resume(reader.state())


def blocks(n: int) -> bytes:
    """Blocks that no reader knows, and a packet with many options."""
    packet = recording.ethernet(recording.ipv4(recording.CLIENT, recording.SERVER, b""))
    start = recording.section() + recording.interface("<", 1)
    unknown = recording.block("<", 0x0BAD, b"x" * 16)
    options = recording.option("<", 1, b"comment") * n
    body = struct.pack("<IIIII", 0, 0, 0, len(packet), len(packet)) + packet
    body += bytes(-len(packet) % 4) + options
    return start + unknown * n + recording.block("<", 6, body)


def heads(n: int) -> bytes:
    """A request of HTTP, a line in each segment."""
    return segments(b"X: yyyyyyyyy\r\n", range(n), b"GET / HTTP/1.1\r\n")


def records(n: int) -> None:
    """What could be records of TLS after a gap, and is none."""
    from amqpcodec.capture._layers import _derived, _handshake, _tls

    reader = _tls.Tls(None, None, print)
    reader.hello = _handshake.ClientHello(bytes(32), b"", b"", False)
    reader.agreed = _derived.Agreed(bytes(32), bytes(32), bytes(48), _tls.TLS12, 0xC02F)
    side = reader.sides[0]
    side.stage, side.agreed, side.lost = _tls.TRAFFIC, reader.agreed, 1000
    assert reader.receive(0, b"\x17\x03\x03\0\0\xff" * n + bytes(8)) == [(0, 6 * n + 5)]


def encoded(n: int) -> None:
    from amqpcodec import batch

    message = a.encode_message(1, a.Basic.Publish("e", "k"), a.Basic.Properties(), b"body")
    batch.encode(batch.decode(message * n, level="message"))


def xml(n: int) -> None:
    from amqpcodec import load_xml_spec

    method = (
        '<method name="m{0}" index="{0}"><chassis name="server" implement="MUST"/>'
        '<field name="f" domain="short"/></method>'
    )
    methods = "".join([method.format(i) for i in range(1, n + 1)])
    domains = "".join([f'<domain name="{name}" type="{name}"/>' for name in ("short", "bit")])
    text = (
        '<amqp major="0" minor="9" revision="1" port="5672">'
        f'{domains}<class name="c" index="1" handler="c">{methods}</class></amqp>'
    )
    load_xml_spec(io.BytesIO(text.encode()))


def trace(n: int) -> None:
    from amqpcodec import traces

    assert sum(map(len, traces.read(io.BytesIO(logs.LOOKALIKE * n)))) == n


HEARTBEAT = a.encode(0, a.Heartbeat())
PROXY = b"PROXY TCP4 10.0.0.1 10.0.0.2 5000 5672\r\n"


def fragments(n: int, near: bool) -> bytes:
    """IP packets in three fragments: each at once, or all first ones before all others."""
    segment = recording.tcp(recording.CLIENT, recording.SERVER, 1, bytes(76))
    records = [
        recording.pcap(
            [
                recording.ethernet(
                    recording.ipv4(
                        recording.CLIENT,
                        recording.SERVER,
                        segment[32 * block : 32 * block + 32],
                        fragment=4 * block | (block < 2) << 13,
                    )
                )
            ]
        )[PCAP:]
        for block in range(3)
    ]
    number = 16 + 14 + 4  # of an IP packet in a record
    places = [(i, block) for i in range(n) for block in range(3)]
    if not near:
        places.sort(key=lambda place: place[1])
    return recording.pcap([]) + b"".join(
        [
            records[block][:number] + struct.pack(">H", i & 0xFFFF) + records[block][number + 2 :]
            for i, block in places
        ]
    )


CONSTRUCTS: dict[str, Callable[[int], Any]] = {
    "table": lambda n: headers(entries(n)),
    "table with one name": lambda n: headers(b"\x01kI\0\0\0\x01" * n),
    "array": lambda n: headers(b"\x01aA" + struct.pack(">I", 5 * n) + b"I\0\0\0\x01" * n),
    "body in pieces": message,
    "frame in pieces": bytewise,
    "1.0 list": lambda n: value(compound(0xD0, b"\xa1\x01x\x54\x01" * n, 2 * n)),
    "1.0 map of integers": lambda n: value(longs(1, n)),
    "1.0 map of colliding integers": lambda n: value(longs(1 << 40, n)),
    "1.0 map with one key": lambda n: value(compound(0xD1, b"\xa1\x01k\x54\x01" * n, 2 * n)),
    "1.0 delivery in pieces": delivery,
    "columns: table with one name": lambda n: columns("0-9-1", header(b"\x01kI\0\0\0\x01" * n)),
    "columns: frames": lambda n: columns("0-9-1", header(entries(2)) * n),
    "columns: table as JSON": lambda n: columns("0-9-1", header(entries(n))),
    "columns: table as Variant": lambda n: columns(
        "0-9-1", header(entries(n)), field_tables="variant"
    ),
    "columns: long text as JSON": lambda n: columns(
        "0-9-1", header(b"\x01tS" + struct.pack(">I", 20 * n) + b'"\n' * (10 * n))
    ),
    "columns: open channels": lambda n: columns("0-9-1", open_channels(n), level="message"),
    "open channels": lambda n: list(a.MessageDecoder().feed(open_channels(n))),
    "1.0 links": links,
    "capture: out of order": lambda n: rows(segments(HEARTBEAT, [*range(n, 0, -1), 0])),
    "capture: connections": lambda n: rows(connections(HEARTBEAT, n)),
    "capture: connections whose addresses collide": lambda n: rows(colliding.addresses(4 * n)),
    "capture: consumers whose tags collide": lambda n: rows(colliding.tags(4 * n), level="event"),
    "capture: fragments": lambda n: rows(fragments(n, True)),
    "capture: fragments far from each other": lambda n: rows(fragments(n, False)),
    "capture: states": states,
    "capture: files of a chain": lambda n: rows(*files(1 + n // 16), files="rotation"),
    "capture: blocks and options": lambda n: rows(blocks(16 * n)),  # a block costs little
    "capture: headers of proxies": lambda n: rows(connections(PROXY + HEARTBEAT, n)),
    "capture: a request of HTTP": lambda n: rows(heads(n)),
    "capture: records of TLS": lambda n: records(16 * n),  # one costs little
    "batch.encode": encoded,
    "specification": lambda n: xml(n // 8),
    "trace: lines that look like the next record": lambda n: trace(n // 16),
}
CONSTRUCTS |= amqp0_linear.CONSTRUCTS | v1_linear.CONSTRUCTS

#: What the gate has to find: a step for each pair of parts, few of them.
QUADRATIC: dict[str, Callable[[int], Any]] = {
    "quadratic": lambda n: sum(1 for _ in range(n) for _ in range(n // 64)),
}


def run(construct: str, parts: int) -> NoReturn:
    """Run a construct and end this process; SIGALRM ends it where it takes too long."""
    signal.alarm(TIMEOUT)
    status = 1
    try:
        (CONSTRUCTS | QUADRATIC)[construct](parts)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def main() -> None:
    """Run what stdin names, one after the other."""
    # What a construct imports or makes at its first use must not count, nor cost time each time.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for construct in CONSTRUCTS.values():
            with contextlib.suppress(Exception):  # what fails will fail again, where it is reported
                construct(FIRST_PARTS)
    # Collections of all that was imported would count where they happen to come.
    gc.disable()
    for line in sys.stdin:
        parts, construct = line.rstrip("\n").split(" ", 1)
        process = os.fork()
        if not process:
            run(construct, int(parts))
        _, status = os.waitpid(process, 0)
        print(process, os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
