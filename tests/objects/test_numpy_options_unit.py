"""NumPy's integers and text as options, wherever Python's are taken: each does what Python's does.

The table CASES names every parameter of public functions that takes an int; a test compares it with
the annotations.
"""

from __future__ import annotations

import ast
import gzip
import io
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import amqpcodec
from amqpcodec import batch, capture, limits, traces, v0_9_1, v1_0
from tests.support import recording

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")

INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
SOURCES = Path(amqpcodec.__file__).parent
PUBLISH = v0_9_1.Basic.Publish(exchange="e", routing_key="k")
MESSAGE = v0_9_1.encode_message(1, PUBLISH, v0_9_1.Basic.Properties(headers={"n": 1}), b"body")
OPEN = v1_0.encode(0, v1_0.Open("c"))
TRANSFER = v1_0.Transfer(handle=0, delivery_id=0, delivery_tag=b"t")
TRACE = b'{"type":"published"}\n' * 3
#: The server listens on port 100, which fits into the 8 bits of int8.
CAPTURE = recording.pcap(
    [
        recording.segment(recording.CLIENT, ("10.0.0.2", 100), 1000, b"", recording.SYN),
        recording.segment(("10.0.0.2", 100), recording.CLIENT, 5000, b"", recording.SYN | 16),
        recording.segment(
            recording.CLIENT, ("10.0.0.2", 100), 1001, b"AMQP\0\0\x09\x01" + MESSAGE * 3
        ),
    ]
)


def table(columns: Any) -> Any:
    return pa.record_batch(columns).to_pydict()


def rows(source: Any = None, ports: Any = (100,), **options: Any) -> Any:
    source = io.BytesIO(CAPTURE) if source is None else source
    reader = capture.read(source, ports=ports, **options)
    return [pa.record_batch(rows).to_pydict() for rows in reader]


def decoded(decoder: Any, data: bytes, *names: str) -> Any:
    return [*map(repr, decoder.feed(data)), *(getattr(decoder, name) for name in names)]


def decoder_option(make: Any, name: str, data: bytes) -> Callable[[Any], Any]:
    return lambda number: decoded(make(**{name: number}), data, name)


def set_frame_max(make: Any) -> Callable[[Any], Any]:
    def run(number: Any) -> Any:
        decoder = make()
        decoder.frame_max = number
        return decoder.frame_max

    return run


def updated(number: Any) -> Any:
    decoder = v0_9_1.Decoder()
    decoder.get_buffer(number)[:8] = v0_9_1.encode(0, v0_9_1.Heartbeat())
    decoder.buffer_updated(np.int16(8) if isinstance(number, np.generic) else 8)
    return repr(list(decoder.feed()))


def limit(name: str) -> Callable[[Any], Any]:
    get, set_ = getattr(limits, f"get_{name}"), getattr(limits, f"set_{name}")

    def run(number: Any) -> Any:
        before = get()
        try:
            set_(number)
            return get()
        finally:
            set_(before)

    return run


def memory_limit(number: Any) -> Any:
    before = batch.limit_memory(number)
    return batch.limit_memory(before)


@contextmanager
def capture_file(suffix: str = "") -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "capture.pcap" + suffix)
        path.write_bytes(CAPTURE)
        yield str(path)


def first_record(number: Any) -> Any:
    with capture_file() as path:
        return capture.Reader(path).first_record(number, number), capture.Reader(path).first_record(
            0, number
        )


def read_until(number: Any) -> Any:
    def count(stop: Any) -> int:
        reader = capture.Reader(io.BytesIO(CAPTURE), ports=100)
        return sum(len(rows["channel"]) for rows in map(table, reader.read(stop=stop)))

    zero = number - number
    return count(number), count((zero, number)), count((0, number))


def trace_rows(**options: Any) -> Any:
    return [rows.num_rows for rows in traces.read(io.BytesIO(TRACE), **options)]


#: module, function, parameter -> what is compared between Python's 100 and NumPy's.
CASES: dict[tuple[str, str, str], Callable[[Any], Any]] = {
    ("_codec.pyi", "set_max_nesting", "limit"): limit("max_nesting"),
    ("_codec.pyi", "Protocol.encode", "channel"): lambda n: v0_9_1.encode(n, PUBLISH),
    ("_codec.pyi", "Protocol.encode_into", "offset"): lambda n: v0_9_1.encode_into(
        bytearray(300), n, 1, PUBLISH
    ),
    ("_codec.pyi", "Protocol.encode_into", "channel"): lambda n: v0_9_1.encode_into(
        bytearray(300), 0, n, PUBLISH
    ),
    ("_codec.pyi", "Protocol.encode_message", "channel"): lambda n: v0_9_1.encode_message(
        n, PUBLISH, None, b"x"
    ),
    ("_codec.pyi", "Protocol.encode_message", "frame_max"): lambda n: v0_9_1.encode_message(
        1, PUBLISH, None, b"x" * 300, frame_max=n
    ),
    ("_codec.pyi", "Protocol.encode_parts", "channel"): lambda n: v0_9_1.encode_parts(
        n, PUBLISH, None, b"x"
    ),
    ("_codec.pyi", "Protocol.encode_parts", "frame_max"): lambda n: v0_9_1.encode_parts(
        1, PUBLISH, None, b"x" * 300, frame_max=n
    ),
    ("_codec.pyi", "Protocol.decode", "offset"): lambda n: repr(
        v0_9_1.decode(bytes(100) + MESSAGE, n)
    ),
    ("_codec.pyi", "Stream.frame_max", "value"): lambda n: (
        set_frame_max(v0_9_1.Decoder)(n),
        set_frame_max(v0_9_1.MessageDecoder)(n),
        set_frame_max(v1_0.Decoder)(n),
        set_frame_max(v1_0.MessageDecoder)(n),
    ),
    ("_codec.pyi", "Stream.get_buffer", "sizehint"): lambda n: len(v0_9_1.Decoder().get_buffer(n)),
    ("_codec.pyi", "Stream.buffer_updated", "nbytes"): updated,
    ("_codec.pyi", "Decoder.__init__", "frame_max"): decoder_option(
        v0_9_1.Decoder, "frame_max", MESSAGE
    ),
    ("_codec.pyi", "Decoder.__init__", "max_header_frame"): lambda n: decoded(
        v0_9_1.Decoder(8, max_header_frame=n), MESSAGE[:30]
    ),
    ("_codec.pyi", "MessageDecoder.__init__", "frame_max"): decoder_option(
        v0_9_1.MessageDecoder, "frame_max", MESSAGE
    ),
    ("_codec.pyi", "MessageDecoder.__init__", "max_body_size"): decoder_option(
        v0_9_1.MessageDecoder, "max_body_size", MESSAGE
    ),
    ("_codec.pyi", "MessageDecoder.__init__", "max_open"): decoder_option(
        v0_9_1.MessageDecoder, "max_open", MESSAGE
    ),
    ("_codec.pyi", "MessageDecoder.__init__", "max_header_frame"): lambda n: (
        v0_9_1.MessageDecoder(8, max_header_frame=n).max_header_frame
    ),
    ("_codec.pyi", "MessageDecoder.discard", "channel"): lambda n: v0_9_1.MessageDecoder().discard(
        n
    ),
    ("_v1.pyi", "V1Decoder.__init__", "frame_max"): decoder_option(v1_0.Decoder, "frame_max", OPEN),
    ("_v1.pyi", "V1MessageDecoder.__init__", "frame_max"): decoder_option(
        v1_0.MessageDecoder, "frame_max", OPEN
    ),
    ("_v1.pyi", "V1MessageDecoder.__init__", "max_message_size"): decoder_option(
        v1_0.MessageDecoder, "max_message_size", OPEN
    ),
    ("_v1.pyi", "V1MessageDecoder.__init__", "max_open"): decoder_option(
        v1_0.MessageDecoder, "max_open", OPEN
    ),
    ("_v1.pyi", "V1MessageDecoder.discard", "channel"): lambda n: v1_0.MessageDecoder().discard(
        n, 0
    ),
    ("_v1.pyi", "V1MessageDecoder.discard", "handle"): lambda n: v1_0.MessageDecoder().discard(
        0, n
    ),
    ("_v1.pyi", "set_max_int_keys", "limit"): limit("max_int_keys"),
    ("_v1.pyi", "set_max_empty_elements", "limit"): limit("max_empty_elements"),
    ("limits.py", "set_max_nesting", "limit"): limit("max_nesting"),
    ("limits.py", "set_max_int_keys", "limit"): limit("max_int_keys"),
    ("limits.py", "set_max_empty_elements", "limit"): limit("max_empty_elements"),
    ("batch.py", "encode", "frame_max"): lambda n: pa.array(
        batch.encode({"body": [b"x" * 300]}, frame_max=n)
    ).to_pylist(),
    ("batch.py", "limit_memory", "limit"): memory_limit,
    ("capture/_read.py", "Reader.__init__", "ports"): lambda n: (rows(ports=n), rows(ports=[n])),
    ("capture/_read.py", "Reader.__init__", "batch_rows"): lambda n: rows(batch_rows=n),
    ("capture/_read.py", "Reader.__init__", "workers"): lambda n: rows(workers=n // n * 2),
    ("capture/_read.py", "Reader.read", "stop"): read_until,
    ("capture/_read.py", "Reader.first_record", "start"): first_record,
    ("capture/_read.py", "Reader.first_record", "stop"): first_record,
    ("capture/_read.py", "read", "ports"): lambda n: rows(ports=(n, 5672)),
    ("capture/_read.py", "read", "batch_rows"): lambda n: rows(batch_rows=n),
    ("capture/_read.py", "read", "workers"): lambda n: rows(workers=n // n * 2),
    ("capture/_read.py", "stats", "ports"): lambda n: (
        capture.stats(io.BytesIO(CAPTURE), n),
        capture.stats(io.BytesIO(CAPTURE), [n]),
    ),
    ("traces/_read.py", "Reader.__init__", "batch_rows"): lambda n: trace_rows(
        batch_rows=n // n * 2
    ),
    ("traces/_read.py", "Reader.__init__", "max_decompressed_bytes"): lambda n: trace_rows(
        max_decompressed_bytes=n
    ),
    ("traces/_read.py", "Reader.__init__", "max_compression_ratio"): lambda n: trace_rows(
        max_compression_ratio=n
    ),
    ("traces/_read.py", "read", "batch_rows"): lambda n: trace_rows(batch_rows=n),
    ("traces/_read.py", "read", "max_decompressed_bytes"): lambda n: trace_rows(
        max_decompressed_bytes=n
    ),
    ("traces/_read.py", "read", "max_compression_ratio"): lambda n: trace_rows(
        max_compression_ratio=n
    ),
    ("__init__.py", "load_xml_spec", "max_bytes"): lambda n: (
        amqpcodec.load_xml_spec(
            max_bytes=np.int32(1 << 24) if isinstance(n, np.generic) else 1 << 24
        ).VERSION
    ),
    ("__init__.py", "load_xml_spec", "max_depth"): lambda n: (
        amqpcodec.load_xml_spec(max_depth=n).VERSION
    ),
}


def annotated() -> Iterator[tuple[str, str, str]]:
    """The parameters of public functions that take an int."""
    for module in sorted({module for module, _, _ in CASES}):
        for node in ast.parse((SOURCES / module).read_text("utf-8")).body:
            members = node.body if isinstance(node, ast.ClassDef) else [node]
            prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
            for function in members:
                if not isinstance(function, ast.FunctionDef) or re.match("_[^_]", function.name):
                    continue
                for argument in function.args.args + function.args.kwonlyargs:
                    text = ast.unparse(argument.annotation) if argument.annotation else ""
                    if re.search(r"\bint\b", text) and "Callable" not in text:
                        yield module, prefix + function.name, argument.arg


def test_every_parameter_has_a_case() -> None:
    private = {("batch.py", "decode_held", "links"), ("_codec.pyi", "check_forms", "lines")}
    assert set(CASES) == set(annotated()) - private


@pytest.mark.parametrize("case", CASES, ids=".".join)
def test_integers(case: tuple[str, str, str]) -> None:
    run = CASES[case]
    plain = run(100)
    for kind in INTEGERS:
        result = run(kind(100))
        assert result == plain, kind
        assert not any(isinstance(value, np.generic) for value in as_list(result)), kind


def as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


@pytest.mark.filterwarnings("ignore::amqpcodec.capture.CaptureWarning")
@pytest.mark.parametrize("name", capture.LimitOptions.__annotations__)
@pytest.mark.parametrize("kind", INTEGERS)
def test_limits_of_captures(name: str, kind: Any) -> None:
    for number in (kind(100), np.array(100)):
        reader = capture.Reader(io.BytesIO(CAPTURE), ports=100, **{name: number})
        assert type(getattr(reader.limits, name)) is int
        assert list(map(table, reader)) == rows(**{name: 100})


@pytest.mark.parametrize("number", [True, np.float64(100), np.bool_(True), "100", np.array([100])])
def test_what_is_no_number_stays_refused(number: Any) -> None:
    for run in (
        lambda: limits.set_max_nesting(number),
        lambda: v0_9_1.Decoder(max_header_frame=number),
        lambda: v0_9_1.MessageDecoder(max_open=number),
        lambda: v1_0.MessageDecoder(max_open=number),
        lambda: capture.read(io.BytesIO(CAPTURE), ports=(number,)),
    ):
        with pytest.raises(ValueError):
            run()


def test_ports_as_an_array() -> None:
    assert rows(ports=np.array([100, 5672])) == rows(ports=[100, 5672])
    assert rows(ports=np.array(100)) == rows(ports=100)


#: Text -> what is compared between Python's and NumPy's.
TEXTS: list[tuple[str, Callable[[Any], Any]]] = [
    *[
        (text, lambda t, o=option: table(batch.decode(MESSAGE, **{o: t})))
        for option, text in {
            "protocol": "0-9-1", "level": "message", "mode": "FAILFAST", "layout": "view",
            "dialect": "0-9-1", "field_tables": "map",
        }.items()
    ],
    *[
        (text, lambda t, o=option: repr(pa.schema(batch.schema(**{o: t}))))
        for option, text in {
            "protocol": "0-9", "level": "message", "layout": "view", "field_tables": "map",
        }.items()
    ],
    *[
        (text, lambda t, o=option: pa.array(batch.encode({"body": [b""]}, **{o: t})).to_pylist())
        for option, text in {"protocol": "0-9-1", "mode": "FAILFAST", "dialect": "0-9"}.items()
    ],
    ("headers.n:long", lambda t: table(batch.decode(MESSAGE, level="message", fields=[t]))),
    ("body", lambda t: pa.array(batch.encode({t: [b"x"]})).to_pylist()),
    ("channel", lambda t: batch.decode(MESSAGE).to_numpy(t).tolist()),
    ("errors", lambda t: batch.encode({"body": [b"x"]}).to_numpy(t).tolist()),
    *[
        (text, lambda t, o=option: decoded(v0_9_1.MessageDecoder(**{o: t}), MESSAGE))
        for option, text in {
            "errors": "frame", "dialect": "0-9-1", "tables": "typed", "trailing": "keep",
        }.items()
    ],
    *[
        (text, lambda t, o=option: decoded(v1_0.MessageDecoder(**{o: t}), OPEN))
        for option, text in {"errors": "frame", "types": "typed"}.items()
    ],
    ("0-9", lambda t: amqpcodec.protocol(t).VERSION),
    *[
        (text, lambda t, o=option: rows(**{o: t}))
        for option, text in {
            "level": "message", "protocol": "0-9-1", "files": "separate", "field_tables": "map",
            "order": "none",
        }.items()
    ],
    *[
        (text, lambda t, o=option: repr(pa.schema(capture.schema(**{o: t}))))
        for option, text in {
            "level": "message", "protocol": "0-9", "field_tables": "variant",
        }.items()
    ],
    ("headers.n:long", lambda t: rows(level="message", fields=[t, "channel"])),
    ("json", lambda t: trace_rows(format=t)),
    ("channel", lambda t: trace_rows(fields=[t])),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_texts(number: int) -> None:
    text, run = TEXTS[number]
    assert run(np.str_(text)) == run(text)


@pytest.mark.parametrize("name", ["", "*.pcap", "capture.pcap", "file:capture.pcap"])
def test_names_of_files(name: str) -> None:
    with capture_file() as path:
        folder = str(Path(path).parent)
        name = f"file://{path}" if name.startswith("file:") else f"{folder}/{name}"
        plain = rows(name)
        assert plain[0]["file"] == [path] * len(plain[0]["file"])
        assert rows(np.str_(name)) == rows([np.str_(name)]) == plain
        assert rows([np.str_(name)] * 2, files="separate") == rows([name] * 2, files="separate")
        assert type(capture.Reader(np.str_(path)).name) is str
        assert capture.stats(np.str_(name), 100) == capture.stats(name, 100)
        options = {"ports": np.uint16(100), "level": np.str_("message")}
        data = capture.dataset(np.str_(name), **options).to_table()
        assert data == capture.dataset(name, "message", ports=100).to_table()
        trace = Path(folder, "trace.gz")
        trace.write_bytes(gzip.compress(TRACE))
        (batch_rows,) = traces.read(np.str_(trace))
        assert batch_rows["file"].to_pylist() == [str(trace)] * 3


IDS = [*[kind(100) for kind in INTEGERS], np.str_("id"), np.bytes_(b"id")]


@pytest.mark.parametrize("number", range(len(IDS)))
@pytest.mark.parametrize("field", ["message_id", "correlation_id"])
def test_ids_of_1_0(field: str, number: int) -> None:
    """Ids are ulong, whatever width the number has."""
    scalar = IDS[number]
    plain = scalar.item()
    message = v1_0.Message(b"x", **{field: scalar})
    message.validate()
    message.properties.validate()
    assert message.encode() == v1_0.Message(b"x", **{field: plain}).encode()
    assert v1_0.decode_value(v1_0.encode_value(message.properties))[0] == v1_0.Properties(
        **{field: plain}
    )


@pytest.mark.parametrize("kind", INTEGERS[::2])
def test_ids_below_zero(kind: Any) -> None:
    properties = v1_0.Properties(message_id=kind(-1))
    with pytest.raises(amqpcodec.EncodeError, match="ulong takes 0"):
        v1_0.encode_value(properties)
    with pytest.raises(amqpcodec.errors.ValidationError, match="message id"):
        properties.validate()


def test_other_values_of_1_0() -> None:
    """Addresses, descriptors and keys."""
    message = v1_0.Message(
        b"x",
        to=np.str_("queue"),
        reply_to=np.str_("answers"),
        application_properties={np.str_("k"): np.int16(5)},
        message_annotations={np.uint64(5): 1},
    )
    message.validate()
    back = v1_0.Message.decode(message.encode())
    assert (back.properties.to, back.properties.reply_to) == ("queue", "answers")
    assert (back.application_properties, back.message_annotations) == ({"k": 5}, {5: 1})
    for kind in INTEGERS:
        described = v1_0.encode_value(v1_0.Described(kind(100), "x"))
        assert described == v1_0.encode_value(v1_0.Described(100, "x"))
    v1_0.Source(address=np.str_("queue")).validate()
    with pytest.raises(amqpcodec.errors.ValidationError, match="symbols or ulongs"):
        v1_0.Message(b"x", message_annotations={np.int64(5): 1}).validate()


def test_numpy_bool_in_a_number_field() -> None:
    """As Python's own."""
    for value in (True, np.bool_(True)):
        assert v0_9_1.decode(v0_9_1.encode(1, v0_9_1.Basic.Qos(prefetch_count=value)))[2] == (
            v0_9_1.Basic.Qos(prefetch_count=1)
        )
