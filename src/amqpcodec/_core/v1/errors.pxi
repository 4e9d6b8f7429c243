# Faults of the v1 family as exceptions, with the error condition that the specification has for them.

cdef dict V1_FAULTS = {
    BAD_TRUNCATED: _errors.TruncatedError,
    BAD_TRAILING: _errors.TrailingError,
    BAD_DEPTH: _errors.DepthError,
    BAD_FRAME_SIZE: _errors.FrameTooLargeError,
    BAD_BODY_SIZE: _errors.ContentTooLargeError,
    BAD_OPEN: _errors.ResourceLimitError,
    BAD_INCOMPLETE: _errors.IncompleteError,
    BAD_RANGE: _errors.DecodeError,
    BAD_DIGITS: _errors.DecodeError,
    V1_BAD_CONSTRUCTOR: _errors.UnknownTagError,
    V1_BAD_SIZE: _errors.SizeError,
    V1_BAD_TEXT: _errors.TextError,
    V1_BAD_FIELD: _errors.FieldError,
    V1_BAD_VALUE: _errors.FieldError,
    V1_BAD_FIELDS: _errors.FieldError,
    V1_BAD_COUNT: _errors.SizeError,
    V1_BAD_SECTION: _errors.SectionError,
    V1_BAD_DESCRIPTOR: _errors.UnknownMethodError,
    V1_BAD_ENVELOPE: _errors.FramingError,
    V1_BAD_TYPE: _errors.FrameTypeError,
    V1_BAD_ORDER: _errors.UnexpectedFrameError,
}


cdef const char* v1_condition(int code) noexcept nogil:
    """The specification's error condition, or NULL where only a column is too small."""
    if code == BAD_DEPTH or code == V1_BAD_COUNT or code == BAD_OPEN:
        return b"amqp:resource-limit-exceeded"
    if code == BAD_FRAME_SIZE or code == BAD_INCOMPLETE or code == V1_BAD_ENVELOPE or code == V1_BAD_TYPE:
        return b"amqp:connection:framing-error"
    if code == BAD_BODY_SIZE:
        return b"amqp:link:message-size-exceeded"
    if code == V1_BAD_VALUE:
        return b"amqp:invalid-field"
    if code == V1_BAD_ORDER:
        return b"amqp:illegal-state"
    if code == BAD_RANGE or code == BAD_DIGITS or code == BAD_CAPTURE:
        return NULL
    return b"amqp:decode-error"


cdef int v1_fault_text(const Fault* f, char* out, size_t room) noexcept nogil:
    """As fault_text. Quotes no bytes of the payload but a constructor or descriptor."""
    cdef int n = place_text(f, out, room)
    cdef unsigned long long need = f.need, have = f.have
    cdef const char* what = f.what
    cdef char* start = out
    cdef int last = <int>room - 1
    if f.code == BAD_RANGE or f.code == BAD_DIGITS or f.code == BAD_CAPTURE:
        return fault_text(f, out, room)
    if what == NULL:
        what = b""
    if n < 0 or <size_t>n >= room:
        return <int>strlen(out)
    out += n
    room -= n
    if f.code == BAD_TRUNCATED:
        n += snprintf(out, room, b"%s needs %llu bytes, %llu remain", what, need, have)
    elif f.code == BAD_TRAILING:
        n += snprintf(out, room, b"%llu bytes after the value", have)
    elif f.code == BAD_DEPTH:
        n += snprintf(out, room, b"values nested deeper than %d levels", DEPTH_LIMIT)
    elif f.code == BAD_FRAME_SIZE:
        n += snprintf(out, room, b"frame of %llu bytes exceeds max-frame-size %llu", need, have)
    elif f.code == BAD_BODY_SIZE:
        n += snprintf(out, room, b"message of %llu bytes exceeds max_message_size %llu", need, have)
    elif f.code == BAD_INCOMPLETE:
        n += snprintf(out, room, b"the stream ended inside %s, %llu bytes into it", what, have)
    elif f.code == V1_BAD_CONSTRUCTOR:
        n += snprintf(out, room, b"no type has the constructor 0x%02x", <unsigned int>f.byte)
    elif f.code == V1_BAD_SIZE:
        n += snprintf(out, room, b"%s: size and count do not fit what it holds", what)
    elif f.code == V1_BAD_FIELD and f.byte == 0:
        n += snprintf(out, room, b"takes %s, not a described value", what)
    elif f.code == V1_BAD_FIELD:
        n += snprintf(out, room, b"takes %s, not %s (0x%02x)", what, V1_NAMES[CTOR_WIRE_TYPE[f.byte]],
                      <unsigned int>f.byte)
    elif f.code == V1_BAD_VALUE:
        n += snprintf(out, room, b"%s has no such choice", what)
    elif f.code == V1_BAD_FIELDS:
        n += snprintf(out, room, b"%llu fields, at most %llu are defined", need, have)
    elif f.code == V1_BAD_COUNT:
        n += snprintf(out, room, b"%llu elements without bytes exceed the limit of %llu", need,
                      <unsigned long long>V1_EMPTY_LIMIT)
    elif f.code == BAD_OPEN:
        n += snprintf(out, room, b"more than %llu %s are open at once", have, what)
    elif f.code == V1_BAD_DESCRIPTOR:
        n += snprintf(out, room, b"no %s has the descriptor 0x%llx", what, need)
    elif f.code == V1_BAD_ENVELOPE:
        n += snprintf(out, room, b"%s, not %llu", what, need)
    elif f.code == V1_BAD_TYPE and f.what != NULL:
        n += snprintf(out, room, b"not AMQP but %s", what)
    elif f.code == V1_BAD_TYPE:
        n += snprintf(out, room, b"frame type %u is not defined", <unsigned int>f.byte)
    else:
        n += snprintf(out, room, b"%s", what)
    n = min(n, last)
    need = f.offset
    n += snprintf(start + n, <size_t>(last + 1 - n), b" (offset %llu)", need)
    return min(n, last)


cdef object v1_fault_error(const Fault* f):
    """The exception that stands for a fault."""
    cdef char text[FAULT_TEXT_SIZE]
    cdef const char* condition = v1_condition(f.code)
    v1_fault_text(f, text, FAULT_TEXT_SIZE)
    return V1_FAULTS[f.code](
        text.decode("utf-8", "replace"),
        offset=f.offset,
        frame_type=f.frame_type if f.in_frame else None,
        channel=f.channel if f.in_frame else None,
        method=place_name(f.at.method),
        field=place_name(f.at.field),
        scope=SCOPES[f.scope],
        condition=None if condition == NULL else condition.decode(),
    )


cdef int v1_raise(const Cursor* c) except -1:
    """Raise what was noted."""
    raise v1_fault_error(c.fault)


cdef int v1_fail(Cursor* c, int code, const char* what, uint64_t need, uint8_t byte) except -1:
    """Note a fault at the cursor and raise it."""
    fail(c, code, what, need, byte)
    return v1_raise(c)
