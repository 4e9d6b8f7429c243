# The machine that reads a capture: bytes of files go in piece by piece, batches of columns come out.

cdef enum:
    POOL_BYTES = 3 << 24           # that rows and columns of batches before hold for those to come, if nobody says more
    PIECE_PART = 1 << 12           # bytes of a piece that are looked at for the end of a record


cdef extern from "wire/block.h" nogil:
    void pool_ease(size_t limit)


cdef dict READER_OPTIONS = {
    "others": (), "field_tables": "json", "ordered": False, "layers": None, "detect_ports": False,
    "reorder_bytes": 1 << 22, "reorder_total": 1 << 25, "reorder_pieces": 1 << 16, "open_connections": 1 << 16,
    "record_bytes": RECORD_LIMIT, "frame_bytes": HIGHEST_FRAME_MAX, "message_bytes": MESSAGE_LIMIT,
    "fragment_bytes": 1 << 23, "open_deliveries": DELIVERIES_OPEN, "max_tracked": TRACKED_LIMIT,
}


cdef void reading_free(Reading* r) noexcept nogil:
    cdef int k
    if r == NULL:
        return
    free_outline(r.outline)
    r.outline = NULL
    if r.conns.bucket != NULL:
        while r.conns.oldest != NULL:
            remove_conn(r, r.conns.oldest)
    free_parted(r)
    free_partials(r)
    rows_free(&r.rows)
    rows_free(&r.out.rows)
    block_give(&r.infos.block)
    block_give(&r.out.places)
    block_give(&r.resets)
    block_give(&r.named.block)
    block_give(&r.file.interfaces)
    for k in range(<int>r.files.n_taps):
        if taps_of(r)[k] != NULL:
            free_tap(r, k)
    block_give(&r.files.taps)
    free(r.conns.bucket)
    for k in range(MAX_PROTOCOLS):
        free(r.protocol[k].methods)
        free(r.protocol[k].events)
    free_hosts(&r.level.tracking)
    free_spare_questions(&r.level.tracking)
    block_give(&r.level.tracking.output.end)
    block_give(&r.level.joined)
    free(r.alike)
    free(r)


cdef tuple state_part(bytes state, size_t at):
    """(what follows a length of 4 bytes, where it ends)"""
    start = at + 4
    end = start + int.from_bytes(state[at:start], "big")
    if end > len(state):
        raise ValueError("the state of the capture reader is damaged")
    return state[start:end], end


@cython.final
@cython.internal
cdef class InUse:
    """Keeps other calls of a reader out until it goes: where the method returns or raises."""

    cdef Atomic* flag

    def __dealloc__(self):
        if self.flag != NULL:
            use_end(self.flag)


@cython.final
cdef class CaptureReader:
    """See amqpcodec.capture. A second call while one has not ended is a RuntimeError."""

    cdef Reading* r
    cdef object protocol
    cdef tuple others
    cdef tuple protocols        # by number
    cdef object frame_names
    cdef list order
    cdef Choice choice          # of the rows that get columns, or None
    cdef str level
    cdef str field_tables
    cdef FileNames files
    cdef int64_t batch_rows
    cdef Py_buffer piece        # what was fed last, until it is read
    cdef size_t piece_at        # bytes of it that were read, or stand in `input` too
    cdef Block input            # a record that began in a piece before
    cdef size_t input_at
    cdef size_t input_n
    cdef size_t kept            # bytes of it of pieces before
    cdef readonly bint damaged  # what is at `at` is no record
    cdef Atomic in_use          # a call has begun that reads or changes what is held
    cdef int64_t n_tapped       # files that were read at once with others
    cdef object layers

    def __cinit__(self, protocol, fields, ports, bint redact, bint forced, int64_t batch_rows, str level="frame",
                  **options):
        """options: those of READER_OPTIONS.

        others: 0-9, 0-8 and 1.0, in that order, which connections may speak where it is not forced.
        layers: what reads connections over TLS or WebSocket (capture/_layers), or None.
        detect_ports: also read ports to which a protocol header is sent, from there on.
        """
        cdef Reading* r = <Reading*>calloc(1, sizeof(Reading))
        if r == NULL:
            raise MemoryError
        self.r = r
        unknown = options.keys() - READER_OPTIONS
        if unknown:
            raise TypeError(f"a capture reader has no option {', '.join(sorted(unknown))}")
        options = READER_OPTIONS | options
        self.level = level
        r.level.events = level == "event"
        r.level.messages = level != "frame"
        self.protocol = protocol
        self.others = options["others"]
        self.protocols = (protocol, *self.others)
        for each in self.protocols:
            add_known_protocol(r, each)
        find_alike(r)
        if batch_rows < 1:
            raise ValueError(f"batch_rows is at least 1, not {batch_rows}")
        self.layers = options["layers"]
        r.layers = <PyObject*>self.layers if self.layers is not None else NULL
        self.field_tables = options["field_tables"]
        self.frame_names, self.order = choose_capture_columns(frame_plan(protocol), level, fields)
        self.columns(self.frame_names, self.order)      # what is wrong with them is told now
        self.batch_rows = batch_rows
        self.files = FileNames()
        r.files.between = True
        self.set_ports(ports)
        r.servers.detects = options["detect_ports"]
        r.infos.batch = 1
        r.rows.hint = 65536
        r.redact = redact
        r.out.ordered = options["ordered"]
        r.out.batch_rows = batch_rows
        next_look(r, False)
        r.forced = forced
        r.dialect = reading_mode(RABBITMQ, PLAIN, ERROR)
        r.level.tracking.dialect = r.dialect
        r.level.tracking.connections = &r.count.connections
        self.set_limits(options)
        r.stop = <uint64_t>0xFFFFFFFFFFFFFFFF

    cdef int set_ports(self, object ports) except -1:
        for number in as_ints(ports):
            if isinstance(number, bool) or not isinstance(number, int) or not 0 < number < 65536:
                raise ValueError(f"ports are numbers from 1 to 65535, not {number!r}")
            want_port(&self.r.servers, number)
        return 0

    cdef int set_limits(self, dict options) except -1:
        cdef ReadingLimits* limits = &self.r.limits
        self.r.file.limit = <uint32_t>options["record_bytes"]
        limits.frame = options["frame_bytes"]
        limits.message = options["message_bytes"]
        limits.deliveries = options["open_deliveries"]
        limits.fragments = options["fragment_bytes"]
        limits.conns = options["open_connections"]
        limits.hold = options["reorder_bytes"]
        limits.hold_total = options["reorder_total"]
        limits.hold_pieces = options["reorder_pieces"]
        for kind in range(N_TRACKED):
            self.r.level.tracking.limit[kind] = options["max_tracked"]
        return 0

    def __dealloc__(self):
        if self.r != NULL:
            Py_XDecRef(self.r.fault)
        reading_free(self.r)
        block_give(&self.input)
        self.drop_piece()

    cdef InUse use(self):
        cdef InUse held = InUse.__new__(InUse)
        if not use_begin(&self.in_use):
            raise RuntimeError("this reader is in use, by another thread or by a call that has not ended")
        held.flag = &self.in_use
        return held

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
        cdef InUse held = self.use()
        cdef Reading* r = self.r
        if not self.r.files.between:
            raise ValueError("the file before has not ended")
        self.add_file(name, key)
        r.files.between = False
        r.file.format = FILE_UNKNOWN
        r.file.at = 0
        r.file.packets = 0
        r.file.skip = 0
        r.file.n_interfaces = 0
        self.drop_input()
        self.damaged = False

    cdef int add_file(self, str name, str key) except -1:
        cdef bytes seed = key.encode("utf-8", "surrogatepass")
        cdef Reading* r = self.r
        self.make_buckets()
        if not r.files.begun:
            r.files.begun = True
            r.conns.seed = mix(<uint64_t>0xCBF29CE484222325, <const uint8_t*>PyBytes_AS_STRING(seed),
                               <size_t>PyBytes_GET_SIZE(seed))
        else:
            r.files.number += 1
        self.files.add(r, name.encode("utf-8", "backslashreplace").replace(b"\0", b"?"))
        return 0

    # ---- several files at once ----

    def open_tap(self, str name not None, str key not None):
        """Begin a file that is read at once with others: its number for the calls that follow.

        key: as begin() has it.
        """
        cdef InUse held = self.use()
        cdef Reading* r = self.r
        cdef Tap** grown
        cdef Tap* tap
        cdef int i = 0
        while i < <int>r.files.n_taps and taps_of(r)[i] != NULL:
            i += 1
        if i == <int>r.files.n_taps:
            grown = <Tap**>items_add(&r.files.taps, &r.files.n_taps, sizeof(Tap*))
            if grown == NULL:
                raise MemoryError
            grown[0] = NULL
        tap = <Tap*>calloc(1, sizeof(Tap))
        if tap == NULL:
            raise MemoryError
        r.files.number = self.n_tapped - 1
        self.add_file(name, key)
        tap.number = self.n_tapped
        tap.file.limit = r.file.limit
        self.n_tapped += 1
        tap.slot = r.files.slot
        tap.time = NO_TIME
        taps_of(r)[i] = tap
        return i

    cdef Tap* tap_of(self, int i) except NULL:
        if not 0 <= i < <int>self.r.files.n_taps or taps_of(self.r)[i] == NULL:
            raise ValueError(f"no file is open by the number {i}")
        return taps_of(self.r)[i]

    def feed_tap(self, int i, data):
        """The next bytes of a file, a C-contiguous buffer, which are copied."""
        cdef InUse held = self.use()
        cdef Tap* tap = self.tap_of(i)
        cdef Py_buffer view
        cdef int status
        if tap.ready:
            raise ValueError("bytes of this file wait to be read")
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        status = feed_tap(tap, <const uint8_t*>view.buf, <size_t>view.len)
        PyBuffer_Release(&view)
        if status < 0:
            raise MemoryError

    def advance_taps(self, until=None):
        """Read what was fed of all open files, in the order of the packets' times.

        -2: a batch is full, take() it; -1: all before `until` (ns since 1970) is read, or no file
        is open; else the number of a file: of which more bytes are needed, to be given by
        feed_tap(); where there are none, or it is damaged, close_tap() it.
        """
        cdef InUse held = self.use()
        cdef int64_t limit = 0x7FFFFFFFFFFFFFFF if until is None else until
        cdef int which = TAPS_READ, status = 0
        if is_ready(self.r):
            return TAPS_FULL
        with nogil:
            status = read_taps(self.r, limit, &which)
        self.raise_fault()
        if status < 0:
            raise MemoryError
        return TAPS_FULL if status == 1 else which

    def tap_is_damaged(self, int i):
        """Whether what is next in a file is no record."""
        return self.tap_of(i).damaged

    def close_tap(self, int i):
        """No more bytes of a file come: (whether it is a capture, offset of the next record, bytes
        that wait for the rest of it)."""
        cdef InUse held = self.use()
        cdef Tap* tap = self.tap_of(i)
        told = tap.file.format != FILE_UNKNOWN, tap.file.at, tap.n - tap.at
        free_tap(self.r, i)
        return told

    cdef int make_buckets(self) except -1:
        if self.r.conns.bucket == NULL:
            self.r.conns.bucket = <Conn**>calloc(N_BUCKETS + PORT_BUCKETS, sizeof(Conn*))
            if self.r.conns.bucket == NULL:
                raise MemoryError
            self.r.conns.port = self.r.conns.bucket + N_BUCKETS
        return 0

    # ---- values in place of packets ----

    def name_connection(self, uint64_t id, bytes client not None, bytes server not None):
        """The number by which feed_values() knows a connection.

        client, server: 4 or 16 bytes of an address and 2 of a port; both empty: they are not known.
        """
        cdef InUse held = self.use()
        cdef Reading* r = self.r
        cdef Named* named
        if len(client) not in (0, 6, 18) or len(server) != len(client):
            raise ValueError("two addresses of one family have 6 or 18 bytes each, with their ports")
        if not r.files.begun:
            self.add_file("", "")
        named = <Named*>items_add(&r.named.block, &r.named.n, sizeof(Named))
        if named == NULL:
            raise MemoryError
        memset(named, 0, sizeof(Named))
        named.id = id
        if client:
            named.family = 4 if len(client) == 6 else 6
            parse_endpoint(&named.client, client)
            parse_endpoint(&named.server, server)
        return r.named.n - 1

    def feed_values(self, data, ends, numbers, senders, times, int64_t first):
        """Read what connections said, in this order; their rows are there to take().

        data: a buffer with all bytes. The others have an item each value. ends: int64, where it ends
        in data, and before the first one where that begins. numbers: int32, of name_connection().
        senders: a byte, of VALUE_SERVER and VALUE_MISSING. times: int64, ns since 1970, or the least
        number. first: the packet_offset of the first value.

        Raises ValueError where the buffers do not fit together.
        """
        cdef InUse held = self.use()
        cdef Py_buffer[5] views
        cdef FedValues fed
        cdef int n = 0, status = 0
        if not self.r.level.events:
            raise ValueError("values are read to events")
        try:
            for buffer in (data, ends, numbers, senders, times):
                PyObject_GetBuffer(buffer, &views[n], PyBUF_SIMPLE)
                n += 1
            fed.p = <const uint8_t*>views[0].buf
            fed.size = views[0].len
            fed.ends = <const int64_t*>views[1].buf
            fed.numbers = <const int32_t*>views[2].buf
            fed.senders = <const uint8_t*>views[3].buf
            fed.times = <const int64_t*>views[4].buf
            fed.n = views[3].len
            fed.first = first
            if (views[1].len != 8 * (fed.n + 1) or views[2].len != 4 * fed.n or views[4].len != 8 * fed.n
                    or not are_sound(self.r, &fed)):
                raise ValueError("the buffers of values do not fit together")
            with nogil:
                status = read_values(self.r, &fed)
        finally:
            while n:
                n -= 1
                PyBuffer_Release(&views[n])
        if status < 0:
            raise MemoryError

    def has_batch(self):
        """Whether a batch is full: take() it. Only who asks gets rows before connections end."""
        cdef InUse held = self.use()
        cdef int status = batch_full(self.r)
        if status < 0:
            raise MemoryError
        return status == 1

    def no_rows(self):
        """A batch without rows."""
        cdef CapRows none
        memset(&none, 0, sizeof(CapRows))
        try:
            if more_rows(&none, 1) < 0:
                raise MemoryError
            return make_batch(self.columns(self.frame_names, self.order), &none, 0, 0, &self.r.infos, self.files, True)
        finally:
            rows_free(&none)

    def read_apart(self):
        """Connections are read one after the other: what one binds says nothing about another."""
        cdef InUse held = self.use()
        self.r.level.tracking.limit[TRACKED_HOSTS] = 0

    def end_connections(self):
        """All connections end here; the rows that wait are one batch, if batch_rows allows it."""
        cdef InUse held = self.use()
        cdef int status = 0
        with nogil:
            while status == 0 and self.r.conns.oldest != NULL:
                status = finish_conn(self.r, self.r.conns.oldest)
        if status < 0:
            raise MemoryError

    def release(self):
        """Give back what reading needs, when all connections have ended and all rows went out."""
        cdef InUse held = self.use()
        if self.r.conns.oldest == NULL and self.r.rows.n == 0 and self.r.out.rows.n == 0:
            rows_free(&self.r.out.rows)
            memset(&self.r.out.rows, 0, sizeof(CapRows))
            free(self.r.conns.bucket)
            self.r.conns.bucket = NULL
            block_give(&self.input)
            rows_free(&self.r.rows)
            memset(&self.r.rows, 0, sizeof(CapRows))
            self.r.rows.hint = 65536
            self.drop_input()

    def end(self):
        """No more bytes of this file will come: those of another one may."""
        cdef InUse held = self.use()
        self.drop_input()
        self.r.files.between = True

    def peek(self):
        """(found, time) of the file's first packet, ns since 1970 or None, in what was fed.

        Not found yet: more bytes are needed, unless `damaged` is set. Another reader reads it.
        """
        cdef InUse held = self.use()
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
        cdef InUse held = self.use()
        self.keep_piece()
        PyObject_GetBuffer(data, &self.piece, PyBUF_SIMPLE)
        self.kept = self.input_n
        pool_ease(POOL_BYTES)

    cdef int append_piece(self, size_t n) noexcept nogil:
        """Copy the next bytes of the piece, n at most, after those that wait."""
        n = min(n, <size_t>self.piece.len - self.piece_at)
        if self.input_at:
            self.input_n -= self.input_at
            self.kept -= min(self.kept, self.input_at)
            memmove(self.input.p, self.input.p + self.input_at, self.input_n)
            self.input_at = 0
        if bytes_add(&self.input, &self.input_n, <const uint8_t*>self.piece.buf + self.piece_at, n) < 0:
            return NO_MEMORY
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
        cdef InUse held = self.use()
        cdef int status = 0
        if is_ready(self.r):
            return True
        with nogil:
            if last:
                status = end_connections(self.r)
            elif not self.damaged:
                status = self.read_fed()
        if status != 1:
            self.keep_piece()
        if status == FILE_BAD or status == FILE_FOREIGN:
            self.damaged = True
            status = 0
        self.raise_fault()
        if status < 0:
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
        if not self.r.out.ordered:
            self.r.rows.ready = self.r.rows.n
        elif all and self.r.rows.n and not is_ready(self.r) and order_rows(self.r, True) < 0:
            raise MemoryError
        if self.r.out.rows.n == 0 and self.r.rows.ready and hand_over(self.r) < 0:
            raise MemoryError
        return &self.r.out.rows

    cdef BatchColumns columns(self, object frame_names, list order):
        """The columns of a batch: names and order as choose_capture_columns gives them."""
        cdef BatchColumns out = BatchColumns.__new__(BatchColumns)
        out.protocol = self.protocol
        out.others = self.others
        if self.level == "event":
            out.events = frame_names
        else:
            out.request = find_request(self.protocol, self.level, frame_names, "plain", self.field_tables)
        out.order = order
        return out

    def choose(self, fields, wanted):
        """Make columns of some rows alone: of those for which `wanted` has a byte that is not 0.

        fields: of which columns it takes a batch. It gives a bytes-like object, a byte a row.
        """
        cdef Choice choice = Choice.__new__(Choice)
        names, order = choose_capture_columns(frame_plan(self.protocol), self.level, fields)
        choice.columns = self.columns(names, order)
        choice.wanted = wanted
        self.choice = choice

    def take(self, bint all=False):
        """The rows that wait, at most batch_rows; None where there are none, or none whose order is
        known. all: those as well."""
        cdef InUse held = self.use()
        cdef CapRows* o = self.going_rows(all)
        cdef int64_t n = min(o.n - o.first, self.batch_rows)
        if n == 0:
            return None
        pool_ease(POOL_BYTES)
        batch = make_chosen_batch(self.columns(self.frame_names, self.order), o, o.first, n, &self.r.infos, self.files,
                                  o.first + n == o.n, self.choice)
        o.first += n
        if o.first == o.n:
            rows_clear(o)
            if forget_infos(self.r) < 0:
                raise MemoryError
        return batch

    def take_rows(self, bint all=False):
        """What take() gives until the rows that wait have gone out, without their columns."""
        cdef InUse held = self.use()
        cdef CapRows* o = self.going_rows(all)
        cdef CaptureRows rows
        cdef BatchColumns columns
        cdef TakenRows taken
        cdef int64_t first = o.first
        cdef list out = []
        if o.n == first:
            return out
        columns = self.columns(self.frame_names, self.order)
        taken = take_rows(o, &self.r.infos, self.files)
        if forget_infos(self.r) < 0:
            raise MemoryError
        while first < taken.rows.n:
            rows = CaptureRows.__new__(CaptureRows)
            rows.taken = taken
            rows.first = first
            rows.n = min(taken.rows.n - first, self.batch_rows)
            rows.columns = columns
            rows.choice = self.choice
            out.append(rows)
            first += rows.n
        return out

    def state(self, list starts=None):
        """What resume() of another reader needs to go on at `at`. No rows may wait.

        It is neither sealed nor checked for damage: amqpcodec.capture does that. starts: takes
        where each number in it begins, for tests that change them.
        """
        cdef InUse held = self.use()
        cdef StateIO io
        cdef size_t i
        cdef int status
        if self.r.rows.n or self.r.out.rows.n:
            raise ValueError("rows wait: take() them first")
        if self.n_tapped:
            raise ValueError("files that are read at once have no state")
        if self.r.named.n:
            raise ValueError("connections of which values have the bytes have no state")
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
            head = b"".join([len(part).to_bytes(4, "big") + part for part in parts])
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
        cdef InUse held = self.use()
        cdef StateIO io
        cdef int i, status = 0
        cdef int64_t[N_TRACKED] limits
        if self.r.files.begun:
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
        memcpy(limits, self.r.level.tracking.limit, sizeof(limits))
        for i in range(N_TRACKED):      # limits may be others: they hold for what is read from here on
            self.r.level.tracking.limit[i] = TRACKED_LIMIT
        if not io.bad:
            status = io_reading(&io, self.r)
        for i in range(N_TRACKED):
            self.r.level.tracking.limit[i] = limits[i]
        if status < 0 or io.bad:
            self.begin_again()
            if self.layers is not None:
                self.layers.load(b"")
            if status < 0:
                raise MemoryError
            raise ValueError("the state of the capture reader is damaged, or has more connections "
                             "than the reader's limit of open connections allows")
        if self.layers is not None and self.layers.brought:
            want_tls_port(self.r)
        if self.r.servers.detects:
            for i in range(self.r.servers.n_detected):
                want_port(&self.r.servers, self.r.servers.detected[i].port)

    cdef void begin_again(self):
        """As if nothing had been read."""
        cdef Reading* r = self.r
        cdef int k
        while r.conns.oldest != NULL:
            remove_conn(r, r.conns.oldest)
        free_parted(r)
        r.conns.translations.same = 0
        free_partials(r)
        block_give(&r.file.interfaces)
        memset(&r.file, 0, sizeof(CapFile))
        memset(&r.count, 0, sizeof(CaptureCounts))
        memset(r.v1_counts, 0, sizeof(r.v1_counts))
        free_hosts(&r.level.tracking)
        r.level.tracking.doubted = False
        memset(&r.level.tracking.counts, 0, sizeof(TrackerCounts))
        r.level.end_turn = 0
        r.level.end_rows = 0
        memset(&r.last, 0, sizeof(Mark))
        for k in range(r.n_protocols):
            memset(r.protocol[k].methods, 0, <size_t>r.protocol[k].n_descs * sizeof(uint64_t))
        r.files.slot = 0
        r.files.number = 0
        r.files.begun = False
        r.files.between = True
        r.servers.n_detected = 0
        r.servers.n_openings = 0
        self.files = FileNames()

    def stop_at(self, offset):
        """Records that begin at this offset of the file or after it are left; None: none are."""
        self.r.stop = <uint64_t>0xFFFFFFFFFFFFFFFF if offset is None else <uint64_t>offset

    def first(self, data, size_t end, bint last):
        """Where in these bytes of the file a record begins, before `end`; or -1."""
        cdef InUse held = self.use()
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
        return (<bytes>self.files.names[self.r.files.slot]).decode()

    @property
    def first_index(self):
        """The connection_index of the first connection."""
        return self.r.conns.first_index

    @first_index.setter
    def first_index(self, int32_t index):
        self.r.conns.first_index = index

    @property
    def reorder_steps(self):
        """Comparisons that keeping segments in order took so far."""
        return self.r.reorder_steps

    @property
    def begun(self):
        """Whether a file was opened, or a state taken."""
        return self.r.files.begun

    @property
    def between(self):
        """Whether no file is open: the next one follows."""
        return self.r.files.between

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

        Those since the last call, at most 65,536 of them; direction: of who sent it. counts() has how
        many there were.
        """
        cdef InUse held = self.use()
        cdef const Reset* one = <const Reset*>self.r.resets.p
        cdef size_t i
        found = []
        for i in range(self.r.n_resets):
            found.append((one[i].index, "server" if one[i].of_server else "client",
                          None if one[i].time == NO_TIME else one[i].time))
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
        for k in range(r.n_protocols):
            for i in range(r.protocol[k].n_descs):
                if r.protocol[k].methods[i]:
                    name = r.protocol[k].descs[i].name.decode()
                    methods[name] = methods.get(name, 0) + r.protocol[k].methods[i]
        skipped = {SKIP_NAMES[i]: c.skipped[i] for i in range(1, N_SKIPS) if c.skipped[i]}
        links = {link_name(i): c.links[i] for i in range(LINK_TYPES) if c.links[i]}
        foreign = {FOREIGN_NAMES[i]: c.foreign[i] for i in range(N_FOREIGN) if c.foreign[i]}
        layers = {} if self.layers is None else self.layers.counts()
        detected = detected_counts(&r.servers)
        return {
            "packets": c.packets, "octets": c.captured, "connections": c.connections,
            "versions": {name: n for name, n in versions.items() if n},
            "frames": {name: n for name, n in types.items() if n}, "methods": methods,
            "gaps": c.gaps, "lost_bytes": c.lost, "resyncs": c.resyncs, "midstream": c.midstream,
            "tls_connections": c.tls, "tls_decrypted": c.decrypted, **layers,
            "other_protocols": c.others, "other_protocol_names": foreign, "skipped_bytes": c.left_out,
            "retransmitted_bytes": c.repeated, "conflicting_bytes": c.conflicting,
            "proxied_connections": c.proxied, "translated_connections": r.conns.translations.same,
            "ip_fragments": c.fragments, "ip_reassembled": c.joined,
            "resets": c.resets, "reorder_overflows": c.overflows, "skipped": skipped,
            "unread_link_types": links,
            "detected_ports": detected if r.servers.detects else {},
            "unread_header_ports": {} if r.servers.detects else detected,
            **(event_counts(&r.level.tracking.counts) if r.level.events else {}),
        }
