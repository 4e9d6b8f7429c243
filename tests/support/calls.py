"""What a call came to, so that two ways of calling can be compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def result_of(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Its value, or the class and the text of its exception."""
    try:
        return call(*args, **options)
    except Exception as error:
        return type(error), str(error)
