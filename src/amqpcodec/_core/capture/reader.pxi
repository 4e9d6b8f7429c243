# The machine that reads a capture: bytes of files go in piece by piece, batches of columns come out.

cdef enum:
    POOL_BYTES = 1 << 24           # that the columns of batches before may hold for those to come
    PIECE_PART = 1 << 12           # bytes of a piece that are looked at for the end of a record


cdef extern from "columns/arrow.h" nogil:
    void pool_trim(size_t limit)


cdef int batch_full(Reading* r) noexcept nogil:
    """1 where a batch is full, else 0."""
    if not r.ordered:
        return r.rows.n >= r.batch_rows or r.rows.used >= BATCH_BYTES
    if r.rows.n < r.full_rows and r.rows.used < r.full_bytes:
        return 0
    if order_rows(r, False) < 0:
        return NO_MEMORY
    return is_ready(r)


cdef int read_given_up(Reading* r) noexcept nogil:
    """What is there, up to the first hole, of IP packets whose other fragments do not come."""
    cdef Mark now = r.last
    cdef Partial* d
    cdef CapPacket packet
    cdef Segment segment
    cdef Walk walk
    cdef int status = 0
    while status == 0 and r.partials.given_up != NULL:
        d = r.partials.given_up
        r.partials.given_up = d.newer
        if not d.refused:
            r.count.skipped[SKIP_FRAGMENT] += d.n
            enter_partial(d, first_hole(d), &walk, &segment)
            if walk.n and read_layers(&walk, &segment) == SKIP_NONE:
                r.count.skipped[SKIP_FRAGMENT] -= d.n
                r.last = d.mark
                packet.at = d.mark.file_at
                packet.time = d.mark.time
                status = add_segment(r, &packet, &segment)
        free_partial(d)
    r.last = now
    return status


cdef int read_packets(Reading* r, const uint8_t* p, size_t n, size_t* used) noexcept nogil:
    """Take whole records from p on, until a batch is full (1) or bytes are missing (0)."""
    cdef CapPacket packet
    cdef Segment segment
    cdef Walk walk
    cdef Partial* held = NULL
    cdef size_t step
    cdef int found, why
    used[0] = 0
    while True:
        found = batch_full(r)
        if found != 0:
            return found
        if r.file.at >= r.stop:
            return 0
        found = next_packet(&r.file, p + used[0], n - used[0], &packet, &step)
        used[0] += step
        if found == FILE_MORE or found < 0:
            return found
        if found == FILE_SKIPPED:
            continue
        if found == FILE_SECRETS:
            if add_secrets(r, packet.data, packet.have) < 0:
                return NO_MEMORY
            continue
        r.count.packets += 1
        r.count.captured += packet.have
        r.last.time = packet.time
        r.last.number = packet.number
        r.last.file_at = packet.at
        r.last.turn = r.count.packets
        r.last.file = r.slot_of_file
        if AMQP_UNLIKELY(r.partials.oldest != NULL):
            expire_partials(r)
        why = read_segment(&packet, &walk, &segment)
        if AMQP_UNLIKELY(why == SKIP_FRAGMENT):
            why = read_fragment(r, &walk, &segment, &held)
        if why == SKIP_NONE:
            why = add_segment(r, &packet, &segment)
        elif 0 < why < N_SKIPS:
            r.count.skipped[why] += 1
            why = SKIP_NONE
        if AMQP_UNLIKELY(held != NULL):
            free_partial(held)
            held = NULL
        if why < 0 or (r.partials.given_up != NULL and read_given_up(r) < 0):
            return NO_MEMORY


cdef int end_connections(Reading* r) noexcept nogil:
    """Nothing more will come: the last rows of all connections; 1 where a batch is full."""
    cdef int status
    while r.partials.oldest != NULL:
        status = batch_full(r)
        if status != 0:
            return status
        give_up(r, r.partials.oldest)
        if read_given_up(r) < 0:
            return NO_MEMORY
    while r.oldest != NULL:
        status = batch_full(r)
        if status != 0:
            return status
        if finish_conn(r, r.oldest) < 0:
            return NO_MEMORY
    return 0


cdef int add_spoken(Reading* r, object spoken) except -1:
    """A further protocol that connections may speak; 1.0 is the last."""
    cdef Spoken* s = &r.spoken[r.n_spoken]
    cdef Protocol protocol
    if r.n_spoken == MAX_PROTOCOLS or r.v1 != NULL:
        raise ValueError("too many protocols")
    if isinstance(spoken, V1Core):
        r.v1 = &(<V1Core>spoken).descs.types
        r.v1_number = <uint8_t>r.n_spoken
        return 0
    protocol = spoken
    s.methods = <uint64_t*>calloc(<size_t>max(protocol.descs.count, 1), sizeof(uint64_t))
    if s.methods == NULL:
        raise MemoryError
    s.descs = protocol.descs.desc
    s.n_descs = protocol.descs.count
    s.slot = protocol.slot
    s.slot_mask = protocol.slot_mask
    s.contents = protocol.contents
    s.n_contents = protocol.n_contents
    r.n_spoken += 1
    return 0

cdef bint same_layout(const Desc* a, const Desc* b) noexcept:
    cdef int i
    if a.n != b.n or a.has_content != b.has_content:
        return False
    for i in range(a.n):
        if a.op[i].kind != b.op[i].kind:
            return False
    return True


cdef int find_alike(Reading* r) except -1:
    """Which methods and property lists of the first protocol others have with the same bytes."""
    cdef Spoken* first = &r.spoken[0]
    cdef const Desc* d
    cdef int i, j, k
    r.alike = <uint8_t*>calloc(<size_t>max(first.n_descs, 1), 1)
    if r.alike == NULL:
        raise MemoryError
    for i in range(first.n_descs):
        d = &first.descs[i]
        for k in range(r.n_spoken):
            for j in range(r.spoken[k].n_descs):
                if (r.spoken[k].descs[j].class_id == d.class_id
                        and r.spoken[k].descs[j].method_id == d.method_id
                        and same_layout(d, &r.spoken[k].descs[j])):
                    r.alike[i] |= <uint8_t>(1 << k)
    return 0


cdef void reading_free(Reading* r) noexcept nogil:
    cdef int k
    if r == NULL:
        return
    if r.bucket != NULL:
        while r.oldest != NULL:
            remove_conn(r, r.oldest)
    free_partials(r)
    rows_free(&r.rows)
    rows_free(&r.going)
    block_give(&r.infos.block)
    block_give(&r.places)
    free(r.file.interface)
    free(r.bucket)
    for k in range(MAX_PROTOCOLS):
        free(r.spoken[k].methods)
    free(r.alike)
    free(r)


cdef tuple state_part(bytes state, size_t at):
    """(what stands behind a length of 4 bytes, where it ends)"""
    start = at + 4
    end = start + int.from_bytes(state[at:start], "big")
    if end > len(state):
        raise ValueError("the state of the capture reader is damaged")
    return state[start:end], end


@cython.final
cdef class CaptureReader:
    """See amqpcodec.capture. One thread at a time."""

    cdef Reading* r
    cdef object protocol
    cdef tuple others
    cdef tuple protocols        # by number
    cdef object frame_names
    cdef list order
    cdef str level
    cdef str tables
    cdef FileNames files
    cdef int64_t batch_rows
    cdef Py_buffer piece        # what was fed last, until it is read
    cdef size_t piece_at        # bytes of it that were read, or stand in `input` too
    cdef Block input            # a record that began in a piece before
    cdef size_t input_at
    cdef size_t input_n
    cdef size_t kept            # bytes of it of pieces before
    cdef readonly bint damaged  # what is at `at` is no record
    cdef bint busy
    cdef object layers

    def __cinit__(self, protocol, fields, ports, bint redact, bint forced,
                  int64_t batch_rows, str level="frame", size_t reorder_octets=1 << 22,
                  size_t reorder_total=1 << 25, tuple others=(), str tables="json",
                  int32_t reorder_pieces=1 << 16, bint ordered=False, layers=None):
        """others: 0-9, 0-8 and 1.0, in that order, which connections may speak where it is not forced.

        layers: what reads connections over TLS or WebSocket (capture/_layers), or None.
        """
        cdef Reading* r = <Reading*>calloc(1, sizeof(Reading))
        cdef int port
        if r == NULL:
            raise MemoryError
        self.r = r
        add_spoken(r, protocol)
        for other in others:
            add_spoken(r, other)
        find_alike(r)
        self.others = others
        self.protocols = (protocol, *others)
        if batch_rows < 1:
            raise ValueError(f"batch_rows is at least 1, not {batch_rows}")
        self.layers = layers
        r.layers = <PyObject*>layers if layers is not None else NULL
        self.protocol = protocol
        self.level = level
        self.tables = tables
        r.messages = level == "message"
        self.frame_names, self.order = choose_capture_columns(frame_plan(protocol), level, fields)
        find_request(protocol, level, self.frame_names, "plain", tables)
        self.batch_rows = batch_rows
        self.files = FileNames()
        r.between = True
        for number in ports:
            if isinstance(number, bool) or not isinstance(number, int) or not 0 < number < 65536:
                raise ValueError(f"ports are numbers from 1 to 65535, not {number!r}")
            port = number
            r.ports[port >> 3] |= <uint8_t>(1 << (port & 7))
        r.infos.batch = 1
        r.rows.hint = 65536
        r.redact = redact
        r.ordered = ordered
        r.batch_rows = batch_rows
        next_look(r, False)
        r.forced = forced
        r.dialect = reading_mode(RABBITMQ, PLAIN, ERROR)
        r.hold_limit = reorder_octets
        r.hold_total = reorder_total
        r.hold_pieces = reorder_pieces
        r.stop = <uint64_t>0xFFFFFFFFFFFFFFFF

    def __dealloc__(self):
        if self.r != NULL:
            Py_XDecRef(self.r.fault)
        reading_free(self.r)
        block_give(&self.input)
        self.drop_piece()

    cdef void drop_piece(self):
        if self.piece.buf != NULL:
            PyBuffer_Release(&self.piece)
            self.piece.buf = NULL
            self.piece.len = 0
        self.piece_at = 0

    cdef void drop_input(self):
        self.drop_piece()
        self.input_at = 0
        self.input_n = 0
        self.kept = 0

    def begin(self, str name not None, str key not None):
        """The bytes that follow are those of a file, the next one of the chain.

        key: what the first one's name adds to the names of connections.
        """
        if not self.r.between:
            raise ValueError("the file before has not ended")
        self.make_buckets()
        cdef bytes seed = key.encode("utf-8", "surrogatepass")
        cdef Reading* r = self.r
        if not self.r.begun:
            r.begun = True
            r.seed = mix(<uint64_t>0xCBF29CE484222325, <const uint8_t*>PyBytes_AS_STRING(seed),
                         <size_t>PyBytes_GET_SIZE(seed))
        else:
            r.file_number += 1
        self.files.add(r, name.encode("utf-8", "replace").replace(b"\0", b"?"))
        r.between = False
        r.file.format = FILE_UNKNOWN
        r.file.at = 0
        r.file.packets = 0
        r.file.skip = 0
        r.file.n_interfaces = 0
        self.drop_input()
        self.damaged = False

    cdef int make_buckets(self) except -1:
        if self.r.bucket == NULL:
            self.r.bucket = <Conn**>calloc(N_BUCKETS, sizeof(Conn*))
            if self.r.bucket == NULL:
                raise MemoryError
        return 0

    def release(self):
        """Give back what reading needs, when all connections have ended and all rows went out."""
        if self.r.oldest == NULL and self.r.rows.n == 0 and self.r.going.n == 0:
            rows_free(&self.r.going)
            memset(&self.r.going, 0, sizeof(CapRows))
            free(self.r.bucket)
            self.r.bucket = NULL
            block_give(&self.input)
            memset(&self.input, 0, sizeof(Block))
            rows_free(&self.r.rows)
            memset(&self.r.rows, 0, sizeof(CapRows))
            self.r.rows.hint = 65536
            self.drop_input()

    def end(self):
        """No more bytes of this file will come: those of another one may."""
        self.drop_input()
        self.r.between = True

    def peek(self):
        """(found, time) of the file's first packet, ns since 1970 or None, in what was fed.

        Not found yet: more bytes are needed, unless `damaged` is set. Another reader reads it.
        """
        cdef CapPacket packet
        cdef size_t used = 0
        cdef int found = FILE_SKIPPED
        self.keep_piece()
        with nogil:
            while found == FILE_SKIPPED or found == FILE_SECRETS:
                found = next_packet(&self.r.file, self.input.p + self.input_at,
                                    self.input_n - self.input_at, &packet, &used)
                self.input_at += used
        if found == NO_MEMORY:
            raise MemoryError
        self.damaged = found < 0
        if found != FILE_PACKET:
            return False, None
        return True, None if packet.time == NO_TIME else packet.time

    def feed(self, data):
        """The next bytes of the file, a C-contiguous buffer; advance() reads them.

        They are borrowed until advance() gives False, or anything else is called.
        """
        self.keep_piece()
        PyObject_GetBuffer(data, &self.piece, PyBUF_SIMPLE)
        self.kept = self.input_n
        pool_trim(POOL_BYTES)

    cdef int append_piece(self, size_t n) noexcept nogil:
        """Copy the next bytes of the piece, n at most, after those that wait."""
        n = min(n, <size_t>self.piece.len - self.piece_at)
        if self.input_at:
            self.input_n -= self.input_at
            self.kept -= min(self.kept, self.input_at)
            memmove(self.input.p, self.input.p + self.input_at, self.input_n)
            self.input_at = 0
        if self.input.room < self.input_n + n and block_room(&self.input, self.input_n, self.input_n + n) < 0:
            return NO_MEMORY
        if n:
            memcpy(self.input.p + self.input_n, <const uint8_t*>self.piece.buf + self.piece_at, n)
        self.input_n += n
        self.piece_at += n
        return 0

    cdef int keep_piece(self) except -1:
        """What was fed and not read is copied, so that its owner may change it."""
        if self.piece.buf != NULL:
            if self.append_piece(<size_t>self.piece.len) < 0:
                raise MemoryError
            self.drop_piece()
        return 0

    cdef int read_fed(self) noexcept nogil:
        """Read what was fed, as read_packets() does: a record that began before it, then where it lies."""
        cdef size_t used = 0, part = PIECE_PART
        cdef int status
        while self.input_n:
            status = read_packets(self.r, self.input.p + self.input_at, self.input_n - self.input_at, &used)
            self.input_at += used
            if status != 0:
                return status
            if self.input_at >= self.kept and self.piece.buf != NULL:
                self.piece_at -= self.input_n - self.input_at
                self.input_at = 0
                self.input_n = 0
            elif self.piece_at == <size_t>self.piece.len:
                return 0
            elif self.append_piece(part) < 0:
                return NO_MEMORY
            part *= 2
        if self.piece.buf == NULL:
            return 0
        status = read_packets(self.r, <const uint8_t*>self.piece.buf + self.piece_at,
                              <size_t>self.piece.len - self.piece_at, &used)
        self.piece_at += used
        return status

    def advance(self, bint last=False):
        """Read what was fed. True: a batch is full, take() it. last: end all connections."""
        cdef int status = 0
        if self.busy:
            raise RuntimeError("another thread reads this capture")
        if is_ready(self.r):
            return True
        self.busy = True
        with nogil:
            if last:
                status = end_connections(self.r)
            elif not self.damaged:
                status = self.read_fed()
        self.busy = False
        if status != 1:
            self.keep_piece()
        if status == FILE_BAD or status == FILE_FOREIGN:
            self.damaged = True
            status = 0
        if status < 0:
            self.raise_fault()
            raise MemoryError
        return status == 1

    cdef int raise_fault(self) except -1:
        """What the layers raised, if they did."""
        if self.r.fault != NULL:
            error = <object>self.r.fault
            Py_DecRef(self.r.fault)
            self.r.fault = NULL
            raise error
        return 0

    cdef CapRows* going_rows(self, bint all) except NULL:
        """Those that are to go out. all: also where their order is not known."""
        if not self.r.ordered:
            self.r.rows.ready = whole_batches(self.r, self.r.rows.n)
        elif all and self.r.rows.n and not is_ready(self.r) and order_rows(self.r, True) < 0:
            raise MemoryError
        if self.r.going.n == 0 and self.r.rows.ready and hand_over(self.r) < 0:
            raise MemoryError
        return &self.r.going

    cdef Request request(self):
        return find_request(self.protocol, self.level, self.frame_names, "plain", self.tables)

    def take(self, bint all=False):
        """The rows that wait, at most batch_rows; None where there are none, or none whose order is
        known. all: those as well."""
        cdef CapRows* o = self.going_rows(all)
        cdef int64_t n = min(o.n - o.first, self.batch_rows)
        if n == 0:
            return None
        pool_trim(POOL_BYTES)
        batch = make_batch(self.protocol, self.others, o, o.first, n, &self.r.infos, self.request(),
                           self.order, self.files, o.first + n == o.n)
        o.first += n
        if o.first == o.n:
            rows_clear(o)
            if forget_infos(self.r) < 0:
                raise MemoryError
        return batch

    def take_rows(self, bint all=False):
        """What take() gives until the rows that wait have gone out, without their columns."""
        cdef CapRows* o = self.going_rows(all)
        cdef CaptureRows rows
        cdef TakenRows taken
        cdef int64_t first = o.first
        cdef list out = []
        if o.n == first:
            return out
        taken = take_rows(o, &self.r.infos, self.files)
        if forget_infos(self.r) < 0:
            raise MemoryError
        while first < taken.rows.n:
            rows = CaptureRows.__new__(CaptureRows)
            rows.taken = taken
            rows.first = first
            rows.n = min(taken.rows.n - first, self.batch_rows)
            rows.protocol = self.protocol
            rows.others = self.others
            rows.request = self.request()
            rows.order = self.order
            out.append(rows)
            first += rows.n
        return out

    def state(self, list starts=None):
        """What resume() of another reader needs to go on at `at`. No rows may wait.

        It is neither sealed nor checked for damage: amqpcodec.capture does that. starts: takes
        where each number in it begins, for tests that change them.
        """
        cdef StateIO io
        cdef size_t i
        cdef int status
        if self.r.rows.n or self.r.going.n:
            raise ValueError("rows wait: take() them first")
        memset(&io, 0, sizeof(StateIO))
        io.writing = True
        io.noting = starts is not None
        self.files.prune(self.r)
        io.files = len(self.files.names)
        try:
            status = io_reading(&io, self.r)
            if status < 0 or io.bad:
                raise MemoryError
            inside = b"" if self.layers is None else self.layers.store()
            parts = (self.made_for(), self.files.store(), inside)
            head = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
            if starts is not None:
                starts += [len(head) + (<int64_t*>io.starts.p)[i] for i in range(io.n_starts)]
            return head + PyBytes_FromStringAndSize(<char*>io.out.p, <Py_ssize_t>io.n)
        finally:
            block_give(&io.out)
            block_give(&io.starts)

    cdef bytes made_for(self):
        """What resume() takes states of: the arguments that decide what is kept."""
        names = [protocol.name for protocol in self.protocols]
        return f"{self.level} {self.r.forced:d} {','.join(names)}".encode()

    def resume(self, bytes state not None):
        """Go on where another reader was, which had the same arguments. Before anything is fed.

        Raises ValueError where anything in it is out of its range; the reader is as new then.
        """
        cdef StateIO io
        cdef int status = 0
        if self.r.begun:
            raise ValueError("this reader has begun already")
        made_for, at = state_part(state, 0)
        if made_for != self.made_for():
            raise ValueError("the state is of a reader with another level or other protocols, "
                             f"or damaged: {made_for[:99]!r}, not {self.made_for()!r}")
        names, at = state_part(state, at)
        inside, at = state_part(state, at)
        if self.layers is not None:
            self.layers.load(inside)
        memset(&io, 0, sizeof(StateIO))
        io.bad = not self.files.load(names)
        io.files = len(self.files.names)
        io.p = <const uint8_t*>PyBytes_AS_STRING(state) + <Py_ssize_t>at
        io.end = <const uint8_t*>PyBytes_AS_STRING(state) + len(state)
        self.make_buckets()
        if not io.bad:
            status = io_reading(&io, self.r)
        if status < 0 or io.bad:
            self.begin_again()
            if self.layers is not None:
                self.layers.load(b"")
            if status < 0:
                raise MemoryError
            raise ValueError("the state of the capture reader is damaged")

    cdef void begin_again(self):
        """As if nothing had been read."""
        cdef Reading* r = self.r
        cdef int k
        while r.oldest != NULL:
            remove_conn(r, r.oldest)
        free_partials(r)
        free(r.file.interface)
        memset(&r.file, 0, sizeof(CapFile))
        memset(&r.count, 0, sizeof(CaptureCounts))
        memset(r.v1_counts, 0, sizeof(r.v1_counts))
        memset(&r.last, 0, sizeof(Mark))
        for k in range(r.n_spoken):
            memset(r.spoken[k].methods, 0, <size_t>r.spoken[k].n_descs * sizeof(uint64_t))
        r.slot_of_file = 0
        r.file_number = 0
        r.begun = False
        r.between = True
        self.files = FileNames()

    def stop_at(self, offset):
        """Records that begin at this offset of the file or after it are left; None: none are."""
        self.r.stop = <uint64_t>0xFFFFFFFFFFFFFFFF if offset is None else <uint64_t>offset

    def first(self, data, size_t end, bint last):
        """Where in these bytes of the file a record begins, before `end`; or -1."""
        cdef int64_t found = -1
        cdef Py_buffer view
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            if view.len:
                with nogil:
                    found = find_record(&self.r.file, <const uint8_t*>view.buf, <size_t>view.len,
                                        end, last)
        finally:
            PyBuffer_Release(&view)
        return found

    @property
    def name(self):
        """Name of the file that is read, or was last."""
        return (<bytes>self.files.names[self.r.slot_of_file]).decode()

    @property
    def first_index(self):
        """The connection_index of the first connection."""
        return self.r.first_index

    @first_index.setter
    def first_index(self, int32_t index):
        self.r.first_index = index

    @property
    def reorder_steps(self):
        """Comparisons that keeping segments in order took so far."""
        return self.r.reorder_steps

    @property
    def begun(self):
        """Whether a file was opened, or a state taken."""
        return self.r.begun

    @property
    def between(self):
        """Whether no file is open: the next one follows."""
        return self.r.between

    @property
    def last_time(self):
        """Time of the last packet, ns since 1970, or None."""
        return None if self.r.last.time == NO_TIME else self.r.last.time

    @property
    def at(self):
        """Offset in the file of the next record."""
        return self.r.file.at

    @property
    def waiting(self):
        """Bytes that were fed and are part of no whole record yet."""
        return self.input_n - self.input_at + (<size_t>self.piece.len - self.piece_at)

    @property
    def known(self):
        """Whether the file was found to be a capture."""
        return self.r.file.format != FILE_UNKNOWN

    def resets(self):
        """(connection_index, direction, ns since 1970) of TCP resets that ended connections.

        Those since the last call, at most 256 of them; direction: of who sent it.
        """
        cdef int i
        found = []
        for i in range(self.r.n_resets):
            time = self.r.resets[i].time
            found.append((self.r.resets[i].index, "server" if self.r.resets[i].of_server else "client",
                          None if time == NO_TIME else time))
        self.r.n_resets = 0
        return found

    def counts(self):
        """What was seen so far."""
        cdef Reading* r = self.r
        cdef CaptureCounts* c = &r.count
        cdef int i, k
        types = {FRAME_TYPE_NAMES[i].decode(): c.types[i] for i in range(5)}
        types.update({"undefined": c.types[5], "amqp": c.types[6], "sasl": c.types[7]})
        versions = {self.protocols[i].name: c.versions[i] for i in range(<int>len(self.protocols))}
        methods = {}
        for i in range(256):
            if r.v1_counts[i]:
                methods[r.v1.by_code[i].name.decode()] = r.v1_counts[i]
        for k in range(r.n_spoken):
            for i in range(r.spoken[k].n_descs):
                if r.spoken[k].methods[i]:
                    name = r.spoken[k].descs[i].name.decode()
                    methods[name] = methods.get(name, 0) + r.spoken[k].methods[i]
        skipped = {SKIP_NAMES[i]: c.skipped[i] for i in range(1, N_SKIPS) if c.skipped[i]}
        layers = {} if self.layers is None else self.layers.counts()
        return {
            "packets": c.packets, "octets": c.captured, "connections": c.connections,
            "versions": {name: n for name, n in versions.items() if n},
            "frames": {name: n for name, n in types.items() if n}, "methods": methods,
            "gaps": c.gaps, "lost_octets": c.lost, "resyncs": c.resyncs, "midstream": c.midstream,
            "tls_connections": c.tls, "tls_decrypted": c.decrypted, **layers,
            "other_protocols": c.others, "left_out_octets": c.left_out,
            "repeated_octets": c.repeated, "proxied_connections": c.proxied, "ip_fragments": c.fragments, "ip_reassembled": c.joined,
            "reorder_overflows": c.overflows, "skipped": skipped,
        }
