"""docs/limits.md: every test that it names is there, and its figures are those of the code."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import batch, limits, load_xml_spec
from amqpcodec.capture import Reader, _limits, read
from amqpcodec.capture._layers import _derived, _handshake, _keylog, _sessions, _tls, _websocket
from amqpcodec.capture._limits import LIMITS
from amqpcodec.session import Connection, v1
from amqpcodec.session._v1 import scram
from amqpcodec.spec import document, loader

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "amqpcodec"
PAGE = (ROOT / "docs" / "limits.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)))
ROWS = [
    line for line in PAGE.splitlines() if line.startswith("| ") and "what passes it" not in line
]

#: A number as code writes it: 65_536, 1 << 16, 64 * 1024 * 1024.
NUMBER = r"[0-9][0-9_]*(?: (?:<<|\*) [0-9][0-9_]*)*"
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20}


def value(text: str) -> int:
    """A NUMBER."""
    number = 1
    for factor in text.split(" * "):
        base, _, shift = factor.partition(" << ")
        number *= int(base) << int(shift or 0)
    return number


def value_of_text(text: str) -> int:
    """A number as documents write it: 65,536 or 64 MiB."""
    number, _, unit = text.partition(" ")
    return int(number.replace(",", "")) * UNITS.get(unit, 1)


def numbers(text: str) -> list[int]:
    """Those of a text, without versions of the protocol."""
    plain = re.sub(r"\b0-(?:x|8|9(?:-1)?)|\b1\.0", "", text)
    return [value_of_text(match) for match in re.findall(r"\b[0-9][0-9,]*(?: [KM]iB)?", plain)]


def constant(path: str, name: str) -> int:
    """A constant of a module that cannot be asked for it: of the core, or where Spark is needed.

    It stands alone or in a tuple: `NAME = 1 << 16`, `OTHER, NAME = 50, 100_000`.
    """
    for line in (SOURCES / path).read_text().splitlines():
        target, equals, expression = line.partition("#")[0].rpartition(" = ")
        names = (
            target.removeprefix("cdef uint64_t ").removeprefix("cdef int64_t ").strip().split(", ")
        )
        if equals and name in names:
            return value(expression.strip().split(", ")[names.index(name)])
    raise AssertionError(f"{path} has no constant {name}")


def parameter(function: Any, name: str) -> Any:
    return inspect.signature(function).parameters[name].default


#: Constants of the core -> their sources.
CORE_HOMES = {
    "RECORD_LIMIT": "_core/capture/file.pxi",
    "MESSAGE_LIMIT": "_core/capture/open.pxi",
    "HIGHEST_FRAME_MAX": "_core/capture/stream.pxi",
    "DELIVERIES_OPEN": "_core/capture/v1.pxi",
    "TRACKED_LIMIT": "_core/events/open.pxi",
}
FRAME_MAX = parameter(Connection, "frame_max")
MAX_OPEN = constant("spark/functions/pieces.py", "MAX_OPEN")
HEADER_FRAMES = constant("_core/protocol/stream.pxi", "HEADER_FRAMES")
MIN_FRAME_1_0 = 512  # of the specification
OF_V1 = v1.Limits()
ORDER = "_core/capture/order.pxi"
TRANSLATED = "_core/capture/translated.pxi"

#: Arguments that several signatures have -> their default.
REPEATED = {"frame_max": FRAME_MAX, "max_open": 65_536}
#: Where such a default is a constant: file and name -> which of REPEATED it is.
CONSTANTS = {
    ("_facade/decoder.py", "FRAME_MAX"): "frame_max",
    ("_facade/decoder.py", "MAX_OPEN"): "max_open",
    ("spark/functions/encoding.py", "FRAME_MAX"): "frame_max",
    ("spark/functions/pieces.py", "MAX_OPEN"): "max_open",
}
#: Each row of the page, in its order -> the numbers of its default, as the code has them.
FIGURES: list[tuple[str, list[int]]] = [
    ("bytes of a frame, 0-x, in a decoder", [FRAME_MAX]),
    (
        "bytes of a method or content header frame, 0-x, in a decoder; RabbitMQ splits bodies only",
        [HEADER_FRAMES],
    ),
    ("bytes of a frame, 1.0, in a decoder", [FRAME_MAX, MIN_FRAME_1_0]),
    ("bytes of a body, 0-x", []),
    ("bytes of a delivery, 1.0", []),
    ("contents that are open at once, 0-x", [REPEATED["max_open"]]),
    ("deliveries that are open at once, 1.0", [REPEATED["max_open"]]),
    ("sizes and counts on the wire", [0xFFFF_FFFF]),
    ("memory for a body that is only announced", []),
    (
        "nesting, 0-x: tables and arrays, counted together",
        [constant("_core/wire/value.pxi", "DEPTH_MOST")],
    ),
    (
        "nesting, 1.0: lists, maps, arrays, described values and composites, counted together",
        [limits.get_max_nesting()],
    ),
    (
        "elements of arrays without bytes, 1.0, in a frame or section",
        [limits.get_max_empty_elements()],
    ),
    ("the same in all frames of a decoder", []),
    ("the same in all rows of a batch, or of a batch of a capture", []),
    ("integers as keys of a dict, 1.0", [constant("_core/v1/read.pxi", "V1_INT_KEYS"), 16]),
    (
        "frames inside of frames that a `repr` shows",
        [constant("_core/objects/bases.pxi", "REPR_DEPTH")],
    ),
    ("objects in objects, made by a program", []),
    ("bytes of a column with int32 offsets", [0x7FFF_FFFF]),
    (
        "Arrow types within each other, as input of `encode`",
        [constant("_core/columns/source.pxd", "SOURCE_DEPTH")],
    ),
    ("memory kept for the next batch", []),
    (
        "bytes that wait for a missing segment, a direction",
        [LIMITS.reorder_bytes, 8 * LIMITS.reorder_bytes],
    ),
    ("segments that wait", [LIMITS.reorder_segments]),
    ("bytes of a frame", [LIMITS.frame_bytes]),
    (
        "bytes of the frames of a message",
        [LIMITS.message_bytes, constant("_core/capture/open.pxi", "OPEN_LIMIT")],
    ),
    (
        "deliveries of a direction that are open at once, 1.0, at message level",
        [LIMITS.open_deliveries],
    ),
    (
        "at event level, channels (sessions of 1.0), links, consumers, publishes, "
        "deliveries, requests, each",
        [LIMITS.max_tracked],
    ),
    (
        "at event level, exchanges, queues, bindings, messages that came back, each",
        [LIMITS.max_tracked],
    ),
    ("at event level, virtual hosts", [constant("_core/events/broker.pxi", "HOSTS_LIMIT")]),
    (
        "of a route: bytes of names, bindings tried, headers compared",
        [
            constant("_core/events/record.pxi", "ROUTE_LIMIT"),
            constant("_core/events/routes.pxi", "BINDINGS_TRIED"),
            constant("_core/events/routes.pxi", "HEADERS_TRIED"),
        ],
    ),
    (
        "confirmed numbers of a channel after the first one that is missing, "
        "while numbers are not known",
        [constant("_core/events/standstill.pxi", "CONFIRMS_AHEAD")],
    ),
    (
        "publishes of a channel without confirms that may come back",
        [constant("_core/events/content.pxi", "SENT_KEPT")],
    ),
    (
        "rows that wait for one that comes before them",
        [constant(ORDER, "ORDER_ROWS"), constant(ORDER, "ORDER_BYTES")],
    ),
    ("open connections", [LIMITS.open_connections]),
    (
        "segments that are held of a connection that may be another one, behind an address"
        " translation",
        [constant(TRANSLATED, name) for name in ("SEEN_KEPT", "TRANSLATED_BYTES", "OTHERS_LIMIT")],
    ),
    ("packets within each other (tunnels)", [constant("_core/capture/tunnel.pxi", "TUNNEL_LIMIT")]),
    (
        "IP packets of which fragments are missing",
        [
            constant("_core/capture/fragments.pxi", "PARTIAL_LIMIT"),
            LIMITS.fragment_bytes,
            constant("_core/capture/fragments.pxi", "PARTIAL_NS") // 10**9,
        ],
    ),
    ("fragments that contradict each other", []),
    ("batches that threads have ready before they are asked for", []),
    ("bytes of a packet, or of a block of pcapng", [LIMITS.record_bytes]),
    ("interfaces of a section of pcapng", [constant("_core/capture/file.pxi", "INTERFACE_LIMIT")]),
    ("bytes that a compressed file becomes", []),
    (
        "what it becomes for each byte that was read of it",
        [LIMITS.max_compression_ratio, _limits.UNPACKED_START],
    ),
    (
        "messages of Spark's `decode(by=)` that are open where a batch ends, a task",
        [MAX_OPEN, constant("spark/functions/pieces.py", "MAX_OPEN_BYTES")],
    ),
    (
        "rotations of a Spark stream that may continue",
        [constant("spark/stream/microbatches.py", "MAX_CHAINS")],
    ),
    (
        "directions of such a rotation by which a file is known to go on",
        [constant("spark/stream/journal.py", "DIRECTIONS")],
    ),
    (
        "bytes of the outline of a range, for `index_captures`",
        [constant("spark/planning/prescan.py", "LARGEST")],
    ),
    ("files of a Spark stream's batch", [constant("spark/stream/capture_stream.py", "MAX_FILES")]),
    ("bytes of a record of a trace", [constant("traces/_read.py", "RECORD_LIMIT")]),
    (
        "Erlang terms within each other, in a text trace",
        [constant("traces/_terms.py", "MAX_DEPTH")],
    ),
    (
        "bytes of a direction over TLS or WebSocket that wait for the other one's hello or answer",
        [_tls.LARGEST_WAIT],
    ),
    ("bytes of a TLS handshake message that is read", [_handshake.LARGEST]),
    (
        "places and numbers that a TLS record is tried at after a gap",
        [_tls.TRIED_PLACES, _tls.TRIED_NUMBERS, _tls.TRIED_BYTES],
    ),
    (
        "what trying records after gaps may cost a direction over TLS, in bytes "
        "to decrypt; a try counts as 4,096 more, deriving keys as 65,536",
        [_tls.TRIAL_START, _tls.TRIAL_RATIO],
    ),
    ("secrets that lines of a key log give for the same thing", [_keylog.MAX_CANDIDATES]),
    ("sessions of TLS 1.2 that may be resumed", [_sessions.KEPT]),
    ("secrets that captures bring", [_keylog.KEPT]),
    ("key updates of a direction", [_derived.LAST_UPDATE]),
    ("a compressed message of WebSocket", [LIMITS.websocket_bytes]),
    (
        "what a direction's compressed messages become for each of their bytes",
        [LIMITS.websocket_ratio, _websocket.UNPACKED_START],
    ),
    ("bytes of a frame, 0-x", [FRAME_MAX]),
    ("bytes of a method or content header frame, 0-x", [HEADER_FRAMES]),
    ("bytes of a frame, 1.0", [parameter(v1.Connection, "max_frame_size"), MIN_FRAME_1_0]),
    ("bytes of a body, 0-x", [parameter(Connection, "max_body_size")]),
    (
        "requests of a channel that wait for replies, each way",
        [parameter(Connection, "max_requests")],
    ),
    (
        "names of consumers that the server cancelled, which a client may cancel again, a channel",
        [constant("session/_receive.py", "_CANCELLED")],
    ),
    ("channels", [parameter(Connection, "channel_max")]),
    ("sessions, 1.0", [OF_V1.sessions]),
    ("links of a session", [OF_V1.links]),
    ("deliveries of a session that nobody settled", [OF_V1.unsettled]),
    ("bytes of a message, 1.0", [OF_V1.message_size]),
    ("bytes of all deliveries that have begun, a connection", [OF_V1.partial_bytes]),
    ("transfers of a session before its next flow", [OF_V1.incoming_window]),
    ("transactions that are open at the coordinators of a connection, 1.0", [OF_V1.transactions]),
    ("events of a disposition, 1.0", []),
    ("deliveries beyond a link's credit", []),
    ("iterations that a server asks of SCRAM, 1.0", [scram.MIN_ITERATIONS, scram.MAX_ITERATIONS]),
    ("bytes of a frame of SASL, 1.0", [MIN_FRAME_1_0]),
    ("levels of an expression of `--where`", [constant("cli/where.py", "MAX_DEPTH")]),
    (
        "events of a recording in the making that a question looks at",
        [constant("cli/recent.py", "MAX_ROWS")],
    ),
    ("routes of a plan of `replay`", [constant("cli/replay/plan.py", "MAX_ROUTES")]),
    (
        "bytes of bodies that `replay` published and nobody confirmed",
        [constant("cli/replay/player.py", "MAX_UNCONFIRMED")],
    ),
    ("bytes of a file", [parameter(load_xml_spec, "max_bytes")]),
    ("elements within each other", [parameter(load_xml_spec, "max_depth")]),
    ("fields of a method", [loader.MAX_FIELDS]),
]
#: Pages that name a default: what matches around it, and what it is.
IN_PAGES = [
    ("spark.md", r"`maxCompressionRatio` \((\d+)\)", LIMITS.max_compression_ratio),
    ("spark.md", r"are held, ([\d,]+) of them", MAX_OPEN),
    ("guide/captures.md", r"each compressed one \(([\d,]+) unless", LIMITS.max_compression_ratio),
    ("replay.md", r"`--window` messages \((\d+)\)", 1000),
    ("session.md", r"`channel_max` \| (\d+) \|", parameter(Connection, "channel_max")),
    ("session.md", r"`frame_max` \| (\d+) \|", FRAME_MAX),
    ("session.md", r"`max_body_size` \| (\d+ MiB) \|", parameter(Connection, "max_body_size")),
    ("session.md", r"`max_requests` \| (\d+) \|", parameter(Connection, "max_requests")),
]
#: Docstrings that name a default or a fixed limit: likewise.
IN_DOCSTRINGS = [
    (limits.get_max_empty_elements, r"([\d,]+) by default", limits.get_max_empty_elements()),
    (read, r"no more than ([\d,]+) rows", constant(ORDER, "ORDER_ROWS")),
    (read, r"rows or (\d+ MiB) of frames", constant(ORDER, "ORDER_BYTES")),
    (Reader.tcp_resets, r"at most ([\d,]+)", constant("_core/capture/tcp.pxi", "RESET_LIMIT")),
    (
        batch.limit_memory,
        r"capture keeps (\d+ MiB)",
        constant("_core/capture/reader.pxi", "POOL_BYTES"),
    ),
    (v1.Scram, r"may ask for, ([\d,]+)", scram.MIN_ITERATIONS),
    (v1.Scram, r"may ask for, [\d,]+ to ([\d,]+)\.", scram.MAX_ITERATIONS),
    (v1.ScramRecord, r"; ([\d,]+) to", scram.MIN_ITERATIONS),
    (v1.ScramRecord, r"; [\d,]+ to ([\d,]+) iterations", scram.MAX_ITERATIONS),
]


def test_tables_are_tables() -> None:
    """A row that follows a blank line is a paragraph in Markdown."""
    assert not re.search(r"\n\n\|[^\n]*\n(?!\|---)", PAGE)


def test_every_limit_has_all_columns_and_a_test() -> None:
    assert len(ROWS) > 15
    for row in ROWS:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert len(cells) == 5, row
        assert all(cells), row
        assert "tests/" in cells[4], row


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_the_test_is_there(path: str, name: str) -> None:
    text = (ROOT / path).read_text()
    assert not name or re.search(rf"^def {name}\(", text, re.MULTILINE)


def test_options_of_captures_and_their_ranges() -> None:
    for limit in fields(_limits.Limits):
        assert f"`{limit.name}=`" in PAGE
        if limit.metadata["least"] == 1:
            assert f"`{limit.name}=`, 1 to {limit.metadata['most']:,} |" in PAGE


def test_each_default_is_that_of_the_code() -> None:
    """Row by row: the numbers of the column `default` are those of FIGURES."""
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in ROWS]
    page = [(what, numbers(default)) for what, default, *_ in cells]
    assert page == FIGURES


@pytest.mark.parametrize("name", REPEATED)
def test_a_default_is_the_same_in_every_signature(name: str) -> None:
    """In modules, stubs and the core: `name: type = number`. 0 belongs to arguments of methods."""
    pattern = re.compile(rf"\b{name}(?:: [\w| ]+)? ?= ?({NUMBER})(?=[,)])")
    values = {
        (path.relative_to(SOURCES).as_posix(), value(text))
        for path in SOURCES.rglob("*")
        if path.suffix in (".py", ".pyi", ".pxi") and not {"_gen", "compat"} & set(path.parts)
        for text in pattern.findall(path.read_text())
    }
    of_code = {(path, number) for path, number in values if number}
    assert {number for _, number in of_code} == {REPEATED[name]}
    assert len(of_code) > 2
    for (path, constant_name), argument in CONSTANTS.items():
        assert constant(path, constant_name) == REPEATED[argument]


def test_specifications_have_one_limit_in_both_signatures() -> None:
    """`import amqpcodec` does not load the module that reads XML, whose constants these are."""
    assert parameter(load_xml_spec, "max_bytes") == document.MAX_BYTES
    assert parameter(load_xml_spec, "max_depth") == document.MAX_DEPTH


@pytest.mark.parametrize(("documented", "pattern", "number"), IN_DOCSTRINGS)
def test_docstrings_have_the_defaults(documented: Any, pattern: str, number: int) -> None:
    matches = re.findall(pattern, " ".join((inspect.getdoc(documented) or "").split()))
    assert [value_of_text(text) for text in matches] == [number]


def test_the_core_has_the_defaults_of_captures() -> None:
    """A `_capture.Reader` that is made without options, as the tests of the core make it."""
    text = (SOURCES / "_core" / "capture" / "reader.pxi").read_text()
    for name, number in {
        "reorder_bytes": LIMITS.reorder_bytes,
        "reorder_total": 8 * LIMITS.reorder_bytes,
        "reorder_pieces": LIMITS.reorder_segments,
        "open_connections": LIMITS.open_connections,
        "fragment_bytes": LIMITS.fragment_bytes,
        "record_bytes": LIMITS.record_bytes,
        "message_bytes": LIMITS.message_bytes,
        "frame_bytes": LIMITS.frame_bytes,
        "open_deliveries": LIMITS.open_deliveries,
        "max_tracked": LIMITS.max_tracked,
    }.items():
        match = re.search(rf'"{name}": ({NUMBER}|[A-Z_]+)[,}}]', text)
        assert match, name
        default = match[1]
        assert (
            constant(CORE_HOMES[default], default) if default.isupper() else value(default)
        ) == number


def test_the_docstring_has_the_defaults_of_captures() -> None:
    text = inspect.getdoc(_limits.LimitOptions)
    assert text is not None
    entries = dict(re.findall(r"^    (\w+): (.*?)(?=^    \w+: |\Z)", text, re.M | re.S))
    assert set(entries) == {limit.name for limit in fields(_limits.Limits)}
    for name, entry in entries.items():
        assert getattr(LIMITS, name) in numbers(entry), name


@pytest.mark.parametrize(("page", "pattern", "number"), IN_PAGES)
def test_other_pages_have_the_defaults(page: str, pattern: str, number: int) -> None:
    matches = re.findall(pattern, (ROOT / "docs" / page).read_text())
    assert matches
    assert {value_of_text(text) for text in matches} == {number}


def test_numbers_are_read() -> None:
    assert numbers("4 MiB; 32 MiB together") == [4 << 20, 32 << 20]
    assert numbers("128 MiB, 0-x and 1.0") == [128 << 20]
    assert numbers("one for 0-9-1") == []
