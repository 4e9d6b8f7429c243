"""No use of the core keeps a reference: counted by a debug build of CPython, over all objects."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import sys
from collections.abc import Callable
from typing import Any

import pytest

from amqpcodec import AMQPCodecError, load_xml_spec
from amqpcodec import v0_9_1 as old
from amqpcodec import v1_0 as new
from tests.paths import REPO
from tests.support import recording

pytestmark = pytest.mark.skipif(
    not hasattr(sys, "gettotalrefcount"), reason="takes a debug build of CPython"
)
ROUNDS = 50

HEADERS = {"n": 1, "t": "text", "b": b"\xff", "l": [1, {"k": None}], "f": 1.5, "x": 2**40}
PROPERTIES = old.Basic.Properties(content_type="text/plain", headers=HEADERS, timestamp=5)
SENT = old.encode_message(1, old.Basic.Deliver("c", 1, False, "e", "r"), PROPERTIES, b"body" * 9)
TRANSFER = new.encode_message(
    0,
    new.Transfer(0, 0, b"t"),
    new.Message({"n": [1, None, 1.5]}, subject="s", application_properties={"k": b"b"}),
)
ATTACH = new.encode(0, new.Attach("l", 0, False, source=new.Source("a"), target=new.Target("b")))


def refused(call: Callable[..., Any], *arguments: Any, **how: Any) -> None:
    with pytest.raises(AMQPCodecError):
        call(*arguments, **how)


def prefixes(read: Callable[[bytes], Any], data: bytes) -> None:
    """Each beginning, most of which are errors or None."""
    for size in range(len(data)):
        try:
            read(data[:size])
        except AMQPCodecError:
            pass


def changed() -> None:
    _, _, frame = old.decode(SENT, SENT.index(b"\xce") + 1)  # type: ignore[misc]
    frame.properties.headers["n"] = 2
    old.encode(1, frame)
    assert pickle.loads(pickle.dumps(frame)) == copy.deepcopy(frame)


def columns(protocol: str, data: bytes) -> None:
    from amqpcodec import batch

    for level in ("frame", "message"):
        for field_tables in ("json", "variant", "map"):
            batch.decode(data, protocol, level, field_tables=field_tables)
            batch.decode(data + data[:9], protocol, level, layout="view")


def captured() -> None:
    from amqpcodec import capture

    packets = [*recording.opening(), recording.client(1001, old.PROTOCOL_HEADER + SENT)]
    reader = capture.Reader(io.BytesIO(recording.pcap(packets)))
    list(reader.read())
    reader.state()


WORK: dict[str, Callable[[], Any]] = {
    "frames": lambda: list(old.Decoder().feed(SENT)),
    "messages": lambda: list(old.MessageDecoder().feed(SENT)),
    "messages as views": lambda: list(old.MessageDecoder(copy=False).feed(SENT)),
    "typed": lambda: repr(list(old.Decoder(tables="typed").feed(SENT))),
    "one shot": lambda: old.decode(SENT),
    "beginnings": lambda: prefixes(old.decode, SENT),
    "changed": changed,
    "refused": lambda: refused(old.encode, 1, old.Basic.Publish(exchange="x" * 300)),
    "refused header": lambda: refused(old.encode, 1, old.Queue.Declare(arguments={"k": object()})),
    "1.0 frames": lambda: list(new.Decoder(opened=True).feed(ATTACH + TRANSFER)),
    "1.0 messages": lambda: repr(list(new.MessageDecoder(opened=True).feed(TRANSFER))),
    "1.0 value": lambda: new.decode_value(new.encode_value(HEADERS), types="typed"),
    "1.0 beginnings": lambda: prefixes(new.decode, ATTACH),
    "1.0 refused": lambda: refused(new.encode_value, object()),
    "columns": lambda: columns("0-9-1", SENT),
    "1.0 columns": lambda: columns("1.0", ATTACH + TRANSFER),
    "capture": captured,
    "specification": lambda: load_xml_spec(REPO / "spec" / "amqp0-8.xml"),
}


@pytest.mark.parametrize("name", WORK)
def test_no_reference_is_kept(name: str) -> None:
    work = WORK[name]
    rounds = 3 if name == "specification" else ROUNDS
    for _ in range(rounds):
        work()
    gc.collect()
    before = sys.gettotalrefcount()  # type: ignore[attr-defined]
    for _ in range(rounds):
        work()
    gc.collect()
    leaked_references = sys.gettotalrefcount() - before  # type: ignore[attr-defined]
    assert leaked_references < rounds, f"{leaked_references / rounds} references a round"
