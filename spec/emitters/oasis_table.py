"""The lowered table of AMQP 1.0, as a Python module."""

from __future__ import annotations

import pprint

from amqpcodec.spec.oasis import Protocol
from amqpcodec.spec.oasis_lower import lower


def emit_oasis_table(protocol: Protocol, module: str) -> str:
    """Source of ``_gen/v1_0.py``: TABLE alone."""
    table = lower(protocol, f"amqpcodec.{module}")
    return "\n".join(
        [
            f'"""The table of AMQP {table["name"]}."""',
            "",
            "TABLE = " + pprint.pformat(table, width=98, sort_dicts=False),
            "",
        ]
    )
