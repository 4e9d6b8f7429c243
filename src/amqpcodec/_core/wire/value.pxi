# The value: what every reader produces and every sink consumes, and the reverse on the way out.

cdef const char** WIRE_NAMES = [
    "bit", "octet", "short", "long", "longlong", "shortstr", "longstr", "timestamp", "table",
    "content"]

cdef enum:
    DEPTH_LEAST = 16        # what the frames of 1.0 take by themselves is 11
    DEPTH_MOST = 128        # more would take a stack that not every thread has

cdef int DEPTH_LIMIT = DEPTH_MOST


def nesting_limit(limit=None):
    """See amqpcodec.limits.nesting."""
    global DEPTH_LIMIT
    cdef int before = DEPTH_LIMIT
    if limit is not None:
        if isinstance(limit, bool) or not isinstance(limit, int) or not DEPTH_LEAST <= limit <= DEPTH_MOST:
            raise ValueError(f"nesting is a number from {DEPTH_LEAST} to {DEPTH_MOST}, not {limit!r}")
        DEPTH_LIMIT = limit
    return before
