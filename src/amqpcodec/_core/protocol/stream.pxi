# Bytes in, any chunking: what Decoder and MessageDecoder share.
#
# Two places hold what was not read yet: `head`, our own memory, with what earlier chunks left (nearly
# always the beginning of one frame), and `chunk`, the newest bytes. A frame that lies whole in the
# chunk is read there; only the frame across the border is put together in head. (MessageDecoder reads
# bodies piece by piece instead: `taken` counts what it has read of a frame that is not whole yet.)

cdef enum:
    INBOX_ROOM = 65536
    HEADER_FRAMES = 16      # max_header_frame by default, in units of frame_max

cdef uint64_t HEADER_FRAME_DEFAULT = <uint64_t>0xFFFFFFFFFFFFFFFF


cdef extern from "protocol/pair.h":
    object pair_make(PyObject** kept, uint16_t channel, PyObject* event)

cdef extern from "Python.h":
    unsigned long PyThread_get_thread_ident()


cdef class FrameIterator:
    """What feed() returns: (channel, frame or event) as long as there are whole ones."""

    cdef Stream stream
    cdef PyObject* kept             # the last pair, to be filled again where nobody else holds it
    cdef unsigned long fed_by       # the thread that called feed()

    def __dealloc__(self):
        Py_XDecRef(self.kept)

    def __iter__(self):
        return self

    def __next__(self):
        cdef PyObject* event = NULL
        cdef uint16_t channel = 0
        if self.stream is not None:
            self.stream.begin()
            try:
                if AMQP_UNLIKELY(self.stream.fed_by != self.fed_by):
                    raise RuntimeError("another thread fed this decoder before all frames of this one were read")
                event = self.stream.read_event()
                channel = self.stream.channel
            finally:
                self.stream.end_use()
        if event == NULL:
            Py_XDecRef(self.kept)
            self.kept = NULL
            raise StopIteration
        return pair_make(&self.kept, channel, event)


cdef class Stream:
    """Base of the decoders. Not for use by itself."""

    def __cinit__(self, *args, **kwargs):
        buffer_init(&self.head, NULL, 0)
        self.cache = text_cache_new()
        if self.cache == NULL:
            raise MemoryError

    def __dealloc__(self):
        text_cache_free(self.cache)
        buffer_free(&self.head)

    cdef int configure(self, Protocol protocol, frame_max, errors, dialect, tables, copy,
                       trailing, max_header_frame) except -1:
        self.protocol = protocol
        self.mode = reading_mode(dialect, tables, trailing)
        self.copy = copy
        if errors not in ("strict", "frame"):
            raise ValueError(f'errors is "strict" or "frame", not {errors!r}')
        self.yield_errors = errors == "frame"
        self.frame_max = frame_max
        self.set_header_limit(max_header_frame)
        self.ready = True
        return 0

    cdef int set_header_limit(self, value) except -1:
        value = as_int(value)
        if value is None:
            self.header_option = HEADER_FRAME_DEFAULT
        elif isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ValueError(f"max_header_frame is None, 0 (no limit) or a number of bytes, not {value!r}")
        else:
            self.header_option = min(value, 2**63)
        self.apply_header_limit()
        return 0

    cdef void apply_header_limit(self) noexcept:
        """Never less than frame_max: what the peer may send by what was agreed is taken."""
        if self.limit == 0 or self.header_option == 0:
            self.header_limit = 0
        elif self.header_option == HEADER_FRAME_DEFAULT:
            self.header_limit = min(self.limit, <uint64_t>1 << 59) * HEADER_FRAMES
        else:
            self.header_limit = max(self.header_option, self.limit)

    @cython.final
    cdef inline int begin(self) except -1:
        """Keep other threads out, and code that runs inside of this call (an error's constructor)."""
        if AMQP_UNLIKELY(not use_begin(&self.in_use)):
            raise RuntimeError("this decoder is in use, by another thread or by a call that has not ended")
        return 0

    @cython.final
    cdef inline void end_use(self) noexcept:
        use_end(&self.in_use)

    def __reduce__(self):
        raise TypeError("a decoder holds the state of one stream and is not pickled")

    @property
    def frame_max(self):
        """Bytes a frame may take, its envelope of 8 included; 0 for no limit. Set it after tune."""
        return self.limit

    @frame_max.setter
    def frame_max(self, value):
        value = as_int(value)
        if not isinstance(value, int) or value < 0 or 0 < value < 8:
            raise ValueError(f"frame_max is 0 (no limit) or at least 8 bytes, not {value!r}")
        self.limit = min(value, 2**63)
        self.apply_header_limit()

    @property
    def pending(self):
        """Bytes that were fed and not read yet."""
        return self.taken + head_size(self) + <size_t>(self.end - self.p)

    @property
    def offset(self):
        """Bytes read since the stream began (or reset): where the next frame starts."""
        return self.at

    def feed(self, data=b""):
        """Take bytes, in any chunking; an iterator over what is whole by now.

        Keeps no reference to data once it is read, and none at all unless it is bytes.
        What the iterator was not asked for stays for the next call.

        Raises (from the iterator, at the place in the stream, after the frames before it):
            DecodeError: with scope "frame" or "channel" the next call goes on after it;
                with scope "connection" the stream is lost, and it is raised again.
            RuntimeError: another thread has fed the decoder since, or is using it.
        """
        cdef FrameIterator frames
        if not self.ready:
            raise TypeError("the decoder was made without its constructor")
        cdef bytes whole = data if type(data) is bytes else bytes_of(data)
        frames = FrameIterator.__new__(FrameIterator)
        frames.stream = self
        frames.fed_by = PyThread_get_thread_ident()
        self.begin()
        try:
            if self.p != self.end:
                self.save(self.p, <size_t>(self.end - self.p))
            self.chunk = whole
            self.p = <const uint8_t*>PyBytes_AS_STRING(whole)
            self.end = self.p + PyBytes_GET_SIZE(whole)
            self.fed_by = frames.fed_by
        finally:
            self.end_use()
        return frames

    def get_buffer(self, Py_ssize_t sizehint=-1):
        """A writable buffer to receive into, as asyncio.BufferedProtocol asks for."""
        cdef Py_ssize_t room = max(sizehint, <Py_ssize_t>INBOX_ROOM)
        if self.inbox is None or len(self.inbox) < room:
            self.inbox = bytearray(room)
        return memoryview(self.inbox)

    def buffer_updated(self, Py_ssize_t nbytes):
        """Feed what was received into get_buffer(); an iterator, as feed()."""
        if self.inbox is None or not 0 <= nbytes <= len(self.inbox):
            raise ValueError("buffer_updated() without the buffer of get_buffer()")
        return self.feed(PyBytes_FromStringAndSize(PyByteArray_AS_STRING(self.inbox), nbytes))

    def reset(self):
        """Forget everything, for a new stream; settings stay."""
        self.begin()
        try:
            self.forget()
        finally:
            self.end_use()

    cdef int forget(self) except -1:
        self.head_at = 0
        buffer_truncate(&self.head, 0)
        self.p = self.end = NULL
        self.chunk = None
        self.at = self.taken = 0
        return 0

    def eof(self):
        """Say that no more bytes come.

        Raises:
            IncompleteError: the stream ended inside a frame, a message or a delivery.
        """
        self.begin()
        try:
            self.check_end()
        finally:
            self.end_use()

    cdef int check_end(self) except -1:
        if self.pending:
            raise self.incomplete(b"a frame", self.pending)
        return 0

    @cython.final
    cdef object incomplete(self, const char* what, uint64_t have):
        cdef Fault fault
        memset(&fault, 0, sizeof(fault))
        fault.code = BAD_INCOMPLETE
        fault.scope = SCOPE_CONNECTION
        fault.what = what
        fault.have = have
        fault.offset = self.at
        return self.fault_error(&fault)

    cdef object fault_error(self, const Fault* fault):
        return fault_error(fault)

    @cython.final
    cdef int save(self, const uint8_t* p, size_t n) except -1:
        """Append to head."""
        cdef size_t size = head_size(self)
        if n == 0:
            return 0        # p may be null, which memcpy does not take, also for no bytes
        if self.head_at > size:
            memcpy(self.head.start, self.head.start + self.head_at, size)
            buffer_truncate(&self.head, size)
            self.head_at = 0
        return put_bytes(&self.head, p, n)

    @cython.final
    cdef int gather(self, size_t n) except -1:
        """Move up to n bytes of the chunk to head."""
        n = min(n, <size_t>(self.end - self.p))
        self.save(self.p, n)
        self.p += n
        if self.p == self.end:
            self.leave_chunk()
        return 0

    @cython.final
    cdef void leave_chunk(self) noexcept:
        """All of the chunk is read: hold it no longer."""
        self.p = self.end = NULL
        self.chunk = None

    @cython.final
    cdef int scan(self, Fault* fault) except -2:
        """Find the next frame: SCAN_FRAME with self.frame set, SCAN_MORE or SCAN_BAD."""
        cdef int found
        cdef size_t have, want
        fault.code = OK
        if AMQP_LIKELY(head_size(self) == 0):
            self.frame_in_head = False
            self.frame_start = self.p
            found = scan_frame(self.p, self.end, self.limit, self.header_limit, self.at, &self.frame, fault)
            if AMQP_UNLIKELY(found == SCAN_MORE):
                if self.p != self.end:
                    self.save(self.p, <size_t>(self.end - self.p))
                self.leave_chunk()
            return found
        self.frame_in_head = True
        while True:
            self.frame_start = self.head.start + self.head_at
            have = head_size(self)
            found = scan_frame(self.frame_start, self.head.p, self.limit, self.header_limit,
                               self.at, &self.frame, fault)
            if found != SCAN_MORE or self.p == self.end:
                return found
            # Take from the chunk what the size says is missing, first of all the size itself.
            if have < 7:
                want = 7 - have
            elif have == 7 and self.frame_start[0] == c'A':
                want = 1        # the rest of a protocol header; a frame has 8 bytes, too
            else:
                want = <size_t>load32(self.frame_start + 3) + 8 - have
            self.gather(want)

    @cython.final
    cdef void pass_frame(self) noexcept:
        """Step over the frame that scan found."""
        self.channel = self.frame.channel
        self.at += self.frame.total
        self.pass_bytes(self.frame_in_head, self.frame.total)

    @cython.final
    cdef inline void pass_bytes(self, bint in_head, size_t n) noexcept:
        """Step over bytes of head or of the chunk."""
        if not in_head:
            self.p += n
            return
        self.head_at += n
        if head_size(self) == 0:
            buffer_truncate(&self.head, 0)
            if self.head.end - self.head.start > 1 << 20:   # do not sit on the memory of one huge frame
                buffer_free(&self.head)
                buffer_init(&self.head, NULL, 0)
            self.head_at = 0

    @cython.final
    cdef PyObject* decode(self) except NULL:
        """The object of the frame that scan found, as a new reference."""
        cdef object owner = None
        if not self.copy:
            owner = view_of_copy if self.frame_in_head else self.chunk
        return decode_frame(self.protocol, &self.frame, self.frame_start, self.at, self.mode,
                            self.cache, owner,
                            <const uint8_t*>PyBytes_AS_STRING(self.chunk) if owner is self.chunk
                            and owner is not None else NULL)

    @cython.final
    cdef object bad_frame(self, object error):
        """BadFrame of the frame that scan found."""
        raw = PyBytes_FromStringAndSize(<const char*>self.frame_start, <Py_ssize_t>self.frame.total)
        return self.bad_frame_class()(error, raw)

    cdef object bad_frame_class(self):
        return self.protocol.BadFrame

    @cython.final
    cdef object skip_bad_frame(self, object error):
        """Step over the frame that scan found, in which an error was raised: it is given as a BadFrame, or raised."""
        cdef object item = self.bad_frame(error) if self.yield_errors else None
        self.pass_frame()
        if item is None:
            raise error
        return item

    @cython.final
    cdef object fault_or_raise(self, Fault* fault):
        """What scan found wrong: raised, or given as a BadFrame where the framing is intact."""
        cdef object error
        place_begin(&fault.at, NULL, NULL)
        error = self.fault_error(fault)
        if fault.scope == SCOPE_CONNECTION:
            raise error
        return self.skip_bad_frame(error)

    cdef PyObject* read_event(self) except? NULL:
        """The next frame or event, its channel in self.channel, as a new reference; NULL while nothing is
        whole."""
        raise NotImplementedError


def foreign_protocol_name(data not None):
    """Name of the protocol that a stream begins with in place of AMQP.

    Returns:
        "HTTP", "TLS", "MQTT", "STOMP" or "SSH"; None for any other, and for fewer than 7 bytes.
    """
    cdef bytes start = data if type(data) is bytes else bytes_of(data)
    cdef const char* name = foreign_protocol(<const uint8_t*>PyBytes_AS_STRING(start), <size_t>len(start))
    return None if name == NULL or name[0] == 0 else name.decode()


cdef bytes bytes_of(object data):
    """A copy of any C-contiguous buffer."""
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        return PyBytes_FromStringAndSize(<const char*>view.buf, view.len)
    finally:
        PyBuffer_Release(&view)


cdef class Decoder(Stream):
    """Frames of one stream. See amqpcodec._facade.decoder."""

    def __init__(self, Protocol protocol not None, frame_max=131072, *, errors="strict",
                 dialect="rabbitmq", tables="plain", bint copy=True, trailing="error",
                 max_header_frame=None):
        self.configure(protocol, frame_max, errors, dialect, tables, copy, trailing, max_header_frame)

    @property
    def max_header_frame(self):
        """Bytes a method or content header frame may take, its envelope included; 0: no limit."""
        return self.header_limit

    cdef PyObject* read_event(self) except? NULL:
        cdef Fault fault
        cdef PyObject* frame
        cdef int found = self.scan(&fault)
        if found == SCAN_MORE:
            return NULL
        if found == SCAN_BAD:
            return new_reference(self.fault_or_raise(&fault))
        try:
            frame = self.decode()
        except DecodeError as error:
            return new_reference(self.skip_bad_frame(error))
        self.pass_frame()
        return frame
