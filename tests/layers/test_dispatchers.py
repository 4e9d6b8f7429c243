"""Who looks at tags, types and constructors by name: a list that may become shorter."""

from __future__ import annotations

import re

from tests.layers.dispatchers import dispatchers, functions, over_kinds

#: Why a function asks for types itself. Of kinds of scalars the compiler refuses a chain that
#: leaves one out (test_scalar_kinds.py); these are all others.
OBJECTS = "on the path of every object of 1.0: a chain in the order of how frequent types are"
BLOCKS = "on the path of every row that becomes a message: a switch over kinds takes 1.8 % more"
CLIENT = "what the client does with the type, which is not what the specification says"

#: How many there may be. It may only fall.
MOST = 8

DISPATCHERS = {
    ("v1/value.pxd", "v1_content"): "the one reader of what follows a constructor",
    ("v1/verify.pxi", "v1_verify_field"): "the one check of a field's type",
    ("v1/read.pxi", "v1_field"): OBJECTS,
    ("v1/write.pxi", "v1_put_rare"): "what each class of Python stands for; refuses all others",
    (
        "encode/json.pxi",
        "v1e_json_field",
    ): "what JSON text stands for a field; the type is compared after it is written",
    ("encode/v1_fields.pxi", "v1e_field"): BLOCKS,
    ("dropins_v1/azure_read.pxi", "azure_scalar"): CLIENT,
    ("dropins_v1/azure_write.pxi", "azure_put_typed"): CLIENT,
}


def test_dispatchers_by_name() -> None:
    found = {place for place, names in dispatchers().items() if not over_kinds(names)}
    assert sorted(found - set(DISPATCHERS)) == [], (
        "read the kind of the value instead: wire/scalar.h"
    )
    assert sorted(set(DISPATCHERS) - found) == [], "gone: remove it from the list"
    assert len(DISPATCHERS) <= MOST


def test_no_dispatcher_over_kinds_ends_in_else() -> None:
    sources = functions()
    for place, names in dispatchers().items():
        if over_kinds(names):
            chain = sources[place][sources[place].index("elif ") :]
            assert not re.search(r"^    else:", chain, re.M), place
