# What callers give: options by their names, channels, and bytes of any buffer.

cdef object RABBITMQ = "rabbitmq"
cdef object PLAIN = "plain"
cdef object ERROR = "error"
cdef object view_of_copy = object()     # marks: bodies as views, but of a copy

cdef int parse_bytes(object o, ByteView* raw, const char* method, const char* field) except -1:
    """Borrow the bytes of any C-contiguous buffer, until drop_bytes."""
    raw.exported = False
    if type(o) is bytes:
        raw.p = <const uint8_t*>PyBytes_AS_STRING(o)
        raw.n = <uint64_t>PyBytes_GET_SIZE(o)
        return 0
    if isinstance(o, str):
        encode_error(place_name(method), place_name(field), "takes bytes, not str; encode the text first")
    try:
        PyObject_GetBuffer(o, &raw.view, PyBUF_SIMPLE)
        raw.exported = True
    except (TypeError, BufferError):
        pass
    if not raw.exported:
        encode_error(place_name(method), place_name(field),
                     f"takes bytes or another C-contiguous buffer, not this {type(o).__name__}")
    raw.p = <const uint8_t*>raw.view.buf
    raw.n = <uint64_t>raw.view.len
    return 0


cdef dict DIALECTS = {"rabbitmq": 0, "0-9-1": MODE_LETTER, "0-9": MODE_0_9, "0-8": MODE_0_8}


cdef uintptr_t reading_mode(object dialect, object tables, object trailing) except? 0xFFFF:
    """What is read does not depend on "0-9" and "0-8": all of RabbitMQ's types are, whoever sends."""
    cdef uintptr_t mode = 0
    if dialect != "rabbitmq":
        if dialect not in DIALECTS:
            raise ValueError(f"dialect is {', '.join(map(repr, DIALECTS))}, not {dialect!r}")
        mode |= <uintptr_t>DIALECTS[dialect] & MODE_LETTER
    if tables != "plain":
        if tables != "typed":
            raise ValueError(f'tables is "plain" or "typed", not {tables!r}')
        mode |= MODE_TYPED
    if trailing != "error":
        if trailing != "keep":
            raise ValueError(f'trailing is "error" or "keep", not {trailing!r}')
        mode |= MODE_TRAILING
    return mode


cdef uintptr_t encoding_mode(object dialect) except? 0xFFFF:
    if dialect is RABBITMQ:
        return 0
    reading_mode(dialect, PLAIN, ERROR)     # names what is wrong
    return DIALECTS[dialect]


cdef int parse_channel(object channel) except -1:
    cdef uint64_t n = 0
    if not exact_u64(<PyObject*>channel, &n) or n > 0xFFFF:
        if isinstance(from_numpy(channel, NUMPY_CLASSES), int) and 0 <= channel <= 0xFFFF:
            return int(channel)
        encode_error(None, "channel", f"takes an int from 0 to 65535, not {short_repr(channel)}")
    return <int>n


cdef int64_t parse_frame_max(object frame_max) except -1:
    cdef uint64_t n = 0
    if exact_u64(<PyObject*>frame_max, &n) and n <= MAX_U32:
        return <int64_t>n
    frame_max = from_numpy(frame_max, NUMPY_CLASSES)
    if not isinstance(frame_max, int) or not 0 <= frame_max <= 2**32 + 7:
        encode_error(None, "frame_max", f"takes 0 (no limit) or a number of bytes, not {short_repr(frame_max)}")
    return frame_max
