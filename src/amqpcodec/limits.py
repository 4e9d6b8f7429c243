"""Limits that hold for the whole process; docs/limits.md lists all others."""

from amqpcodec._interpreter import _codec
from amqpcodec._v1 import empty_limit as _empty_limit
from amqpcodec._v1 import int_key_limit as _int_key_limit

from ._public import listing

__all__ = ["empty_elements", "int_keys", "nesting"]

__dir__ = listing(__name__)


def empty_elements(limit: int | None = None) -> int:
    """How many elements without bytes the arrays of AMQP 1.0 in one frame or section may have.

    An array of 4,294,967,295 nulls takes ten bytes. More such elements than this (by default
    65,536) are an error: DecodeError with the condition ``amqp:resource-limit-exceeded``, in
    columns a row with an error. An array that is encoded takes no more nulls either: EncodeError.
    Over all frames of a decoder, or rows of a batch, elements beyond the number of bytes that were
    read count for the frame at hand, so that what comes out stays below a multiple of what came in.

    Args:
        limit: the limit from now on, in every decoder and thread of the process; 0 allows none.

    Returns:
        The limit as it was before the call.

    Raises:
        ValueError: the limit is no number from 0 to 4,294,967,295.
    """
    return _empty_limit(limit)


def int_keys(limit: int | None = None) -> int:
    """How many integers a map of AMQP 1.0 may have as keys to become a dict whatever they are.

    A peer can choose integers whose places in a dict collide. A map with more of them than this (by
    default 256), out of a range wider than 16 for each pair, comes as a Map, which does not hash.

    Args:
        limit: the limit from now on, in every decoder and thread of the process; with 0 only
            integers out of a narrow range are keys of a dict.

    Returns:
        The limit as it was before the call.

    Raises:
        ValueError: the limit is no number from 0 to 4,294,967,295.
    """
    return _int_key_limit(limit)


def nesting(limit: int | None = None) -> int:
    """How many levels values may be within each other, in both directions and all versions.

    Tables and arrays count in 0-x; lists, maps, arrays, described values and composites in 1.0,
    all together. A value with more levels than this (by default 128) is a DepthError, in columns a
    row with an error; one that is to be encoded is an EncodeError.

    Args:
        limit: the limit from now on, in every decoder and thread of the process.

    Returns:
        The limit as it was before the call.

    Raises:
        ValueError: the limit is no number from 16 to 128. The stack is sized for 128, and frames
            of AMQP 1.0 have up to 11 levels of their own.
    """
    return _codec.nesting_limit(limit)
