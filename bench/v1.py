"""AMQP 1.0 against python-qpid-proton, azure-eventhub's pyamqp and proton's C library.

    python -m bench.v1 [--quick] [--check]

CPU time, interleaved, medians; the rows and gates are those of the project's targets. Peers do what
their own users do: proton.Message for messages, proton.Data for performatives. proton's C library
makes no Python objects. The rows of the drop-in are its functions against the client's own, on the
client's own objects; nothing is asked of them. Columns: a message of many, each with its transfer.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from amqpcodec import v1_0 as amqp
from bench.peers.use_proton_c import TIMES, loops
from bench.work import Absent

UTC = datetime.UTC
MOMENT = datetime.datetime(2026, 1, 1, 12, 30, tzinfo=UTC)
MILLISECONDS = int(MOMENT.timestamp() * 1000)
S = amqp.Symbol

#: Peers, in the order of the gates.
PEERS = ("proton", "azure", "proton C")
#: Row -> gates against the peers; None: not asked for.
GATES: dict[str, tuple[float | None, float | None, float | None]] = {
    "M1 decode, eager": (20, 18, 0.5),
    "M1 decode, lazy": (80, 70, 0.5),
    "M1 encode": (33, 75, 0.5),
    "M1 encode, columns": (None, None, None),
    "M2 decode, eager": (None, None, None),
    "M2 encode": (None, None, None),
    "M3 decode": (20, 8, 0.5),
    "M3 encode": (60, 110, 0.5),
    "transfer decode": (50, 14, None),
    "transfer encode": (35, None, None),
    "disposition decode": (50, 14, None),
    "disposition encode": (35, None, None),
    "flow decode": (50, 14, None),
    "flow encode": (35, None, None),
    "drop-in, M1 decode": (None, None, None),
    "drop-in, M1 encode": (None, None, None),
    "drop-in, M3 decode": (None, None, None),
    "drop-in, M3 encode": (None, None, None),
    "drop-in, transfer decode": (None, None, None),
    "drop-in, transfer encode": (None, None, None),
}

PROPERTIES = {
    "message_id": "0f1e2d3c-id",
    "to": "orders/eu",
    "subject": "order",
    "content_type": "application/json",
    "creation_time": MOMENT,
}
SMALL = amqp.Message(
    b"x" * 100, durable=True, application_properties={"a": 1, "b": "two", "c": True}, **PROPERTIES
)
LARGE = amqp.Message(b"x" * 65536, durable=True, **PROPERTIES)
VALUE: dict[str, Any] = {
    **{f"int{n}": n * 1000 for n in range(5)},
    **{f"text{n}": f"value {n}" for n in range(5)},
    **{f"double{n}": n * 1.5 for n in range(4)},
    "yes": True,
    "none": None,
    "octets": b"abc",
    "list": [1, 2, "x"],
    "map": {"n": 1, "k": "v"},
    "time": MOMENT,
}
NESTED = amqp.Message(VALUE)
FRAMES = {
    "transfer": amqp.Transfer(0, 1, b"\0\0\0\1", 0, settled=False),
    "disposition": amqp.Disposition(amqp.Role.RECEIVER, 1, 5, True, amqp.Accepted()),
    "flow": amqp.Flow(1, 2048, 5, 2048, 0, 7, 100),
}
OCTETS = {"M1": SMALL.encode(), "M2": LARGE.encode(), "M3": NESTED.encode()}
WIRE = {name: amqp.encode(1, frame) for name, frame in FRAMES.items()}

#: Messages a call, of those rows that have many.
MESSAGES = {"M1 encode, columns": 1000}

Work = dict[str, Callable[[], Any]]


def encode_columns() -> Callable[[], Any]:
    """M1 and its transfer in columns, application properties as a struct."""
    import pyarrow as pa

    from amqpcodec import batch

    row = {
        "handle": 0,
        "delivery_id": 1,
        "delivery_tag": b"\0\0\0\1",
        "settled": False,
        "header": {"durable": True},
        "properties": PROPERTIES,
        "application_properties": {"a": 1, "b": "two", "c": True},
        "body": b"x" * 100,
    }
    columns = pa.RecordBatch.from_pylist([row] * MESSAGES["M1 encode, columns"])
    assert pa.array(batch.encode(columns, "1.0"))[0].as_py() == amqp.encode_message(
        0, FRAMES["transfer"], SMALL
    )
    return partial(batch.encode, columns, "1.0")


def ours() -> Work:
    decode = amqp.Message.decode
    work: Work = {
        "M1 decode, eager": lambda raw=OCTETS["M1"]: decode(raw, eager=True),
        "M1 decode, lazy": partial(decode, OCTETS["M1"]),
        "M1 encode": SMALL.encode,
        "M2 decode, eager": lambda raw=OCTETS["M2"]: decode(raw, eager=True),
        "M2 encode": LARGE.encode,
        "M3 decode": lambda raw=OCTETS["M3"]: decode(raw, eager=True),
        "M3 encode": NESTED.encode,
    }
    for name, frame in FRAMES.items():
        work[f"{name} decode"] = partial(amqp.decode, WIRE[name])
        work[f"{name} encode"] = partial(amqp.encode, 1, frame)
    if importlib.util.find_spec("azure") and importlib.util.find_spec("azure.eventhub"):
        from amqpcodec.compat.azure import _Client

        codec = _Client("azure.eventhub").codec()  # without a change to the client's modules
        work |= drop_in_work(codec, codec, azure_messages())
    try:
        work["M1 encode, columns"] = encode_columns()
    except ImportError as error:
        print(f"no columns here: {error}")
    return work


def proton_work() -> Work:
    import proton

    def message(body: Any, properties: Any) -> Any:
        proton_message = proton.Message(body=body)
        if properties:
            proton_message.durable = True
            proton_message.id, proton_message.address, proton_message.subject = (
                "0f1e2d3c-id",
                "orders/eu",
                "order",
            )
            proton_message.content_type = "application/json"
            proton_message.creation_time = MILLISECONDS / 1000
            proton_message.properties = {"a": 1, "b": "two", "c": True}
        return proton_message

    value = {**VALUE, "time": proton.timestamp(MILLISECONDS)}
    work: Work = {}
    for name, proton_message in (
        ("M1", message(b"x" * 100, True)),
        ("M2", message(b"x" * 65536, True)),
        ("M3", message(value, False)),
    ):
        proton_message.inferred = name != "M3"

        def read(raw: bytes = OCTETS[name]) -> Any:
            proton_message = proton.Message()
            proton_message.decode(raw)
            return proton_message

        work[f"{name} encode"] = proton_message.encode
        work[f"{name} encode, columns"] = proton_message.encode
        for row in (f"{name} decode", f"{name} decode, eager", f"{name} decode, lazy"):
            work[row] = read
    for name, raw in WIRE.items():
        body = raw[8:]

        def read_frame(body: bytes = body) -> Any:
            data = proton.Data()
            data.decode(body)
            data.rewind()
            data.next()
            return data.get_object()

        tree = read_frame()

        def write_frame(tree: Any = tree) -> Any:
            data = proton.Data()
            data.put_object(tree)
            return data.encode()

        work[f"{name} decode"] = read_frame
        work[f"{name} encode"] = write_frame
    return work


def expected_results() -> dict[str, Any]:
    """What the rows of `ours` give, but for columns and the drop-in."""
    messages = {"M1": SMALL, "M2": LARGE, "M3": NESTED}
    results: dict[str, Any] = {f"{name} encode": raw for name, raw in (OCTETS | WIRE).items()}
    results |= {f"{name} decode": (len(raw), 1, FRAMES[name]) for name, raw in WIRE.items()}
    for name, message in messages.items():
        for row in (f"{name} decode", f"{name} decode, eager", f"{name} decode, lazy"):
            results[row] = message
    return results


def azure_messages() -> dict[str, Any]:
    from azure.eventhub._pyamqp import message as messages

    header = messages.Header(durable=True)
    properties = messages.Properties(
        message_id="0f1e2d3c-id",
        to="orders/eu",
        subject="order",
        content_type="application/json",
        creation_time=MILLISECONDS,
    )
    return {
        "M1": messages.Message(
            header=header,
            properties=properties,
            application_properties={"a": 1, "b": "two", "c": True},
            data=[b"x" * 100],
        ),
        "M2": messages.Message(header=header, properties=properties, data=[b"x" * 65536]),
        "M3": messages.Message(value=VALUE),
    }


def azure_work() -> Work:
    """The client's own functions."""
    from azure.eventhub._pyamqp import _decode, _encode

    messages = azure_messages()
    work: Work = {}
    for name, message in messages.items():
        raw = memoryview(OCTETS[name])
        work[f"{name} encode"] = lambda message=message: _encode.encode_payload(
            bytearray(), message
        )
        work[f"{name} encode, columns"] = work[f"{name} encode"]
        for row in (f"{name} decode", f"{name} decode, eager", f"{name} decode, lazy"):
            work[row] = partial(_decode.decode_payload, raw)
    for name, raw in WIRE.items():
        view = memoryview(raw)[8:]
        work[f"{name} decode"] = partial(_decode.decode_frame, view)
    work |= drop_in_work(_decode, _encode, messages)
    return work


def drop_in_work(decode: Any, encode: Any, messages: dict[str, Any]) -> Work:
    """The rows of the drop-in, with the functions of two modules, or of one codec."""
    from azure.eventhub._pyamqp.performatives import TransferFrame

    frame = TransferFrame(0, 1, b"\0\0\0\1", 0, False, *[None] * 6, payload=b"")
    work: Work = {
        "drop-in, transfer decode": partial(decode.decode_frame, memoryview(WIRE["transfer"])[8:]),
        "drop-in, transfer encode": partial(encode.encode_frame, frame),
    }
    for name in ("M1", "M3"):
        work[f"drop-in, {name} decode"] = partial(decode.decode_payload, memoryview(OCTETS[name]))
        work[f"drop-in, {name} encode"] = lambda message=messages[name]: encode.encode_payload(
            bytearray(), message
        )
    return work


def proton_c_work() -> Work:
    run = loops()
    work: Work = {}
    for name, raw in OCTETS.items():
        for row in (f"{name} decode", f"{name} decode, eager", f"{name} decode, lazy"):
            work[row] = run["message_decode"](raw)
        work[f"{name} encode"] = run["message_encode"](raw)
    for name, raw in WIRE.items():
        work[f"{name} decode"] = run["data_decode"](raw[8:])
        work[f"{name} encode"] = run["data_encode"](raw[8:])
    return work


def measure(act: Callable[[], Any], seconds: float) -> float:
    """CPU ns a call, of as many calls as fit the time."""
    calls = 1
    while True:
        start = time.process_time_ns()
        for _ in range(calls):
            act()
        spent = time.process_time_ns() - start
        if spent > seconds * 1e9:
            return spent / calls
        calls = max(calls * 2, int(calls * seconds * 1.1e9 / max(spent, 1)))


def main() -> int:
    """Measure what is there, and print a table. Exit status 1 for a missed gate with --check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--check", action="store_true", help="exit status 1 if a gate is missed")
    options = parser.parse_args()
    quick = options.quick
    peers: dict[str, Work] = {"amqpcodec": ours()}
    for name, make in zip(PEERS, (proton_work, azure_work, proton_c_work), strict=True):
        try:
            peers[name] = make()
        except (ImportError, Absent) as error:
            print(f"no {name} here: {error}")
    print(f"{'row':26}{'ns':>8}  ratios (gate)")
    missed = False
    for row, gates in GATES.items():
        if row not in peers["amqpcodec"]:
            continue
        samples: dict[str, list[float]] = {}
        for _ in range(3 if quick else 9):
            for name, work in peers.items():
                if row in work:
                    spent = measure(work[row], 0.01 if quick else 0.05)
                    if name == "amqpcodec":
                        spent /= MESSAGES.get(row, 1)
                    samples.setdefault(name, []).append(spent)
        middle = {name: statistics.median(values) for name, values in samples.items()}
        if "proton C" in middle:
            middle["proton C"] /= TIMES
        text = f"{row:26}{middle['amqpcodec']:8.0f}"
        for name, gate in zip(PEERS, gates, strict=True):
            if name in middle:
                ratio = middle[name] / middle["amqpcodec"]
                text += f"  {name} {ratio:5.{2 if name == 'proton C' else 1}f}x"
                if gate:
                    text += f" ({gate:g})" if ratio >= gate else f" ({gate:g}: MISSED)"
                    missed |= ratio < gate
        print(text, flush=True)
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
