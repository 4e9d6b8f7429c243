"""Who looks at tags, types and constructors by name: a list that may become shorter."""

from __future__ import annotations

import re

from tests.layers.dispatchers import complete, dispatchers, functions

#: Why a function asks for types itself. Where a chain over all kinds of scalars (see
#: test_scalar_kinds.py), all types or all categories leaves one out, the compiler refuses it; these
#: are all others.
OBJECTS = "on the path of every object of 1.0: a chain in the order of how frequent types are"
BLOCKS = "on the path of every row that becomes a message: a switch over kinds takes 1.8 % more"

#: How many there may be. It may only fall.
MOST = 5

DISPATCHERS = {
    ("v1/verify.pxi", "v1_verify_field"): "the one check of a field's type",
    ("v1/read.pxi", "v1_field"): OBJECTS,
    ("v1/write.pxi", "v1_put_rare"): "what each class of Python stands for; refuses all others",
    (
        "encode/json.pxi",
        "v1e_json_field",
    ): "what JSON text stands for a field; the type is compared after it is written",
    ("encode/v1_fields.pxi", "v1e_field"): BLOCKS,
}


def test_dispatchers_by_name() -> None:
    found = {place for place, names in dispatchers().items() if not complete(place, names)}
    assert sorted(found - set(DISPATCHERS)) == [], (
        "read the kind of the value instead: wire/scalar.h"
    )
    assert sorted(set(DISPATCHERS) - found) == [], "gone: remove it from the list"
    assert len(DISPATCHERS) <= MOST


def test_no_complete_dispatcher_ends_in_else() -> None:
    sources = functions()
    for place, names in dispatchers().items():
        if complete(place, names):
            chain = sources[place][sources[place].index("elif ") :]
            assert not re.search(r"^    else:", chain, re.M), place
