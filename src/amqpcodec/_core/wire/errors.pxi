# Faults become text (without the GIL, for error columns) and exceptions (with it).

from amqpcodec import errors as _errors

cdef object DecodeError = _errors.DecodeError
cdef object EncodeError = _errors.EncodeError
cdef tuple FAULT_CLASSES = tuple([getattr(_errors, FAULT_KINDS[code].error.decode()) for code in range(FAULT_CODES)])
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


cdef const char* fault_template(const Fault* f, bint of_v1) noexcept nogil:
    """What a fault says: what its code does, unless it knows more, or 1.0 has other words for it."""
    if (f.code == BAD_FRAME_TYPE or f.code == V1_BAD_TYPE) and f.what != NULL:
        return b"not AMQP but {what} (offset {offset})"
    if f.code == BAD_FRAME_TYPE and 4 <= f.byte <= 7:
        return b"frame type {type} ({former} of 0-8 and 0-9) is not read (offset {offset})"
    if f.code == BAD_FRAME_TYPE and f.scope == SCOPE_CONNECTION and f.offset == 0:
        return b"not AMQP: no frame and no protocol header begins with {byte} (offset {offset})"
    if f.code == BAD_HEADER_CLASS and f.what != NULL:
        return b"content header for class id {Class}, not that of the method (offset {offset})"
    if f.code == BAD_RANGE and f.byte == SIGNED_RANGE:
        return b"{what} {signed} does not fit the column (offset {offset})"
    if f.code == V1_BAD_FIELD and f.byte == 0:
        return b"takes {what}, not a described value (offset {offset})"
    if of_v1 and f.code == BAD_TRAILING:
        return b"{have} bytes after the value (offset {offset})"
    if of_v1 and f.code == BAD_DEPTH:
        return b"values nested deeper than {levels} levels (offset {offset})"
    if of_v1 and f.code == BAD_FRAME_SIZE:
        return b"frame of {need} bytes exceeds max-frame-size {have} (offset {offset})"
    if of_v1 and f.code == BAD_BODY_SIZE:
        return b"message of {need} bytes exceeds max_message_size {have} (offset {offset})"
    return FAULT_KINDS[f.code].text


cdef int fault_value(const Fault* f, char which, char* out, size_t room) noexcept nogil:
    """A value in a fault's text, by the first letter of its name there; as snprintf."""
    cdef unsigned long long number
    if which == c"w":           # what
        return 0 if f.what == NULL else snprintf(out, room, b"%s", f.what)
    if which == c"b":           # byte
        return snprintf(out, room, b"0x%02x", <unsigned int>f.byte)
    if which == c"s":           # signed: need
        return snprintf(out, room, b"%lld", <long long>f.need)
    if which == c"x":           # need
        number = f.need
        return snprintf(out, room, b"0x%llx", number)
    if which == c"d":           # digits of a decimal, and those of them after its point
        return snprintf(out, room, b"%u,%u", <unsigned int>(f.need >> 8), <unsigned int>(f.need & 0xFF))
    if which == c"f":           # former frame type
        return snprintf(out, room, b"%s", OLD_FRAME_TYPES[f.byte - 4])
    if which == c"k":           # kind of what a constructor begins
        return snprintf(out, room, b"%s", fault_type_name(f.byte))
    if which == c"n":           # need
        number = f.need
    elif which == c"h":         # have
        number = f.have
    elif which == c"t":         # type: byte
        number = f.byte
    elif which == c"c":         # channel
        number = f.channel
    elif which == c"C":         # Class id
        number = f.class_id
    elif which == c"M":         # Method id
        number = f.method_id
    elif which == c"l":         # levels
        number = <unsigned long long>DEPTH_LIMIT
    else:                       # offset
        number = f.offset
    return snprintf(out, room, b"%llu", number)


cdef int fault_text(const Fault* f, bint of_v1, char* out, size_t room) noexcept nogil:
    """Write the message of a fault, NUL-terminated; its length. Never quotes payload bytes
    but for the one that is wrong by itself (a tag, a constructor, a frame end, a frame type)."""
    cdef int last = <int>room - 1
    cdef int n = max(0, min(place_text(f, out, room), last))
    cdef const char* text = fault_template(f, of_v1)
    cdef unsigned long long need = f.need
    if f.code == BAD_VALUE and f.what != NULL:
        n += snprintf(out + n, room - <size_t>n, f.text, f.what, need)
    elif f.code == BAD_VALUE:
        n += snprintf(out + n, room - <size_t>n, f.text, need)
    while text[0] != 0 and n < last:
        if text[0] == c"{":
            n += max(0, fault_value(f, text[1], out + n, room - <size_t>n))
            text = strchr(text, c"}") + 1
        else:
            out[n] = text[0]
            n += 1
            text += 1
    n = max(0, min(n, last))
    out[n] = 0
    while not is_utf8(<const uint8_t*>out, <size_t>n):      # a long name was cut inside of a letter
        n -= 1
        out[n] = 0
    return n


cdef object fault_error(const Fault* f, bint of_v1=False):
    """The exception that stands for a fault, with its condition where it is one of 1.0."""
    cdef char text[FAULT_TEXT_SIZE]
    cdef const char* condition = FAULT_KINDS[f.code].condition if of_v1 else NULL
    fault_text(f, of_v1, text, FAULT_TEXT_SIZE)
    return FAULT_CLASSES[f.code](
        text.decode("utf-8", "replace"),
        offset=f.offset,
        frame_type=f.frame_type if f.in_frame else None,
        channel=f.channel if f.in_frame else None,
        method=place_name(f.at.method),
        field=place_name(f.at.field),
        scope=SCOPES[f.scope],
        condition=place_name(condition),
    )


cdef int encode_error(str method, str field, str text, str path="") except -1:
    """Raise an EncodeError that names its field. path: where in the field's value, as Python writes it."""
    place = (f"{method}.{field}" if method and field else method or field or "") + path
    raise EncodeError(f"{place}: {text}" if place else text, method=method, field=field)
