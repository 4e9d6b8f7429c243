"""Memory of the core grows in `wire` alone, where each store has its own reservation."""

from __future__ import annotations

import pytest

from tests.layers.growing import growing, grows

#: Why these do it by themselves.
ALLOWED = {
    ("capture/fragments.pxi", "copy_fragment"): "fragments come in any order, each to its place",
    ("columns/arrow.pxi", "column_grow"): "rows of a column, all buffers together",
    ("columns/v1_performative.pxi", "fast_v1_both"): "JSON text of a run, by data_grow",
    ("columns/v1_performative.pxi", "run_v1_arguments"): "JSON text of a run, by data_grow",
    ("protocol/messages.pxi", "append"): "the body is a bytes object, which the caller gets",
}

#: As functions of capture, events and protocol were.
EXAMPLES = {
    "block": """
    if o.data.room < o.n + n and block_room(&o.data, o.n, o.n + n + (o.n >> 2)) < 0:
        return NO_MEMORY
    memcpy(o.data.p + o.n, p, n)
    o.n += n
""",
    "tight": "block_room_tight(&h.marks.block, n * sizeof(Mark), (2 * n + 4) * sizeof(Mark))",
    "reserved elsewhere": """
    memcpy(o.out.p + o.n, leap.records.p, leap.n_records)
    o.n += leap.n_records
""",
    "realloc": "grown = <Tap**>realloc(r.files.taps, (<size_t>i + 1) * sizeof(Tap*))",
    "copy": """
    memory = <uint8_t*>malloc(room)
    free(self.head)
""",
    "text": 'd.n += <size_t>snprintf(d.text + d.n, 40, b"%s", key)',
}


def test_memory_grows_in_wire_alone() -> None:
    assert sorted(growing()) == sorted(ALLOWED)


@pytest.mark.parametrize("source", EXAMPLES.values(), ids=EXAMPLES)
def test_what_is_written_by_hand_is_seen(source: str) -> None:
    assert grows(source)


@pytest.mark.parametrize(
    "source",
    [
        "if block_room(&o.data, 0, o.n) < 0:",  # memory for all, of which no byte is kept
        "if bytes_add(&o.data, &o.n, p, n) < 0:",
        "text = snprintf(text, sizeof(text), format)",
    ],
)
def test_what_grows_nothing_is_not_seen(source: str) -> None:
    assert not grows(source)
