"""Rows of Arrow batches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa


def rows_of(batches: Iterable[Any]) -> list[dict[str, Any]]:
    """The rows of all batches, as dicts."""
    return [row for batch in batches for row in pa.record_batch(batch).to_pylist()]
