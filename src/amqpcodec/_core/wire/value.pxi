# The value: what every reader produces and every sink consumes, and the reverse on the way out.

cdef const char** WIRE_NAMES = [
    "bit", "octet", "short", "long", "longlong", "shortstr", "longstr", "timestamp", "table",
    "content"]

cdef int DEPTH_LIMIT = 128
