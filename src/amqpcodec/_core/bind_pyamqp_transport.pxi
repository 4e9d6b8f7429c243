# py-amqp: frames off its own transports, never an octet of the socket more than py-amqp would take.

cdef extern from "bound.h":
    PyObject* bound_call(object function, Py_ssize_t n)
    int bound_raise() except -1
    object bound_shorter(PyObject* octets)

cdef object QUICK_RECV = _intern("_quick_recv")
cdef object READ_NAME = _intern("_read")
cdef object READ_BUFFER = _intern("_read_buffer")
cdef tuple TRANSPORT_NAMES = (QUICK_RECV,)


cdef bint known_transport(AmqpCodec codec, PyTypeObject* kind) except -1:
    """Whether transports of a class are read here: `_read` is one that py-amqp shipped, and nothing
    of their own is in between. What is found is kept for the class that was seen last."""
    cdef PyObject* read
    cdef PyObject* member
    if AMQP_LIKELY(bound_version(kind) == codec.transport_version and codec.transport_version):
        return codec.transport_known
    codec.transport_known = False
    if bound_in_dict(kind, TRANSPORT_NAMES):
        read = bound_member(kind, READ_NAME)
        member = bound_member(kind, READ_BUFFER)
        if (read != NULL and member != NULL and type(<object>member) is _MemberDescriptor
                and <object>read in codec.readers):
            codec.buffer_at = bound_slot_offset(<object>member)
            codec.transport_known = True
    codec.transport_version = bound_version(kind)
    return codec.transport_known


cdef object read_pyamqp_frame(AmqpCodec codec, object transport):
    """What read_frame of amqp.transport._AbstractTransport does: (frame type, channel, payload).

    The frame's end is read with the payload. What a socket gives in another way than all at once
    is handed to py-amqp's own code, as if it had asked for it.
    """
    cdef PyObject* own = NULL
    cdef PyObject* recv
    cdef PyObject* got
    cdef PyObject* kept
    cdef object receive, octets = b"", told
    cdef const uint8_t* p
    cdef Py_ssize_t n
    codec.calls += 1
    if known_transport(codec, Py_TYPE(<PyObject*>transport)):
        own = bound_dict(transport)
    if own == NULL or seen_item(&codec.read_seen, <object>own, READ_NAME) != NULL:
        return codec.own("read_frame")(transport)
    recv = seen_item(&codec.recv_seen, <object>own, QUICK_RECV)
    kept = bound_slot(<PyObject*>transport, codec.buffer_at)[0]
    if recv == NULL or kept == NULL or not bytes_of(kept, 0):
        return codec.own("read_frame")(transport)
    receive = <object>recv
    got = bound_call(receive, 7)
    if AMQP_LIKELY(bytes_of(got, 7)):
        octets = <object>got
        Py_DecRef(got)
        p = <const uint8_t*>PyBytes_AS_STRING(octets)
        n = load32(p + 3)
        if n >= 0x7FFFFFFF:     # more than a socket is asked for at once
            return codec.again(transport, b"", octets)
        got = bound_call(receive, n + 1)
        if AMQP_LIKELY(bytes_of(got, n + 1)
                       and <uint8_t>PyBytes_AS_STRING(<object>got)[n] == FRAME_END):
            return p[0], load16(p + 1), bound_shorter(got)
    if got == NULL:
        try:
            bound_raise()
        except BaseException as error:
            told = error
    else:
        told = <object>got
        Py_DecRef(got)
    codec.fallbacks += 1
    return codec.again(transport, octets, told)


def pyamqp_reader(AmqpCodec codec not None):
    """A function for amqp.transport._AbstractTransport.read_frame."""
    @cython.binding(True)
    def read_frame(transport, unpack=None):
        if unpack is not None:
            return codec.stock["read_frame"](transport, unpack)
        return read_pyamqp_frame(codec, transport)
    return read_frame


cdef inline bint bytes_of(PyObject* o, Py_ssize_t n) noexcept:
    """Whether these are bytes, that many of them."""
    return o != NULL and type(<object>o) is bytes and PyBytes_GET_SIZE(<object>o) == n
