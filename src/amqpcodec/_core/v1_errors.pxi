# Faults of the v1 family as exceptions, with the error condition that the specification has for them.


cdef dict V1_FAULTS = {
    # code: (class, condition)
    BAD_TRUNCATED: (_errors.TruncatedError, "amqp:decode-error"),
    BAD_TRAILING: (_errors.TrailingError, "amqp:decode-error"),
    BAD_DEPTH: (_errors.DepthError, "amqp:resource-limit-exceeded"),
    BAD_FRAME_SIZE: (_errors.FrameTooLargeError, "amqp:connection:framing-error"),
    BAD_BODY_SIZE: (_errors.ContentTooLargeError, "amqp:link:message-size-exceeded"),
    BAD_INCOMPLETE: (_errors.IncompleteError, "amqp:connection:framing-error"),
    V1_BAD_CONSTRUCTOR: (_errors.UnknownTagError, "amqp:decode-error"),
    V1_BAD_SIZE: (_errors.SizeError, "amqp:decode-error"),
    V1_BAD_TEXT: (_errors.TextError, "amqp:decode-error"),
    V1_BAD_FIELD: (_errors.FieldError, "amqp:decode-error"),
    V1_BAD_VALUE: (_errors.FieldError, "amqp:invalid-field"),
    V1_BAD_FIELDS: (_errors.FieldError, "amqp:decode-error"),
    V1_BAD_MANDATORY: (_errors.FieldError, "amqp:invalid-field"),
    V1_BAD_COUNT: (_errors.SizeError, "amqp:resource-limit-exceeded"),
    V1_BAD_SECTION: (_errors.SectionError, "amqp:decode-error"),
    V1_BAD_DESCRIPTOR: (_errors.UnknownMethodError, "amqp:decode-error"),
    V1_BAD_ENVELOPE: (_errors.FramingError, "amqp:connection:framing-error"),
    V1_BAD_TYPE: (_errors.FrameTypeError, "amqp:connection:framing-error"),
    V1_BAD_ORDER: (_errors.UnexpectedFrameError, "amqp:illegal-state"),
}


cdef str v1_fault_text(const Fault* f):
    """What is wrong, without its place. Quotes no octets of the payload but a constructor or descriptor."""
    cdef str what = "" if f.what == NULL else f.what.decode("utf-8")
    if f.code == BAD_TRUNCATED:
        return f"{what} needs {f.need} octets, {f.have} remain"
    if f.code == BAD_TRAILING:
        return f"{f.have} octets after the value"
    if f.code == BAD_DEPTH:
        return f"values nested deeper than {DEPTH_LIMIT} levels"
    if f.code == BAD_FRAME_SIZE:
        return f"frame of {f.need} octets exceeds max-frame-size {f.have}"
    if f.code == BAD_BODY_SIZE:
        return f"message of {f.need} octets exceeds max_message_size {f.have}"
    if f.code == BAD_INCOMPLETE:
        return f"the stream ended inside {what}, {f.have} octets into it"
    if f.code == V1_BAD_CONSTRUCTOR:
        return f"no type has the constructor 0x{f.octet:02x}"
    if f.code == V1_BAD_SIZE:
        return f"{what}: size and count do not fit what it holds"
    if f.code == V1_BAD_FIELD:
        if f.octet == 0:
            return f"takes {what}, not a described value"
        return f"takes {what}, not {V1_NAMES[V1_KIND[f.octet]].decode()} (0x{f.octet:02x})"
    if f.code == V1_BAD_VALUE:
        return f"{what} has no such choice"
    if f.code == V1_BAD_FIELDS:
        return f"{f.need} fields, at most {f.have} are defined"
    if f.code == V1_BAD_MANDATORY:
        return "is mandatory and not there"
    if f.code == V1_BAD_COUNT:
        return f"{f.need} elements without octets exceed the limit of {V1_ZERO_WIDTH_LIMIT}"
    if f.code == V1_BAD_DESCRIPTOR:
        return f"no {what} has the descriptor {f.need:#x}"
    if f.code == V1_BAD_ENVELOPE:
        return f"{what}, not {f.need}"
    if f.code == V1_BAD_TYPE:
        return f"frame type {f.octet} is not defined"
    return what


cdef object v1_fault_error(const Fault* f):
    """The exception that stands for a fault."""
    cls, condition = V1_FAULTS[f.code]
    method = None if f.method == NULL else f.method.decode("utf-8")
    field = None if f.field == NULL else f.field.decode("utf-8")
    place = f"{method}.{field}: " if method and field else f"{method}: " if method else ""
    return cls(
        f"{place}{v1_fault_text(f)} (offset {f.offset})",
        offset=f.offset,
        frame_type=f.frame_type if f.in_frame else None,
        channel=f.channel if f.in_frame else None,
        method=method,
        field=field,
        scope=SCOPES[f.scope],
        condition=condition,
    )


cdef int v1_raise(const Cursor* c) except -1:
    """Raise what was noted."""
    raise v1_fault_error(c.fault)


cdef int v1_fail(Cursor* c, int code, const char* what, uint64_t need, uint8_t octet) except -1:
    """Note a fault at the cursor and raise it."""
    fail(c, code, what, need, octet)
    return v1_raise(c)
