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
    "_core/wire.pxi": "wire",
    "_core/value.pxi": "value",
    "_gen/constants.pxi": "value",
    "_core/errors.pxi": "errors",
    "_core/frame.pxi": "frame",
    "_core/table_check.pxi": "table",
    "_core/table_read.pxi": "table",
    "_core/table_write.pxi": "table",
    "_core/table_walk.pxi": "table",
    "_core/objects_kind.pxi": "kind",
    "_core/legacy.pxi": "legacy",
    "_core/objects.pxi": "objects",
    "_core/bases.pxi": "objects",
    "_core/hot.pxi": "objects",
    "_gen/hot.pxi": "objects",
    "_core/options.pxi": "protocol",
    "_core/descs.pxi": "protocol",
    "_core/protocol_core.pxi": "protocol",
    "_core/frame_write.pxi": "protocol",
    "_core/frame_read.pxi": "protocol",
    "_core/protocol.pxi": "protocol",
    "_core/stream.pxi": "decoders",
    "_core/messages.pxi": "decoders",
    "_core/bind_profile.pxi": "bind",
    "_core/bind_read.pxi": "bind",
    "_core/bind_write.pxi": "bind",
    "_core/bind_class.pxi": "bind",
    "_core/bind_method.pxi": "bind",
    "_core/bind_codec.pxi": "bind",
    "_core/bind_pika.pxi": "bind",
    "_core/bind_pamqp.pxi": "bind",
    "_core/bind_pyamqp.pxi": "bind",
    "_core/bind_pyamqp_odd.pxi": "bind",
    "_core/bind_pyamqp_frames.pxi": "bind",
    "_core/bind_pyamqp_writer.pxi": "bind",
    "_core/bind_pyamqp_transport.pxi": "bind",
    "_core/v1_value.pxi": "v1wire",
    "_core/v1_errors.pxi": "v1wire",
    "_core/v1_check.pxi": "v1wire",
    "_core/v1_desc.pxi": "v1wire",
    "_core/v1_scan.pxi": "v1wire",
    "_core/v1_verify.pxi": "v1wire",
    "_core/v1_sections.pxi": "v1wire",
    "_core/v1_scalar.pxi": "v1",
    "_core/v1_usual.pxi": "v1",
    "_core/v1_read.pxi": "v1",
    "_core/v1_write_scalar.pxi": "v1",
    "_core/v1_write.pxi": "v1",
    "_core/v1_validate.pxi": "v1",
    "_core/v1_classes.pxi": "v1",
    "_core/v1_core.pxi": "v1protocol",
    "_core/v1_frame.pxi": "v1",
    "_core/v1_stream.pxi": "v1",
    "_core/v1_message.pxi": "v1",
    "_core/v1_rules.pxi": "v1",
    "_core/v1_assemble.pxi": "v1",
    "_core/v1_api.pxi": "v1",
    "_core/bind_azure_read.pxi": "bind-v1",
    "_core/bind_azure_scalar.pxi": "bind-v1",
    "_core/bind_azure_write.pxi": "bind-v1",
    "_core/bind_azure.pxi": "bind-v1",
    "_core/json.pxi": "columns",
    "_core/variant_keys.pxi": "columns",
    "_core/variant.pxi": "columns",
    "_core/arrow_stream.pxi": "columns",
    "_core/arrow.pxi": "columns",
    "_core/arrow_in.pxi": "columns",
    "_core/arrow_out.pxi": "columns",
    "_core/columns_tables.pxi": "columns",
    "_core/columns_hot_tables.pxi": "columns",
    "_core/columns_plan.pxi": "columns",
    "_core/columns_request.pxi": "columns",
    "_core/columns_wanted.pxi": "columns",
    "_core/columns_rows.pxi": "columns",
    "_core/columns_v1_plan.pxi": "columns",
    "_core/columns_v1_json.pxi": "columns",
    "_core/columns_v1_rows.pxi": "columns",
    "_core/variant_v1.pxi": "columns",
    "_core/columns_v1_sections.pxi": "columns",
    "_core/columns_v1_hot.pxi": "columns",
    "_core/columns_v1_performative.pxi": "columns",
    "_core/columns_v1_frames.pxi": "columns",
    "_core/columns_v1_links.pxi": "columns",
    "_core/columns_v1_deliveries.pxi": "columns",
    "_core/columns_v1_messages.pxi": "columns",
    "_core/columns_hot.pxi": "columns",
    "_core/columns_kinds.pxi": "columns",
    "_core/columns_write.pxi": "columns",
    "_core/columns.pxi": "columns",
    "_core/columns_shape.pxi": "columns",
    "_core/columns_run.pxi": "columns",
    "_core/columns_messages.pxi": "columns",
    "_core/columns_decode.pxi": "columns",
    "_core/encode_input.pxi": "encode",
    "_core/encode_text.pxi": "encode",
    "_core/encode_json.pxi": "encode",
    "_core/encode_table.pxi": "encode",
    "_core/encode_plan.pxi": "encode",
    "_core/encode_fields.pxi": "encode",
    "_core/encode_rows.pxi": "encode",
    "_core/encode_steps.pxi": "encode",
    "_core/encode_look.pxi": "encode",
    "_core/encode_numbers.pxi": "encode",
    "_core/encode_write.pxi": "encode",
    "_core/encode_even.pxi": "encode",
    "_core/encode_hot.pxi": "encode",
    "_core/encode_v1_value.pxi": "encode",
    "_core/encode_v1_array.pxi": "encode",
    "_core/encode_v1_text.pxi": "encode",
    "_core/encode_v1_json.pxi": "encode",
    "_core/encode_v1_arrow.pxi": "encode",
    "_core/encode_v1_fields.pxi": "encode",
    "_core/encode_v1_message.pxi": "encode",
    "_core/encode_v1_rows.pxi": "encode",
    "_core/encode_v1_plan.pxi": "encode",
    "_core/encode.pxi": "encode",
    "_core/capture_file.pxi": "capture",
    "_core/capture_packet.pxi": "capture",
    "_core/capture_rows.pxi": "capture",
    "_core/capture_v1_look.pxi": "capture",
    "_core/capture_secrets.pxi": "capture",
    "_core/capture_stream.pxi": "capture",
    "_core/capture_versions.pxi": "capture",
    "_core/capture_messages.pxi": "capture",
    "_core/capture_v1.pxi": "capture",
    "_core/capture_frames.pxi": "capture",
    "_core/capture_tcp.pxi": "capture",
    "_core/capture_names.pxi": "capture",
    "_core/capture_state.pxi": "capture",
    "_core/capture_batch.pxi": "capture",
    "_core/capture_reader.pxi": "capture",
}

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
    # The sinks are siblings: columns make no objects.
    "columns": {
        *(
            "wire",
            "value",
            "errors",
            "frame",
            "table",
            "legacy",
            "protocol",
            "v1wire",
            "v1protocol",
        ),
    },
    # And back: columns of Arrow's are read, octets are written.
    "encode": {
        *("wire", "value", "errors", "frame", "table", "legacy", "protocol", "columns"),
        *("v1wire", "v1protocol"),
    },
    # Captures end in columns.
    "capture": {
        *("wire", "value", "errors", "frame", "table", "legacy", "protocol", "columns"),
        *("v1wire", "v1protocol"),
    },
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
    there = {path.relative_to(SOURCE).as_posix() for path in SOURCE.glob("_*/*.pxi")}
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


@pytest.mark.parametrize("name", ["_core/legacy.pxi", "_core/objects.pxi", "_core/columns.pxi"])
def test_symbols_are_found(name: str) -> None:
    """The reader sees much of what there is, or the test above would be blind."""
    if name not in SYMBOLS:
        pytest.skip("not there yet")
    assert len(SYMBOLS[name].defined) > 10
    known = {symbol for found in SYMBOLS.values() for symbol in found.defined}
    assert len(known & set(SYMBOLS[name].used)) > 30


def test_a_moved_include_is_found_out() -> None:
    for name in ("_core/wire.pxi", "_core/errors.pxi", "_core/legacy.pxi", "_core/protocol.pxi"):
        order = [other for other in FILES if other != name] + [name]
        assert any(f"stands below, in {name}" in line for line in wrong_uses(SYMBOLS, order)), name


def test_a_forbidden_arrow_is_found_out() -> None:
    odd = dict(SYMBOLS)
    odd["_core/table_read.pxi"] = Symbols(used={"scan_frame": 7})
    assert wrong_uses(odd, FILES)[0].startswith("_core/table_read.pxi:7: scan_frame is of")


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
