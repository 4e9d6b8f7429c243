# AMQP 1.0: frames one by one, and the decoder of a stream of them.

cdef object v1_decode_at(V1Core self, const uint8_t* p, Py_ssize_t size, Py_ssize_t offset,
                         uintptr_t mode, object owner):
    cdef WireFrame f
    cdef Fault fault
    cdef V1Reader r
    cdef int found
    if AMQP_UNLIKELY(offset < 0 or offset > size):
        raise ValueError(f"offset {offset} is outside of {size} bytes")
    found = v1_scan(p + offset, p + size, 0, <uint64_t>offset, &f, &fault)
    if found == SCAN_MORE:
        return None
    if AMQP_UNLIKELY(found == SCAN_BAD):
        raise fault_error(&fault, True)
    v1_reader(&r, &self.descs.types, V1_ONE_SHOT_CACHE, mode)
    return (v1_owned(v1_number(f.total)), v1_owned(v1_number(f.channel)),
            v1_decode_frame(self, &f, p + offset, <uint64_t>offset, &r, owner))


cdef class V1Decoder(Stream):
    """Frames of one stream of AMQP 1.0."""

    cdef V1Core v1
    cdef V1Cache* symbols
    cdef V1Reader reader
    cdef uint64_t empty             # elements of arrays without bytes, in all frames so far
    cdef public bint opened
    cdef bint opened_first

    def __init__(self, V1Core protocol not None, frame_max=131072, *, errors="strict",
                 types="plain", bint copy=True, bint opened=False):
        if errors not in ("strict", "frame"):
            raise ValueError(f'errors is "strict" or "frame", not {errors!r}')
        if self.symbols == NULL:
            self.symbols = v1_cache_new()
            if self.symbols == NULL:
                raise MemoryError
        self.mode = v1_reading_mode(types)
        self.copy = copy
        self.yield_errors = errors == "frame"
        self.frame_max = frame_max
        self.opened = self.opened_first = opened
        self.v1 = protocol
        self.ready = True

    def __dealloc__(self):
        v1_cache_free(self.symbols)

    cdef int forget(self) except -1:
        Stream.forget(self)
        self.empty = 0
        self.opened = self.opened_first
        return 0

    cdef object fault_error(self, const Fault* fault):
        return fault_error(fault, True)

    cdef object bad_frame_class(self):
        return self.v1.BadFrame

    @cython.final
    cdef int v1_next(self, Fault* fault) except -2:
        """Find the next frame: SCAN_FRAME with self.frame set, SCAN_MORE or SCAN_BAD."""
        cdef uint64_t limit = self.limit
        cdef size_t have
        cdef int found
        fault.code = OK
        if AMQP_UNLIKELY(not self.opened) and (limit == 0 or limit > V1_MIN_MAX_FRAME):
            limit = V1_MIN_MAX_FRAME
        if AMQP_LIKELY(head_size(self) == 0):
            self.frame_in_head = False
            self.frame_start = self.p
            found = v1_scan(self.p, self.end, limit, self.at, &self.frame, fault)
            if AMQP_UNLIKELY(found == SCAN_MORE):
                if self.p != self.end:
                    self.save(self.p, <size_t>(self.end - self.p))
                self.leave_chunk()
            return found
        self.frame_in_head = True
        while True:
            self.frame_start = self.head.start + self.head_at
            have = head_size(self)
            found = v1_scan(self.frame_start, self.head.p, limit, self.at,
                            &self.frame, fault)
            if found != SCAN_MORE or self.p == self.end:
                return found
            # Take from the chunk what the size says is missing, first of all the size itself.
            self.gather(8 - have if have < 8 else <size_t>load32(self.frame_start) - have)

    @cython.final
    cdef object v1_frame(self):
        """The object of the frame that v1_next found."""
        cdef object owner = None
        cdef uint64_t over = self.empty - min(self.empty, self.at)
        v1_reader(&self.reader, &self.v1.descs.types, self.symbols, self.mode)
        self.reader.zero_width = over       # those beyond the bytes before this frame count for it
        if not self.copy:
            owner = view_of_copy if self.frame_in_head else self.chunk
        made = v1_decode_frame(self.v1, &self.frame, self.frame_start, self.at, &self.reader, owner)
        self.empty += self.reader.zero_width - over
        if AMQP_UNLIKELY(not self.opened) and self.frame.type == V1_FRAME_AMQP:
            self.opened = True      # open is the first of this layer, whatever it was
        return made

    cdef PyObject* read_event(self) except? NULL:
        cdef object event = self.read_v1_event()
        return NULL if event is None else Py_NewRef(<PyObject*>event)

    cdef object read_v1_event(self):
        """The next frame or event; None while nothing is whole."""
        cdef Fault fault
        cdef object event = None
        cdef int found
        while event is None:
            found = self.v1_next(&fault)
            if found == SCAN_MORE:
                return None
            if found == SCAN_BAD:
                return self.fault_or_raise(&fault)
            try:
                event = self.step(self.v1_frame())
            except DecodeError as error:
                return self.skip_bad_frame(error)
            self.pass_frame()
        return event

    cdef object step(self, object frame):
        """The event that a frame completes, or None."""
        return frame
