# py-amqp: frames off its own transports, and never a whole frame of the socket more than was asked for.

cdef extern from "dropins/instance.h":
    PyObject* call_with_size(object function, Py_ssize_t n)
    object shortened(PyObject* raw, Py_ssize_t n)
    int slot_put_rest(PyObject* descriptor, Py_ssize_t offset, PyObject* o, PyObject* raw, Py_ssize_t n)

cdef enum:
    FRAME_HEAD = 7                      # type, channel and size: the bytes before a payload
    RECV_MOST = 0x7FFFFFFF - 8          # as long a payload as a socket is asked for at once

cdef object QUICK_RECV = _intern("_quick_recv")
cdef object READ_NAME = _intern("_read")
cdef object NOTHING_KEPT = b""


cdef bint known_transport(AmqpCodec codec, PyTypeObject* cls) except -1:
    """Whether transports of a class are read here: `_read` is one that py-amqp shipped, and nothing
    of their own is in between. What is found is kept for the class that was seen last."""
    if AMQP_LIKELY(cls == <PyTypeObject*>codec.transport and watch_same(&codec.transport_guard.watch)):
        return codec.transport_known
    codec.transport_guard, member, codec.nothing_errors = codec.transports.judge(<object><PyObject*>cls)
    codec.transport = <object><PyObject*>cls
    codec.transport_known = member is not None
    codec.kept_slot = member
    codec.kept_offset = -1 if member is None else _offset_of(member)
    return codec.transport_known


cdef object read_pyamqp_frame(AmqpCodec codec, object transport):
    """What read_frame of amqp.transport._AbstractTransport does: (frame type, channel, payload).

    The frame's end is read with the payload, and so is the head of the frame after it where it is
    there: it is never a whole frame, so that a socket still tells of each that comes. py-amqp's own
    code finds it where it keeps the bytes of a frame that came in part, and is handed what a socket
    gives in another way than all at once, as if it had asked for it.
    """
    cdef PyObject* own = NULL
    cdef PyObject* recv
    cdef PyObject* got
    cdef PyObject* kept
    cdef object receive, held, raw = NOTHING_KEPT
    cdef const uint8_t* p
    cdef Py_ssize_t n
    codec.calls += 1
    if known_transport(codec, Py_TYPE(<PyObject*>transport)):
        own = instance_dict(transport)
    if own == NULL or dict_item(<object>own, READ_NAME) != NULL:
        return codec.own("read_frame")(transport)
    recv = dict_item(<object>own, QUICK_RECV)
    kept = slot_read(<PyObject*>codec.kept_slot, codec.kept_offset, <PyObject*>transport)
    if recv == NULL or kept == NULL:
        Py_XDecRef(kept)
        return codec.own("read_frame")(transport)
    receive = <object>recv
    held = <object>kept
    Py_DecRef(kept)
    if AMQP_LIKELY(bytes_of(kept, FRAME_HEAD, FRAME_HEAD)):
        raw = held
        slot_put(<PyObject*>codec.kept_slot, codec.kept_offset, <PyObject*>transport,
                 <PyObject*>NOTHING_KEPT)
        got = NULL
    elif bytes_of(kept, 0, 0):
        got = call_with_size(receive, FRAME_HEAD)
        if bytes_of(got, FRAME_HEAD, FRAME_HEAD):
            raw = <object>got
            Py_DecRef(got)
    else:
        return codec.own("read_frame")(transport)
    if PyBytes_GET_SIZE(raw):
        p = <const uint8_t*>PyBytes_AS_STRING(raw)
        n = load32(p + 3)
        if n > RECV_MOST:       # more than a socket is asked for at once
            return codec.transports.again(transport, b"", raw)
        got = call_with_size(receive, n + 1 + FRAME_HEAD)
        if AMQP_LIKELY(bytes_of(got, n + 1, n + 1 + FRAME_HEAD)
                       and <uint8_t>PyBytes_AS_STRING(<object>got)[n] == FRAME_END):
            # What follows is left to the next frame. Where that fails, all of it is let go.
            if PyBytes_GET_SIZE(<object>got) > n + 1 and slot_put_rest(
                    <PyObject*>codec.kept_slot, codec.kept_offset, <PyObject*>transport, got, n + 1) < 0:
                Py_DecRef(got)
                raise_current()
            return p[0], load16(p + 1), shortened(got, n)
    return owned(pyamqp_read_again(codec, transport, raw, got))


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
