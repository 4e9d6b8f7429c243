"""Limits of the whole process, each read by a `get_` function and set by a `set_` function.

docs/limits.md lists these and all others.

    >>> from amqpcodec import limits
    >>> limits.get_max_nesting()
    128
"""

from amqpcodec._facade.interpreter import _codec
from amqpcodec._v1 import get_max_empty_elements as _get_max_empty_elements
from amqpcodec._v1 import get_max_int_keys as _get_max_int_keys
from amqpcodec._v1 import set_max_empty_elements as _set_max_empty_elements
from amqpcodec._v1 import set_max_int_keys as _set_max_int_keys

from ._facade.public import listing

__all__ = [
    "get_max_empty_elements",
    "get_max_int_keys",
    "get_max_nesting",
    "set_max_empty_elements",
    "set_max_int_keys",
    "set_max_nesting",
]

__dir__ = listing(__name__)


def get_max_empty_elements() -> int:
    """The limit that `set_max_empty_elements` sets; 65,536 by default."""
    return _get_max_empty_elements()


def set_max_empty_elements(limit: int) -> None:
    """Limits the elements without bytes in the arrays of one frame or section of AMQP 1.0.

    An array of 4,294,967,295 nulls takes ten bytes. Decoding more such elements than the limit
    raises DecodeError with the condition ``amqp:resource-limit-exceeded``; in columns the row has
    an error. Encoding an array with more nulls raises EncodeError. Over all frames of a decoder, or
    rows of a batch, elements beyond the number of bytes that were read count for the frame at hand,
    so that the output stays below a multiple of the input.

    Args:
        limit: elements, in every decoder and thread of the process; 0 allows none.

    Raises:
        ValueError: the limit is no number from 0 to 4,294,967,295.
    """
    _set_max_empty_elements(limit)


def get_max_int_keys() -> int:
    """The limit that `set_max_int_keys` sets; 256 by default."""
    return _get_max_int_keys()


def set_max_int_keys(limit: int) -> None:
    """Limits the integer keys, of any values, that a map of AMQP 1.0 may have to become a dict.

    A peer can choose integers whose places in a dict collide. A map with more of them than the
    limit, out of a range wider than 16 for each pair, is decoded to a Map, which does not hash.

    Args:
        limit: keys, in every decoder and thread of the process; with 0 only integers out of a
            narrow range are keys of a dict.

    Raises:
        ValueError: the limit is no number from 0 to 4,294,967,295.
    """
    _set_max_int_keys(limit)


def get_max_nesting() -> int:
    """The limit that `set_max_nesting` sets; 128 by default."""
    return _codec.get_max_nesting()


def set_max_nesting(limit: int) -> None:
    """Limits the levels of values within values, in both directions and all versions.

    Tables and arrays count in 0-x; lists, maps, arrays, described values and composites in 1.0,
    all together. Decoding a value with more levels raises DepthError, in columns the row has an
    error; encoding one raises EncodeError.

    Args:
        limit: levels, in every decoder and thread of the process.

    Raises:
        ValueError: the limit is no number from 16 to 128. The stack is sized for 128, and frames
            of AMQP 1.0 have up to 11 levels of their own.
    """
    _codec.set_max_nesting(limit)
