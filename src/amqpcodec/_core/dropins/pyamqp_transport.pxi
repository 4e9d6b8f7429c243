# py-amqp: frames off its own transports, and never a whole frame of the socket more than was asked for.

cdef extern from "dropins/bound.h":
    PyObject* bound_call(object function, Py_ssize_t n)
    int bound_keep_rest(PyObject** kept, PyObject* octets, Py_ssize_t n) except -1
    object bound_shorter(PyObject* octets, Py_ssize_t n)

cdef enum:
    FRAME_HEAD = 7                      # type, channel and size: the octets before a payload
    RECV_MOST = 0x7FFFFFFF - 8          # as long a payload as a socket is asked for at once

cdef object QUICK_RECV = _intern("_quick_recv")
cdef object READ_NAME = _intern("_read")
cdef object READ_BUFFER = _intern("_read_buffer")
cdef tuple TRANSPORT_NAMES = (QUICK_RECV,)
cdef object NOTHING_KEPT = b""


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

    The frame's end is read with the payload, and so is the head of the frame behind it where it is
    there: it is never a whole frame, so that a socket still tells of each that comes. py-amqp's own
    code finds it where it keeps the octets of a frame that came in part, and is handed what a socket
    gives in another way than all at once, as if it had asked for it.
    """
    cdef PyObject* own = NULL
    cdef PyObject* recv
    cdef PyObject* got
    cdef PyObject** kept
    cdef object receive, octets = NOTHING_KEPT
    cdef const uint8_t* p
    cdef Py_ssize_t n
    codec.calls += 1
    if known_transport(codec, Py_TYPE(<PyObject*>transport)):
        own = bound_dict(transport)
    if own == NULL or seen_item(&codec.read_seen, <object>own, READ_NAME) != NULL:
        return codec.own("read_frame")(transport)
    recv = seen_item(&codec.recv_seen, <object>own, QUICK_RECV)
    kept = bound_slot(<PyObject*>transport, codec.buffer_at)
    if recv == NULL or kept[0] == NULL:
        return codec.own("read_frame")(transport)
    receive = <object>recv
    if AMQP_LIKELY(bytes_of(kept[0], FRAME_HEAD, FRAME_HEAD)):
        octets = <object>kept[0]
        Py_DecRef(kept[0])
        kept[0] = Py_NewRef(<PyObject*>NOTHING_KEPT)
        got = NULL
    elif bytes_of(kept[0], 0, 0):
        got = bound_call(receive, FRAME_HEAD)
        if bytes_of(got, FRAME_HEAD, FRAME_HEAD):
            octets = <object>got
            Py_DecRef(got)
    else:
        return codec.own("read_frame")(transport)
    if PyBytes_GET_SIZE(octets):
        p = <const uint8_t*>PyBytes_AS_STRING(octets)
        n = load32(p + 3)
        if n > RECV_MOST:       # more than a socket is asked for at once
            return codec.again(transport, b"", octets)
        got = bound_call(receive, n + 1 + FRAME_HEAD)
        if AMQP_LIKELY(bytes_of(got, n + 1, n + 1 + FRAME_HEAD)
                       and <uint8_t>PyBytes_AS_STRING(<object>got)[n] == FRAME_END):
            bound_keep_rest(kept, got, n + 1)
            return p[0], load16(p + 1), bound_shorter(got, n)
    return pyamqp_read_again(codec, transport, octets, got)


def pyamqp_reader(AmqpCodec codec not None):
    """A function for amqp.transport._AbstractTransport.read_frame."""
    @cython.binding(True)
    def read_frame(transport, unpack=None):
        if unpack is not None:
            return codec.stock["read_frame"](transport, unpack)
        return read_pyamqp_frame(codec, transport)
    return read_frame


cdef inline bint bytes_of(PyObject* o, Py_ssize_t n, Py_ssize_t most) noexcept:
    """Whether these are bytes, at least n and not more than `most`."""
    return (o != NULL and type(<object>o) is bytes and PyBytes_GET_SIZE(<object>o) >= n
            and PyBytes_GET_SIZE(<object>o) <= most)
