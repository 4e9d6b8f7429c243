"""Inside of the one extension module: each file uses only what stands above it, by the arrows
wire <- value <- {frame, table} <- legacy <- {objects, columns}.
"""

from __future__ import annotations

import pytest

from tests.layers.cython_symbols import Symbols, includes, symbols
from tests.paths import REPO

SOURCE = REPO / "src" / "amqpcodec"

#: File -> group. A new file must find its place here.
GROUPS = {
    "_core/wire/wire.pxi": "wire",
    "_core/wire/value.pxi": "value",
    "_gen/constants.pxi": "value",
    "_core/wire/errors.pxi": "errors",
    "_core/wire/frame.pxi": "frame",
    "_core/tables/check.pxi": "table",
    "_core/tables/read.pxi": "table",
    "_core/tables/write.pxi": "table",
    "_core/tables/walk.pxi": "table",
    "_core/objects/kind.pxi": "kind",
    "_core/objects/legacy.pxi": "legacy",
    "_core/objects/objects.pxi": "objects",
    "_core/objects/bases.pxi": "objects",
    "_core/objects/hot.pxi": "objects",
    "_gen/hot.pxi": "objects",
    "_core/protocol/options.pxi": "protocol",
    "_core/protocol/descs.pxi": "protocol",
    "_core/protocol/core.pxi": "protocol",
    "_core/protocol/frame_write.pxi": "protocol",
    "_core/protocol/frame_read.pxi": "protocol",
    "_core/protocol/protocol.pxi": "protocol",
    "_core/protocol/stream.pxi": "decoders",
    "_core/protocol/messages.pxi": "decoders",
    "_core/dropins/profile.pxi": "bind",
    "_core/dropins/read.pxi": "bind",
    "_core/dropins/write.pxi": "bind",
    "_core/dropins/class.pxi": "bind",
    "_core/dropins/method.pxi": "bind",
    "_core/dropins/codec.pxi": "bind",
    "_core/dropins/pika.pxi": "bind",
    "_core/dropins/pamqp.pxi": "bind",
    "_core/dropins/pyamqp.pxi": "bind",
    "_core/dropins/pyamqp_odd.pxi": "bind",
    "_core/dropins/pyamqp_frames.pxi": "bind",
    "_core/dropins/pyamqp_writer.pxi": "bind",
    "_core/dropins/pyamqp_transport.pxi": "bind",
    "_core/v1/value.pxi": "v1wire",
    "_core/v1/errors.pxi": "v1wire",
    "_core/v1/check.pxi": "v1wire",
    "_core/v1/desc.pxi": "v1wire",
    "_core/v1/scan.pxi": "v1wire",
    "_core/v1/verify.pxi": "v1wire",
    "_core/v1/sections.pxi": "v1wire",
    "_core/v1/scalar.pxi": "v1",
    "_core/v1/compact.pxi": "v1",
    "_core/v1/read.pxi": "v1",
    "_core/v1/write_scalar.pxi": "v1",
    "_core/v1/write.pxi": "v1",
    "_core/v1/validate.pxi": "v1",
    "_core/v1/classes.pxi": "v1",
    "_core/v1/core.pxi": "v1protocol",
    "_core/v1/frame.pxi": "v1",
    "_core/v1/stream.pxi": "v1",
    "_core/v1/message.pxi": "v1",
    "_core/v1/rules.pxi": "v1",
    "_core/v1/assemble.pxi": "v1",
    "_core/v1/api.pxi": "v1",
    "_core/dropins_v1/azure_read.pxi": "bind-v1",
    "_core/dropins_v1/azure_scalar.pxi": "bind-v1",
    "_core/dropins_v1/azure_write.pxi": "bind-v1",
    "_core/dropins_v1/azure.pxi": "bind-v1",
    "_core/columns/arrow_stream.pxi": "columns",
    "_core/columns/arrow.pxi": "columns",
    "_core/columns/arrow_in.pxi": "columns",
    "_core/columns/arrow_out.pxi": "columns",
    "_core/columns/json.pxi": "columns",
    "_core/columns/variant_keys.pxi": "columns",
    "_core/columns/variant.pxi": "columns",
    "_core/columns/plan.pxi": "columns",
    "_core/columns/append.pxi": "columns",
    "_core/columns/write.pxi": "columns",
    "_core/columns/legacy_plan.pxi": "columns-legacy",
    "_core/columns/json_tables.pxi": "columns-legacy",
    "_core/columns/variant_tables.pxi": "columns-legacy",
    "_core/columns/tables.pxi": "columns-legacy",
    "_core/columns/wanted.pxi": "columns-legacy",
    "_core/columns/rows.pxi": "columns-legacy",
    "_core/columns/hot_tables.pxi": "columns-legacy",
    "_core/columns/hot.pxi": "columns-legacy",
    "_core/columns/frames.pxi": "columns-legacy",
    "_core/columns/run_fields.pxi": "columns-legacy",
    "_gen/columns.pxi": "columns-legacy",
    "_core/columns/run.pxi": "columns-legacy",
    "_core/columns/messages.pxi": "columns-legacy",
    "_core/columns/v1_plan.pxi": "columns-v1",
    "_core/columns/v1_json.pxi": "columns-v1",
    "_core/columns/v1_rows.pxi": "columns-v1",
    "_core/columns/variant_v1.pxi": "columns-v1",
    "_core/columns/v1_sections.pxi": "columns-v1",
    "_core/columns/v1_hot.pxi": "columns-v1",
    "_core/columns/v1_performative.pxi": "columns-v1",
    "_core/columns/v1_frames.pxi": "columns-v1",
    "_core/columns/v1_links.pxi": "columns-v1",
    "_core/columns/v1_deliveries.pxi": "columns-v1",
    "_core/columns/v1_messages.pxi": "columns-v1",
    "_core/columns/request.pxi": "columns-driver",
    "_core/columns/driver.pxi": "columns-driver",
    "_core/columns/decode.pxi": "columns-driver",
    "_core/encode/input.pxi": "encode",
    "_core/encode/text.pxi": "encode",
    "_core/encode/json.pxi": "encode",
    "_core/encode/table.pxi": "encode",
    "_core/encode/plan.pxi": "encode",
    "_core/encode/encoder.pxi": "encode",
    "_core/encode/fields.pxi": "encode",
    "_core/encode/rows.pxi": "encode",
    "_core/encode/steps.pxi": "encode",
    "_core/encode/look.pxi": "encode",
    "_core/encode/numbers.pxi": "encode",
    "_core/encode/write.pxi": "encode",
    "_core/encode/hot.pxi": "encode",
    "_core/encode/v1_value.pxi": "encode",
    "_core/encode/v1_array.pxi": "encode",
    "_core/encode/v1_text.pxi": "encode",
    "_core/encode/v1_json.pxi": "encode",
    "_core/encode/v1_arrow.pxi": "encode",
    "_core/encode/v1_fields.pxi": "encode",
    "_core/encode/v1_message.pxi": "encode",
    "_core/encode/v1_rows.pxi": "encode",
    "_core/encode/v1_plan.pxi": "encode",
    "_core/encode/encode.pxi": "encode",
    "_core/capture/file.pxi": "capture",
    "_core/capture/packet.pxi": "capture",
    "_core/capture/rows.pxi": "capture",
    "_core/capture/v1_look.pxi": "capture",
    "_core/capture/secrets.pxi": "capture",
    "_core/capture/stream.pxi": "capture",
    "_core/capture/versions.pxi": "capture",
    "_core/capture/messages.pxi": "capture",
    "_core/capture/v1.pxi": "capture",
    "_core/capture/frames.pxi": "capture",
    "_core/capture/tcp.pxi": "capture",
    "_core/capture/names.pxi": "capture",
    "_core/capture/state.pxi": "capture",
    "_core/capture/batch.pxi": "capture",
    "_core/capture/reader.pxi": "capture",
}

BELOW_COLUMNS = {
    *("wire", "value", "errors", "frame", "table", "legacy", "protocol", "v1wire", "v1protocol"),
}
COLUMNS = {"columns", "columns-legacy", "columns-v1", "columns-driver"}

#: Group -> groups whose names it may use, beside its own.
ARROWS = {
    "wire": set(),
    "value": {"wire"},
    "errors": {"wire", "value"},
    "frame": {"wire", "value", "errors"},
    "table": {"wire", "value", "errors"},
    "kind": {"wire", "value"},
    # kind: for the types of the hot functions that a descriptor may hold
    "legacy": {"wire", "value", "errors", "table", "kind"},
    "objects": {"wire", "value", "errors", "table", "kind", "legacy"},
    "protocol": {"wire", "value", "errors", "frame", "table", "kind", "legacy", "objects"},
    "decoders": {
        *("wire", "value", "errors", "frame", "table", "kind", "legacy", "objects", "protocol"),
    },
    # Other people's classes: a sink and source of their own.
    "bind": {
        *("wire", "value", "errors", "frame", "table", "kind", "legacy", "objects", "protocol"),
    },
    # The second family takes what the first has below its own reader and writer: buffers, text,
    # the one kind of class, and the stream that decoders share.
    "v1": {
        *("wire", "value", "errors", "frame", "table", "kind", "objects", "protocol", "decoders"),
        *("v1wire", "v1protocol"),
    },
    # What it reads octets with, and its table and classes.
    "v1wire": {"wire", "value", "errors", "frame"},
    "v1protocol": {
        *(
            "wire",
            "value",
            "errors",
            "frame",
            "table",
            "kind",
            "objects",
            "protocol",
            "v1wire",
            "v1",
        ),
    },
    # Their classes of the second family: its numbers, and what "bind" has for giving up.
    "bind-v1": {
        *("wire", "value", "errors", "table", "kind", "objects", "protocol", "bind", "v1"),
        "v1wire",
    },
    # The sinks are siblings: columns make no objects. What both families append with comes first;
    # their decoders do not use each other, the driver uses both.
    "columns": BELOW_COLUMNS,
    "columns-legacy": BELOW_COLUMNS | {"columns"},
    "columns-v1": BELOW_COLUMNS | {"columns"},
    "columns-driver": BELOW_COLUMNS | COLUMNS,
    # And back: columns of Arrow's are read, octets are written.
    "encode": BELOW_COLUMNS | COLUMNS,
    # Captures end in columns.
    "capture": BELOW_COLUMNS | COLUMNS,
}

FILES = includes((SOURCE / "_codec.pyx").read_text(encoding="utf-8"))
SYMBOLS = {name: symbols((SOURCE / name).read_text(encoding="utf-8")) for name in FILES}


def wrong_uses(found: dict[str, Symbols], order: list[str]) -> list[str]:
    """Names used before they are defined, or against the arrows."""
    homes: dict[str, list[str]] = {}
    for name in order:
        for symbol in found[name].defined:
            homes.setdefault(symbol, []).append(name)
    wrong = []
    for name in order:
        for symbol, line in sorted(found[name].used.items()):
            above = [
                home for home in homes.get(symbol, []) if order.index(home) < order.index(name)
            ]
            if symbol in homes and not above:
                wrong.append(f"{name}:{line}: {symbol} stands below, in {homes[symbol][0]}")
            groups = {GROUPS[home] for home in above}
            if groups and not groups & {GROUPS[name], *ARROWS[GROUPS[name]]}:
                wrong.append(f"{name}:{line}: {symbol} is of {above[0]}, which is no layer below")
    return wrong


def test_files_use_what_stands_above_them() -> None:
    assert wrong_uses(SYMBOLS, FILES) == []


def test_every_file_is_included_once_and_has_its_place() -> None:
    there = {path.relative_to(SOURCE).as_posix() for path in SOURCE.glob("_*/**/*.pxi")}
    assert sorted(FILES) == sorted(there)
    assert set(FILES) <= set(GROUPS)


def test_root_has_no_logic() -> None:
    root = (SOURCE / "_codec.pyx").read_text(encoding="utf-8")
    for line in root.splitlines():
        assert not line.startswith(("def ", "cdef class", "class ")), line
        assert not line.startswith("cdef ") or "extern" in line, line


def test_included_files_include_nothing() -> None:
    for name in FILES:
        assert includes((SOURCE / name).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "name", ["_core/objects/legacy.pxi", "_core/objects/objects.pxi", "_core/columns/rows.pxi"]
)
def test_symbols_are_found(name: str) -> None:
    """The reader sees much of what there is, or the test above would be blind."""
    if name not in SYMBOLS:
        pytest.skip("not there yet")
    assert len(SYMBOLS[name].defined) > 10
    known = {symbol for found in SYMBOLS.values() for symbol in found.defined}
    assert len(known & set(SYMBOLS[name].used)) > 30


def test_a_moved_include_is_found_out() -> None:
    for name in (
        "_core/wire/wire.pxi",
        "_core/wire/errors.pxi",
        "_core/objects/legacy.pxi",
        "_core/protocol/protocol.pxi",
    ):
        order = [other for other in FILES if other != name] + [name]
        assert any(f"stands below, in {name}" in line for line in wrong_uses(SYMBOLS, order)), name


def test_a_forbidden_arrow_is_found_out() -> None:
    odd = dict(SYMBOLS)
    odd["_core/tables/read.pxi"] = Symbols(used={"scan_frame": 7})
    assert wrong_uses(odd, FILES)[0].startswith("_core/tables/read.pxi:7: scan_frame is of")


SAMPLE = '''
"""cdef int in_a_docstring(x)."""
from libc.stdint cimport (uint8_t,
                          int8_t)
import re as _re
cdef extern from "x.h" nogil:
    uint16_t load(const uint8_t* p)
    ctypedef struct Thing:
        int inside
    PyObject* made "py_made"(char* p)
cdef enum:
    ONE = 1
    TWO
cdef struct Plain:
    uint8_t u
ctypedef int (*reader)(Plain* d) except -1
cdef object A = B.attribute
cdef const char** NAMES = [b"x"]
cdef uint8_t table[4]
cdef inline bint act(Plain* d, int n=DEFAULT) noexcept nogil:
    # a comment with comment_word
    cdef size_t i, j = 0
    cdef Other* o
    for k in range(n):
        o.field = outside(d, keyword=n)
    return f"{text}" == "a_string" and _re.compile(ONE)
cdef class Shape(Base):
    cdef int count
    def area(self, double scale):
        return self.count * scale * FACTOR
PLAIN = made
'''


def test_symbols_of_a_sample() -> None:
    found = symbols(SAMPLE)
    assert set(found.defined) == {
        *("uint8_t", "int8_t", "_re", "load", "Thing", "made", "ONE", "TWO", "Plain", "reader"),
        *("A", "NAMES", "table", "act", "Shape", "PLAIN"),
    }
    wanted = {"B", "DEFAULT", "Other", "outside", "Base", "FACTOR"}
    assert wanted <= set(found.used)
    unwanted = (
        "in_a_docstring comment_word a_string attribute inside keyword i j k o n d count scale"
    )
    assert not set(unwanted.split()) & set(found.used)
