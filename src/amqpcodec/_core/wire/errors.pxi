# Faults become text (without the GIL, for error columns) and exceptions (with it).

from amqpcodec import errors as _errors

cdef object DecodeError = _errors.DecodeError
cdef object EncodeError = _errors.EncodeError
cdef tuple FAULT_CLASSES = (
    None,
    _errors.TruncatedError, _errors.TrailingError, _errors.UnknownTagError, _errors.DepthError,
    _errors.FrameEndError, _errors.FrameTooLargeError, _errors.FrameTypeError,
    _errors.HeartbeatError, _errors.UnknownMethodError,
    _errors.HeaderError, _errors.DecodeError, _errors.DecodeError, _errors.UnexpectedFrameError,
    _errors.ChannelError, _errors.ContentTooLargeError, _errors.IncompleteError,
    _errors.DecodeError, _errors.UnknownTagError, _errors.DecodeError, _errors.ResourceLimitError,
    _errors.DecodeError, _errors.EncodeError)
cdef tuple SCOPES = ("frame", "channel", "connection")

# Frame types 4 to 7: 0-8 and 0-9 number them, and no peer sends them.
cdef const char** OLD_FRAME_TYPES = ["oob-method", "oob-header", "oob-body", "trace"]


cdef str place_name(const char* name):
    return None if name == NULL else name.decode("utf-8")


cdef int place_text(const Fault* f, char* out, size_t room) noexcept nogil:
    """`basic.deliver.exchange: ` or as much of it as is known."""
    if f.at.method != NULL and f.at.field != NULL:
        return snprintf(out, room, b"%s.%s: ", f.at.method, f.at.field)
    if f.at.method != NULL:
        return snprintf(out, room, b"%s: ", f.at.method)
    if f.code == BAD_VALUE and f.column != NULL:
        return snprintf(out, room, b"%s: ", f.column)
    return 0


cdef int fault_text(const Fault* f, char* out, size_t room) noexcept nogil:
    """Write the message of a fault, NUL-terminated; its length. Never quotes payload bytes
    but for the one that is wrong by itself (a tag, a frame end, a frame type)."""
    cdef int n = place_text(f, out, room)
    cdef unsigned long long need = f.need, have = f.have, offset = f.offset
    cdef char* start = out
    cdef int last = <int>room - 1
    n = max(0, min(n, last))
    out += n
    room -= <size_t>n
    if f.code == BAD_TRUNCATED:
        n += snprintf(out, room, b"%s needs %llu bytes, %llu remain (offset %llu)",
                      f.what, need, have, offset)
    elif f.code == BAD_TRAILING:
        n += snprintf(out, room, b"%llu bytes after the last field (offset %llu)", have, offset)
    elif f.code == BAD_TAG:
        n += snprintf(out, room, b"unknown field table tag 0x%02x (offset %llu)",
                      <unsigned int>f.byte, offset)
    elif f.code == BAD_CONTENT:
        n += snprintf(out, room, b"content is inline (0) or a reference (1), not %u (offset %llu)",
                      <unsigned int>f.byte, offset)
    elif f.code == BAD_COLUMN:
        n += snprintf(out, room, b"no column for this property of %s (offset %llu)", f.what, offset)
    elif f.code == BAD_DEPTH:
        n += snprintf(out, room, b"tables nested deeper than %d levels (offset %llu)",
                      DEPTH_LIMIT, offset)
    elif f.code == BAD_FRAME_END:
        n += snprintf(out, room, b"frame ends with 0x%02x, not 0xce (offset %llu)",
                      <unsigned int>f.byte, offset)
    elif f.code == BAD_FRAME_SIZE:
        n += snprintf(out, room, b"frame of %llu bytes exceeds %s %llu (offset %llu)", need, f.what, have,
                      offset)
    elif f.code == BAD_FRAME_TYPE and f.what != NULL:
        n += snprintf(out, room, b"not AMQP but %s (offset %llu)", f.what, offset)
    elif f.code == BAD_FRAME_TYPE and 4 <= f.byte <= 7:
        n += snprintf(out, room, b"frame type %u (%s of 0-8 and 0-9) is not read (offset %llu)",
                      <unsigned int>f.byte, OLD_FRAME_TYPES[f.byte - 4], offset)
    elif f.code == BAD_FRAME_TYPE and f.scope == SCOPE_CONNECTION and offset == 0:
        n += snprintf(out, room, b"not AMQP: no frame and no protocol header begins with 0x%02x (offset 0)",
                      <unsigned int>f.byte)
    elif f.code == BAD_FRAME_TYPE:
        n += snprintf(out, room, b"frame type %u is not defined (offset %llu)",
                      <unsigned int>f.byte, offset)
    elif f.code == BAD_HEARTBEAT:
        n += snprintf(out, room, b"heartbeat on channel %u with %llu bytes of payload, "
                      b"must be 0 and none (offset %llu)", <unsigned int>f.channel, have, offset)
    elif f.code == BAD_METHOD:
        n += snprintf(out, room, b"no method with class id %u and method id %u (offset %llu)",
                      <unsigned int>f.class_id, <unsigned int>f.method_id, offset)
    elif f.code == BAD_HEADER_CLASS and f.what != NULL:
        n += snprintf(out, room, b"content header for class id %u, not that of the method "
                      b"(offset %llu)", <unsigned int>f.class_id, offset)
    elif f.code == BAD_HEADER_CLASS:
        n += snprintf(out, room, b"content header for class id %u, which carries no content "
                      b"(offset %llu)", <unsigned int>f.class_id, offset)
    elif f.code == BAD_TEXT:
        n += snprintf(out, room, b"%s is not UTF-8 (offset %llu)", f.what, offset)
    elif f.code == BAD_RANGE and f.byte == SIGNED_RANGE:
        n += snprintf(out, room, b"%s %lld does not fit the column (offset %llu)",
                      f.what, <long long>need, offset)
    elif f.code == BAD_RANGE:
        n += snprintf(out, room, b"%s %llu does not fit the column (offset %llu)",
                      f.what, need, offset)
    elif f.code == BAD_DIGITS:
        n += snprintf(out, room, b"%s does not fit decimal(%u,%u) (offset %llu)", f.what,
                      <unsigned int>(need >> 8), <unsigned int>(need & 0xFF), offset)
    elif f.code == BAD_ORDER:
        n += snprintf(out, room, b"%s (offset %llu)", f.what, offset)
    elif f.code == BAD_CHANNEL:
        n += snprintf(out, room, b"content on channel 0 (offset %llu)", offset)
    elif f.code == BAD_BODY_SIZE:
        n += snprintf(out, room, b"body of %llu bytes exceeds max_body_size %llu (offset %llu)",
                      need, have, offset)
    elif f.code == BAD_OPEN:
        n += snprintf(out, room, b"more than %llu %s are open at once (offset %llu)", have, f.what, offset)
    elif f.code == BAD_INCOMPLETE:
        n += snprintf(out, room, b"the stream ended inside %s, %llu bytes into it (offset %llu)",
                      f.what, have, offset)
    elif f.code == BAD_CAPTURE:
        n += snprintf(out, room, b"%llu bytes %s", have, f.what)
    elif f.code == BAD_VALUE and f.what != NULL:
        n += snprintf(out, room, f.text, f.what, need)
    elif f.code == BAD_VALUE:
        n += snprintf(out, room, f.text, need)
    n = max(0, min(n, last))
    while not is_utf8(<const uint8_t*>start, <size_t>n):    # a long name was cut inside of a letter
        n -= 1
        start[n] = 0
    return n


cdef object fault_error(const Fault* f):
    """The exception that stands for a fault."""
    cdef char text[FAULT_TEXT_SIZE]
    fault_text(f, text, FAULT_TEXT_SIZE)
    return FAULT_CLASSES[f.code](
        text.decode("utf-8", "replace"),
        offset=f.offset,
        frame_type=f.frame_type if f.in_frame else None,
        channel=f.channel if f.in_frame else None,
        method=place_name(f.at.method),
        field=place_name(f.at.field),
        scope=SCOPES[f.scope],
    )


cdef int encode_error(str method, str field, str text, str path="") except -1:
    """Raise an EncodeError that names its field. path: where in the field's value, as Python writes it."""
    place = (f"{method}.{field}" if method and field else method or field or "") + path
    raise EncodeError(f"{place}: {text}" if place else text, method=method, field=field)
