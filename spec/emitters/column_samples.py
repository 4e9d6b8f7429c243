"""The part of two tables that sample messages need: `_columns` decodes these when it is loaded.

A column that no code fills is refused then (`_core/columns/samples.pxi`). Complete tables would
take longer to load than everything else.
"""

from __future__ import annotations

import pprint
from typing import Any

from amqpcodec.spec.lower import lower
from amqpcodec.spec.model import Protocol
from amqpcodec.spec.oasis import Protocol as OasisProtocol
from amqpcodec.spec.oasis_lower import lower as lower_oasis

#: Parts of a table that columns have no use for.
_UNUSED = ("constants", "hard_errors", "primitives", "aliases", "archetypes")


def emit_column_samples(protocol: Protocol, oasis: OasisProtocol) -> str:
    """Source of ``_gen/column_samples.pxi``: basic.publish; flow, transfer and sections of 1.0."""
    return "\n".join(
        f"cdef dict {name} = " + pprint.pformat(table, width=98, sort_dicts=False) + "\n"
        for name, table in (
            ("SAMPLE_TABLE", _basic_publish(protocol)),
            ("V1_SAMPLE_TABLE", _transfer(oasis)),
        )
    )


def _basic_publish(protocol: Protocol) -> dict[str, Any]:
    table = lower(protocol, "")
    basic = next(cls for cls in table["classes"] if cls["name"] == "basic")
    publish = next(method for method in basic["methods"] if method["name"] == "publish")
    publish["fields"] = _plain(publish["fields"])
    basic["properties"] = _plain(basic["properties"])
    basic["methods"] = (publish,)
    table["classes"] = (basic,)
    table["property_columns"] = tuple(
        (name, arrow, tuple(source for source in sources if source[0] == basic["index"]))
        for name, arrow, sources in table["property_columns"]
    )
    basic["doc"] = publish["doc"] = ""
    return {name: value for name, value in table.items() if name not in _UNUSED}


def _plain(fields: tuple[Any, ...]) -> tuple[Any, ...]:
    """Without documentation and asserts."""
    return tuple((name, wire_type, flags, "", ()) for name, wire_type, flags, _, _ in fields)


def _transfer(oasis: OasisProtocol) -> dict[str, Any]:
    table = lower_oasis(oasis, "")
    kept = [
        spec
        for spec in table["types"]
        if spec["name"] in ("transfer", "flow") or "section" in spec["provides"]
    ]
    for spec in kept:
        spec["doc"] = ""
        # No field has an enum.
        spec["fields"] = tuple((*field[:4], None, *field[5:7], "") for field in spec["fields"])
    table["types"] = tuple(kept)
    table["enums"] = ()
    return {name: value for name, value in table.items() if name not in _UNUSED}
