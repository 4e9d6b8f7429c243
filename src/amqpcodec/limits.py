"""Limits that hold for the whole process; docs/limits.md lists all others."""

from amqpcodec._v1 import empty_limit as _empty_limit

__all__ = ["empty_elements"]


def empty_elements(limit: int | None = None) -> int:
    """How many elements without bytes the arrays of AMQP 1.0 in one frame or section may have.

    An array of 4,294,967,295 nulls takes ten bytes. More such elements than this (by default
    65,536) are an error: DecodeError with the condition ``amqp:resource-limit-exceeded``, in
    columns a row with an error. Over all frames of a decoder, or rows of a batch, elements beyond
    the number of bytes that were read count for the frame at hand, so that what comes out stays
    below a multiple of what came in.

    Args:
        limit: the limit from now on, in every decoder and thread of the process; 0 allows none.

    Returns:
        The limit as it was before the call.

    Raises:
        ValueError: the limit is no number from 0 to 4,294,967,295.
    """
    return _empty_limit(limit)
