"""The lowered table of a protocol, as a Python module."""

from __future__ import annotations

import pprint

from amqpcodec.spec.lower import lower
from amqpcodec.spec.model import Protocol


def emit_table(protocol: Protocol, module: str) -> str:
    """Source of ``_gen/<version>.py``: TABLE alone."""
    table = lower(protocol, f"amqpcodec.{module}")
    return "\n".join(
        [
            f'"""The table of AMQP {protocol.name}."""',
            "",
            "TABLE = " + pprint.pformat(table, width=98, sort_dicts=False),
            "",
        ]
    )
