# py-amqp: messages cut to frames.

from cpython.pythread cimport (NOWAIT_LOCK, PY_LOCK_ACQUIRED, PyLockStatus, PyThread_acquire_lock,
                               PyThread_allocate_lock, PyThread_free_lock, PyThread_release_lock,
                               PyThread_type_lock)

cdef extern from "pythread.h":
    PyLockStatus PyThread_acquire_lock_timed(PyThread_type_lock lock, long long microseconds,
                                             int interrupted) nogil

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1
    object PyMemoryView_FromObject(object o)

import threading as _threading
from _thread import LockType as _LockType


@cython.final
cdef class FrameWriter:
    """What frame_writer of py-amqp makes: it cuts messages to frames, one at a time."""

    cdef AmqpCodec codec
    cdef object connection, transport, write
    cdef Count sent             # frames, which the connection counts
    cdef bint locks             # whether py-amqp's own writer has a lock: none before 5.4.0
    cdef object other           # a lock of gevent's or another's own, or None
    cdef PyThread_type_lock lock
    cdef object theirs          # py-amqp's own writer, once it was needed

    def __cinit__(self, AmqpCodec codec not None, connection, transport):
        self.lock = PyThread_allocate_lock()
        if self.lock == NULL:
            raise MemoryError
        codec.calls += 1
        self.codec = codec
        self.connection = connection
        self.sent = new_count(connection, BYTES_SENT)
        self.transport = transport
        self.write = transport.write
        self.locks = codec.locks
        # Asked for when a connection is made: gevent and eventlet may have changed it since.
        lock = _threading.Lock() if self.locks else None
        self.other = None if lock is None or type(lock) is _LockType else lock

    def __dealloc__(self):
        if self.lock != NULL:
            PyThread_free_lock(self.lock)

    def write_frame(self, type_, channel, method_sig, args, content):
        """Write the frames of a method and its content to the transport."""
        if not self.locks:
            self.put(type_, channel, method_sig, args, content)
            return
        if self.other is not None:
            self.other.acquire()
        elif not PyThread_acquire_lock(self.lock, NOWAIT_LOCK):
            self.wait()
        try:
            self.put(type_, channel, method_sig, args, content)
        finally:
            if self.other is not None:
                self.other.release()
            else:
                PyThread_release_lock(self.lock)

    cdef int wait(self) except -1:
        """Until the thread is done that writes now; signals are seen to meanwhile."""
        cdef PyLockStatus found
        while True:
            with nogil:
                found = PyThread_acquire_lock_timed(self.lock, -1, 1)
            if found == PY_LOCK_ACQUIRED:
                return 0
            PyErr_CheckSignals()

    cdef int put(self, object type_, object channel, object signature, object args,
                 object content) except -1:
        cdef object pieces
        self.codec.calls += 1
        try:
            pieces = self.frames(type_, channel, signature, args, content)
        except Exception as error:
            self.codec.remember(error)
            pieces = None
        if pieces is None:      # out of the handler, so that an error of theirs has no context
            self.codec.fell_back()
            if self.theirs is None:
                self.theirs = self.codec.stock["frame_writer"](self.connection, self.transport)
            self.theirs(type_, channel, signature, args, content)
            return 0
        if type(pieces) is list:
            for piece in <list>pieces:
                self.write(piece)
        else:
            self.write(pieces)
        self.sent.add()
        return 0

    cdef uint64_t room(self) except? 0:
        """Bytes that a frame may carry."""
        cdef uint64_t n = 0
        cdef object most = self.connection.frame_max
        if not exact_u64(<PyObject*>most, &n) or n <= 8:
            not_ours("unusual value")
        return n - 8

    cdef object frames(self, object type_, object channel, object signature, object args,
                       object content):
        """What is written, or a list of it."""
        cdef AmqpCodec codec = self.codec
        cdef Buffer b
        cdef uint8_t memory[STACK_ROOM]
        cdef uint16_t number = channel_number(<PyObject*>channel)
        cdef uint64_t room, n = 0, size, done, frame_type = 0
        cdef size_t head, tail
        cdef object body, out
        cdef list pieces
        cdef uint8_t raw[8]
        cdef uint8_t* w
        codec.may_write()
        if not exact_u64(<PyObject*>type_, &frame_type):
            not_ours("unusual value")
        if frame_type == FRAME_HEARTBEAT and not content:
            store_envelope(raw, FRAME_HEARTBEAT, number, 0)[0] = FRAME_END
            return PyMemoryView_FromObject(PyBytes_FromStringAndSize(<const char*>raw, 8))
        room = self.room()
        if frame_type != FRAME_METHOD:
            not_ours("unusual value")
        if type(args) is str:
            args = args.encode("utf-8", "surrogatepass")
        if type(args) is not bytes or type(signature) is not tuple or len(<tuple>signature) != 2:
            not_ours("unusual value")
        buffer_init(&b, memory, sizeof(memory))
        try:
            begin_frame(&b)
            put_ranged(&b, RANGE_U16, (<tuple>signature)[0])
            put_ranged(&b, RANGE_U16, (<tuple>signature)[1])
            put_bytes(&b, PyBytes_AS_STRING(args), <size_t>PyBytes_GET_SIZE(args))
            put_byte(&b, FRAME_END)
            head = buffer_size(&b)
            store_envelope(b.start, FRAME_METHOD, number, <uint32_t>(head - 8))
            if not content:
                if head + 40 > room + 12:
                    not_ours("unusual value")      # py-amqp's buffer of frame_max may be too small for it
                return PyMemoryView_FromObject(buffer_bytes(&b))
            if not codec.is_message(content):
                not_ours("unusual value")
            body = part_of(codec.messages.cls, content, MESSAGE_BODY)
            if type(body) is str:
                body = body.encode(content.properties.setdefault("content_encoding", "utf-8"))
            if type(body) is not bytes:
                not_ours("unusual value")
            size = <uint64_t>PyBytes_GET_SIZE(body)
            begin_frame(&b)
            w = buffer_extend(&b, 12)
            store16(w, load16(b.start + 7))         # the class id of the method
            store16(w + 2, 0)
            store64(w + 4, size)
            tail = buffer_size(&b)
            codec.put_properties(&b, content)
            n = buffer_size(&b) - tail
            put_byte(&b, FRAME_END)
            tail = buffer_size(&b)
            store_envelope(b.start + head, FRAME_HEADER, number, <uint32_t>(tail - head - 8))
            if <uint64_t>PyBytes_GET_SIZE(args) + n + size + 40 <= room:
                out = PyBytes_FromStringAndSize(
                    NULL, <Py_ssize_t>(tail + size + (8 if size else 0)))
                w = <uint8_t*>PyBytes_AS_STRING(out)
                memcpy(w, b.start, tail)
                if size:
                    w = store_envelope(w + tail, FRAME_BODY, number, <uint32_t>size)
                    memcpy(w, PyBytes_AS_STRING(body), size)
                    w[size] = FRAME_END
                return PyMemoryView_FromObject(out)
            if size == 0 and not codec.empty_bodies:
                not_ours("unusual value")
            pieces = [PyBytes_FromStringAndSize(<const char*>b.start, <Py_ssize_t>head),
                      PyBytes_FromStringAndSize(<const char*>b.start + head,
                                                <Py_ssize_t>(tail - head))]
            done = 0
            while done < size:
                n = min(room, size - done)
                out = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>n + 8)
                w = store_envelope(<uint8_t*>PyBytes_AS_STRING(out), FRAME_BODY, number, <uint32_t>n)
                memcpy(w, PyBytes_AS_STRING(body) + done, n)
                w[n] = FRAME_END
                pieces.append(out)
                done += n
            return pieces
        finally:
            buffer_free(&b)
