# The value: what every reader produces and every sink consumes, and the reverse on the way out.

from amqpcodec._facade.scalars import as_int

cdef const char** WIRE_NAMES = [
    "bit", "octet", "short", "long", "longlong", "shortstr", "longstr", "timestamp", "table",
    "content"]

cdef enum:
    DEPTH_LEAST = 16        # what the frames of 1.0 take by themselves is 11
    DEPTH_MOST = 128        # more would take a stack that not every thread has

cdef int DEPTH_LIMIT = DEPTH_MOST


cdef int64_t checked_limit(str name, object limit, int64_t least, int64_t most) except -1:
    """What a user sets a limit to."""
    limit = as_int(limit)
    if isinstance(limit, bool) or not isinstance(limit, int) or not least <= limit <= most:
        raise ValueError(f"{name} is a number from {least} to {most}, not {limit!r}")
    return limit


def get_max_nesting():
    """See amqpcodec.limits."""
    return DEPTH_LIMIT


def set_max_nesting(limit):
    """See amqpcodec.limits."""
    global DEPTH_LIMIT
    DEPTH_LIMIT = <int>checked_limit("max_nesting", limit, DEPTH_LEAST, DEPTH_MOST)
