# AMQP 1.0, octets to objects: values in the encoding that nearly all have, past the general way.

cdef enum:
    V1_SHARED = 40          # as long as text is that the cache takes


cdef inline const uint8_t* v1_usual(V1Reader* r, const uint8_t* p, const uint8_t* end, Py_ssize_t longest,
                                    PyObject** made) noexcept:
    """A value before `end` that is the same object in plain mode as in a field of its type, a new
    reference, and behind its octets. In a field it is what encode writes: V1Op.usual says of which
    types. NULL: nothing was made; the general way reads it, or says what is wrong with it.
    longest: as for v1_text."""
    cdef uint8_t code = p[0]
    cdef size_t left = <size_t>(end - p) - 1
    cdef uint64_t u
    cdef PyObject* o = NULL
    p += 1
    if code == 0xA0 or code == 0xA1 or code == 0xA3:
        if AMQP_UNLIKELY(left < 1 or left - 1 < p[0]):
            return NULL
        left = p[0]
        p += 1
        if code == 0xA1:
            o = v1_ascii(NULL if r.cache == NULL else r.cache.text, p, <Py_ssize_t>left, longest)
        elif code == 0xA0:
            o = v1_octets(p, <Py_ssize_t>left)
        else:
            o = v1_usual_symbol(r.cache, <PyObject*>V1Symbol, p, <Py_ssize_t>left)
        p += left
    elif code == 0x40:
        o = Py_NewRef(Py_None)
    elif code == 0x41:
        o = Py_NewRef(Py_True)
    elif code == 0x42:
        o = Py_NewRef(Py_False)
    elif code == 0x43 or code == 0x44:
        o = v1_number(0)
    elif code == 0x50 or code == 0x52 or code == 0x53:
        if AMQP_UNLIKELY(left < 1 or (code != 0x50 and p[0] == 0)):
            return NULL
        o = v1_number(p[0])
        p += 1
    elif code == 0x54 or code == 0x55:
        if AMQP_UNLIKELY(left < 1):
            return NULL
        o = v1_integer(<int8_t>p[0])
        p += 1
    elif code == 0x60:
        if AMQP_UNLIKELY(left < 2):
            return NULL
        o = v1_number(load16(p))
        p += 2
    elif code == 0x70:
        if AMQP_UNLIKELY(left < 4):
            return NULL
        u = load32(p)
        if AMQP_UNLIKELY(u <= 255):
            return NULL
        o = v1_number(u)
        p += 4
    elif code >= 0x80 and code <= 0x83:
        if AMQP_UNLIKELY(left < 8):
            return NULL
        u = load64(p)
        p += 8
        if code == 0x80:
            if AMQP_UNLIKELY(u <= 255):
                return NULL
            o = v1_number(u)
        elif code == 0x81:
            o = v1_integer(<int64_t>u)
        elif code == 0x82:
            o = v1_double(bits_to_double(u))
        else:
            o = v1_same_moment(r.cache, u)
    made[0] = o
    return p if o != NULL else NULL
