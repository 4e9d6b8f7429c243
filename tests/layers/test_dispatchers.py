"""Who looks at tags, types and constructors by name: a list that may become shorter."""

from __future__ import annotations

import re

from tests.layers.dispatchers import complete, dispatchers, functions

#: Why a function asks for types itself. Where a chain over all kinds of scalars (see
#: test_scalar_kinds.py), all types or all categories, or over one of ENUMS leaves one out, the
#: compiler refuses it; these are all others.
OBJECTS = "on the path of every object of 1.0: a chain in the order of how frequent types are"
BLOCKS = "on the path of every row that becomes a message: a switch over kinds takes 1.8 % more"

WIRE = "wire types of arguments and properties: the ten of WireType"
WRITER = "which form each class of Python is written as; a form that goes ends the compilation"
ARROW = "types of Arrow's columns, of which there is no table"
MARKS = "keys with one $ of JSON text, of which there is no table"

#: How many of these there may be. It may only fall.
MOST = 8

DISPATCHERS = {
    ("v1/verify.pxi", "v1_verify_field"): "the one check of a field's type",
    ("v1/read.pxi", "v1_field"): OBJECTS,
    ("v1/write.pxi", "v1_put_rare"): "what each class of Python stands for; refuses all others",
    (
        "encode/json.pxi",
        "v1e_json_field",
    ): "what JSON text stands for a field; the type is compared after it is written",
    ("encode/v1_fields.pxi", "v1e_field"): BLOCKS,
    ("tables/write.pxi", "put_value"): WRITER,
    ("tables/write.pxi", "put_rare"): WRITER,
    ("dropins/write.pxi", "put_profile_value"): WRITER,
}

#: Those of other groups of names, which no protocol adds to.
OTHERS = {
    ("objects/legacy.pxd", "read_one"): WIRE,
    ("objects/legacy.pxi", "write_one"): WIRE,
    ("objects/objects.pxi", "load_field"): WIRE,
    ("columns/fast.pxi", "fast_picks"): WIRE,
    ("columns/legacy_plan.pxi", "plan_op"): WIRE,
    ("columns/rows.pxi", "write_value_json"): WIRE,
    ("columns/rows.pxi", "arguments_from"): WIRE,
    ("columns/rows.pxi", "put_field"): WIRE,
    ("columns/run.pxi", "run_fits"): WIRE,
    ("dropins/method.pxi", "bound_next"): WIRE,
    ("encode/fields.pxi", "load_source"): WIRE,
    ("encode/arrow.pxi", "arrow_any"): ARROW,
    ("columns/source.pxi", "describe"): ARROW,
    ("columns/source.pxi", "n_buffers_of"): ARROW,
    ("columns/source.pxi", "bind_source"): ARROW,
    ("columns/source.pxi", "items_at"): ARROW,
    ("encode/survey.pxi", "prefetch_next"): ARROW,
    ("encode/json.pxi", "json_dollar_key"): MARKS,
    ("encode/json.pxi", "json_coded"): MARKS,
}


def test_dispatchers_by_name() -> None:
    incomplete = {place for place, names in dispatchers().items() if not complete(place, names)}
    named_here = {*DISPATCHERS, *OTHERS}
    assert sorted(incomplete - named_here) == [], (
        "read the kind of the value instead: wire/scalar.h"
    )
    assert sorted(named_here - incomplete) == [], "gone: remove it from the list"
    assert len(DISPATCHERS) <= MOST


def test_no_complete_dispatcher_ends_in_else() -> None:
    sources = functions()
    for place, names in dispatchers().items():
        if complete(place, names):
            chain = sources[place][sources[place].index("elif ") :]
            assert not re.search(r"^    else:", chain, re.M), place


LETTER = re.compile(r"\bc'[A-Za-z]'|(?<!\w)'[A-Za-z]'")
WRITERS = re.compile(r"(tables|dropins)/write|encode/(values|arrow|steps|write|numbers|rows)")


def test_no_writer_of_tables_has_a_letter_of_its_own() -> None:
    """A tag stands in TABLE_TAGS; a writer asks tag_of for the one of a form."""
    written = {
        place: LETTER.findall(source)
        for place, source in functions().items()
        if WRITERS.match(place[0])
    }
    assert {place: letters for place, letters in written.items() if letters} == {
        ("tables/write.pxi", "parse_decimal"): ["c'E'"]
    }
