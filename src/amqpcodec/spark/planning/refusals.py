"""Wrong options and schemas as Spark's own exception, with the sentence that says what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from pyspark.errors import AnalysisException

__all__ = ["Refusal", "refusing"]

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class Refusal(AnalysisException, ValueError):
    """Wrong use of a function here: an AnalysisException to users of Spark, and a ValueError."""

    def __init__(self, text: str) -> None:
        """text: what is wrong, and what to do."""
        super().__init__(text)


def refusing(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Let a function of the driver raise Refusal in place of ValueError."""

    @wraps(function)
    def call(*args: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
        try:
            return function(*args, **options)
        except ValueError as problem:
            if type(problem) is not ValueError:
                raise  # of what was read
            raise Refusal(str(problem)) from None

    return call
