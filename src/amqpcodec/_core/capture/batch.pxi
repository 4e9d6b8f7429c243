# Rows of a capture to a batch of Arrow columns: those of the frames, and those that tell where they are from.

cdef enum:
    TEXT_PAD = 32           # bytes after each text that may be copied with it
    ROWS_AT_ONCE = 256

# What rows refer to by number.
cdef struct CapNames:
    const CapInfo* info
    CapText* text           # four of each connection: its name, its two ends and whom it is for; then files
    CapText* files
    int64_t* numbers        # of the files
    const CapText* sides    # client, server
    size_t longest          # bytes


# Writes a column: n rows from row `at` on, for which there is place.
ctypedef int (*CaptureWriter)(Table* t, int k, const CapRow* row, int64_t at, int64_t n,
                              const CapNames* names) noexcept nogil

cdef CaptureWriter[N_CAPTURE_COLUMNS] CAPTURE_WRITERS
cdef uint8_t[N_CAPTURE_COLUMNS] CAPTURE_TYPES       # how what they write lies in memory


cdef int fills_rows(int k, int arrow_type, CaptureWriter writer) except -1:
    """State that code fills a column, which lies so in memory. check_columns compares."""
    CAPTURE_WRITERS[k] = writer
    CAPTURE_TYPES[k] = <uint8_t>arrow_type
    return 0


cdef int fill_flags(Table* t, int k, const CapRow* row, int64_t at, int64_t n, const CapNames* names) noexcept nogil:
    """A list's offsets lie like those of a text with one byte an item."""
    cdef Column* c = &t.column[CAP_FLAGS]
    cdef int32_t* ends = <int32_t*>c.fixed.p + 1 + at
    cdef int64_t i
    cdef int flag
    for i in range(n):
        if AMQP_UNLIKELY(row[i].flags != 0):
            for flag in range(N_CAPTURED_FLAGS):
                if row[i].flags >> flag & 1:
                    if append_item(c, <const uint8_t*>CAPTURE_FLAG_NAMES[flag], strlen(CAPTURE_FLAG_NAMES[flag])) < 0:
                        return NO_MEMORY
        ends[i] = <int32_t>c.used
    return mark_rows(c, at, n)


cdef int fill_texts(Table* t, int k, const CapRow* row, int64_t at, int64_t n, const CapNames* names) noexcept nogil:
    """A few texts, again and again: short ones are copied as they lie, with what pads them."""
    cdef Column* c = &t.column[k]
    cdef int32_t* ends = <int32_t*>c.fixed.p + 1 + at
    cdef const CapText* first = names.text
    cdef const CapText* one
    cdef const uint8_t* text
    cdef int32_t by_info = 0, by_side = 0, by_file = 0      # steps from one text to the next
    cdef size_t room = max(names.longest, <size_t>TEXT_PAD) * <size_t>n + TEXT_PAD
    cdef uint8_t* w
    cdef uint8_t* start
    cdef size_t size
    cdef int64_t i
    if k == CAP_FILE:
        first = names.files
        by_file = 1
    elif k == CAP_DIRECTION:
        first = names.sides
        by_side = 1
    else:
        by_info = 4
        if k == CAP_CLIENT:
            first += 1
        elif k != CAP_CONNECTION:
            first += 1 if k == CAP_SRC else 2
            by_side = 1 if k == CAP_SRC else -1
    if c.used + room >= c.full_at:
        if at:
            c.data_hint = c.used // <size_t>at * <size_t>c.row_hint + room
        if data_grow(t, c, room) < 0:
            return NO_MEMORY
    data_promise(c, c.used, room)
    start = c.data.p
    w = start + c.used
    for i in range(n):
        one = first + (by_info * row[i].info + by_side * row[i].server + by_file * row[i].file)
        text = <const uint8_t*>one.p
        size = one.n
        if AMQP_LIKELY(size <= TEXT_PAD):
            copy_16(w, text)
            copy_16(w + 16, text + 16)
        else:
            memcpy(w, text, size)
        w += size
        ends[i] = <int32_t>(w - start)
    c.used = <size_t>(w - start)
    return mark_rows(c, at, n)


cdef int fill_peers(Table* t, int k, const CapRow* row, int64_t at, int64_t n, const CapNames* names) noexcept nogil:
    """Null where no proxy said it."""
    cdef const CapText* one
    cdef int64_t i
    for i in range(n):
        one = &names.text[4 * row[i].info + 3]
        if one.n and append_bytes(t, &t.column[k], at + i, one.p, one.n) < 0:
            return NO_MEMORY
    return 0


cdef int fill_times(Table* t, int k, const CapRow* row, int64_t at, int64_t n, const CapNames* names) noexcept nogil:
    """Null where the file has none."""
    cdef Column* c = &t.column[k]
    cdef int64_t* out = <int64_t*>c.fixed.p + at
    cdef int64_t i, time
    cdef bint all_ = c.filled == at
    for i in range(n):
        time = row[i].last_time if k == CAP_TIMESTAMP_LAST else row[i].first_time
        all_ &= time != NO_TIME
        out[i] = time if k == CAP_TIMESTAMP_NS else coarser_time(time, 1000)
    if all_:
        return mark_rows(c, at, n)
    for i in range(n):
        time = row[i].last_time if k == CAP_TIMESTAMP_LAST else row[i].first_time
        if time != NO_TIME and append_i64(c, at + i, time if k == CAP_TIMESTAMP_NS else coarser_time(time, 1000)) < 0:
            return NO_MEMORY
    return 0


cdef int fill_smalls(Table* t, int k, const CapRow* row, int64_t at, int64_t n, const CapNames* names) noexcept nogil:
    cdef int32_t* out = <int32_t*>t.column[k].fixed.p + at
    cdef int64_t i
    for i in range(n):
        out[i] = row[i].position if k == CAP_POSITION else names.info[row[i].info].index
    return mark_rows(&t.column[k], at, n)


cdef int fill_packets(Table* t, int k, const CapRow* row, int64_t at, int64_t n, const CapNames* names) noexcept nogil:
    """Where the first packet of a row is: its number, or its offset in the file."""
    cdef int64_t* out = <int64_t*>t.column[k].fixed.p + at
    cdef int64_t i
    for i in range(n):
        out[i] = <int64_t>(row[i].packet if k == CAP_PACKET else row[i].packet_at)
    return mark_rows(&t.column[k], at, n)


cdef int fill_file_indexes(Table* t, int k, const CapRow* row, int64_t at, int64_t n,
                           const CapNames* names) noexcept nogil:
    cdef int64_t* out = <int64_t*>t.column[k].fixed.p + at
    cdef int64_t i
    for i in range(n):
        out[i] = names.numbers[row[i].file]
    return mark_rows(&t.column[k], at, n)


fills_rows(CAP_FILE, AS_TEXT, fill_texts)
fills_rows(CAP_CONNECTION, AS_TEXT, fill_texts)
fills_rows(CAP_CONNECTION_INDEX, AS_INT32, fill_smalls)
fills_rows(CAP_DIRECTION, AS_TEXT, fill_texts)
fills_rows(CAP_TIMESTAMP, AS_INT64, fill_times)
fills_rows(CAP_TIMESTAMP_LAST, AS_INT64, fill_times)
fills_rows(CAP_SRC, AS_TEXT, fill_texts)
fills_rows(CAP_DST, AS_TEXT, fill_texts)
fills_rows(CAP_PACKET_OFFSET, AS_INT64, fill_packets)
fills_rows(CAP_POSITION, AS_INT32, fill_smalls)
fills_rows(CAP_FLAGS, AS_TEXT, fill_flags)
fills_rows(CAP_TIMESTAMP_NS, AS_INT64, fill_times)
fills_rows(CAP_PACKET, AS_INT64, fill_packets)
fills_rows(CAP_FILE_INDEX, AS_INT64, fill_file_indexes)
fills_rows(CAP_PEER, AS_TEXT, fill_peers)
fills_rows(CAP_TIME_US, AS_INT64, fill_times)
fills_rows(CAP_CLIENT, AS_TEXT, fill_texts)


def check_columns(tuple columns):
    """Refuse columns that no code fills. The module does so when it is loaded.

    columns: as CAPTURE_COLUMNS. Raises ImportError."""
    cdef int k
    for k, (name, format_, _, _) in enumerate(columns):
        if CAPTURE_WRITERS[k] == NULL or CAPTURE_TYPES[k] != capture_type(format_):
            raise ImportError(f"no code fills the column {name!r} of captures as {format_!r}: "
                              f"see docs/design.md, a column")


check_columns(CAPTURE_COLUMNS)


cdef int fill_capture_columns(Table* t, const CapRow* row, int64_t n, const CapNames* names) noexcept nogil:
    """The columns that were asked for, of some rows after the other, which the processor's cache holds."""
    cdef int64_t at = 0, some
    cdef int k
    for k in range(N_CAPTURE_COLUMNS):
        if t.column[k].asked and column_grow(&t.column[k], n) < 0:
            return NO_MEMORY
    while at < n:
        some = min(n - at, <int64_t>ROWS_AT_ONCE)
        for k in range(N_CAPTURE_COLUMNS):
            if t.column[k].asked and CAPTURE_WRITERS[k](t, k, row + at, at, some, names) < 0:
                return NO_MEMORY
        at += some
    return 0


# Padded, as all texts are.
cdef const char* CLIENT_SIDE = b"client\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
cdef const char* SERVER_SIDE = b"server\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"


cdef bytes peer_text(const Peer* peer):
    """Empty where there is none, or no address of the family that the proxy names."""
    import ipaddress
    raw = peer.address[:peer.n]
    is_text = peer.form == PEER_TEXT4 or peer.form == PEER_TEXT6
    if peer.form == PEER_NONE or b"%" in raw and is_text:   # a scope is no part of an address on the wire
        return b""
    try:
        if peer.form == PEER_TEXT4 or peer.form == PEER_IPV4:
            return f"{ipaddress.IPv4Address(raw.decode('ascii') if is_text else raw)}:{peer.port}".encode()
        return f"[{ipaddress.IPv6Address(raw.decode('ascii') if is_text else raw)}]:{peer.port}".encode()
    except ValueError:
        return b""


@cython.final
cdef class CaptureBatch(StructArray):
    """A struct array of the rows of a capture, in Arrow's C Data Interface.

    pyarrow.record_batch(batch), polars.from_arrow(batch) and the like take it without a copy.
    """

    cdef Columns frames
    cdef Table* table
    cdef bint events            # they are of event level
    cdef list order             # number of a column of captures, or -1 for the next one of frames

    def __init__(self):
        raise TypeError("batches are made by amqpcodec.capture.read")

    def __dealloc__(self):
        table_drop(self.table)

    cdef str public_name(self):
        return "capture.Batch"

    def __len__(self):
        return 0 if self.frames is None else self.frames.table.rows

    @property
    def errors(self):
        """Rows with an error, as far as the column error was asked for."""
        return 0 if self.frames is None or self.events else self.frames.table.column[COL_ERROR].present

    def __arrow_c_array__(self, requested_schema=None):
        """The Arrow schema and array, a struct, in two PyCapsules; as often as one likes.

        requested_schema is not followed: there is one type for each column.
        """
        cdef object schema = schema_capsule(self.columns)
        cdef ArrowArray* a = NULL
        cdef object array = array_capsule(&a)
        cdef int i, k, status = 0, next_frame = 0
        if begin_array(self.frames.table, a, len(self.order)) < 0:
            raise MemoryError
        a.n_buffers = 1
        for i in range(<int>len(self.order)):
            k = self.order[i]
            if k < 0:
                status = export_column(self.frames.table, self.frames.order[next_frame], a.children[i])
                next_frame += 1
            else:
                status = export_column(self.table, k, a.children[i])
            if status < 0:
                raise MemoryError
        return schema, array


cdef bint _is_unknown(FramePlan plan, str name):
    """Whether a name without a member or a type is of no column of frames."""
    return "." not in name and ":" not in name and name not in plan.fixed and name not in plan.arguments


cdef tuple choose_capture_columns(FramePlan plan, str level, object fields):
    """(names of columns of frames or events, the order of all as CaptureBatch has it)."""
    if level == "event":
        return choose_event_columns(fields)
    own = {column[0]: i for i, column in enumerate(CAPTURE_COLUMNS)}
    if fields is None:
        columns = plan.message_columns if level == "message" else plan.columns
        frames = [column[0] for column in columns if column[0] != "row"]
        order = [k for k, column in enumerate(CAPTURE_COLUMNS) if column[3]] + [-1] * len(frames)
        return frames, order
    if isinstance(fields, (str, bytes)):
        raise TypeError(f"fields takes names of columns in a list, not {type(fields).__name__}")
    fields = list(map(as_text, fields))
    seen = set()
    for name in fields:
        if name == "row":
            raise ValueError("a capture has no column 'row'; packet_offset and position say where a frame is")
        if name in own and name in seen:
            raise ValueError(f"fields names {name!r} twice")
        if name in own:
            seen.add(name)
        elif isinstance(name, str) and _is_unknown(plan, name):
            raise unknown_column(plan, LEVEL_MESSAGE if level == "message" else LEVEL_FRAME, name, tuple(own))
    frames = [name for name in fields if not (isinstance(name, str) and name in own)]
    return frames, [own.get(name, -1) if isinstance(name, str) else -1 for name in fields]


cdef uint8_t* row_versions(const CapRows* o, const CapRow* row, int64_t n) except? NULL:
    """Numbers of the rows' protocols, or NULL where all are 0."""
    cdef uint8_t* version
    cdef int64_t i
    if o.versions == 0:
        return NULL
    version = <uint8_t*>malloc(<size_t>n)
    if version == NULL:
        raise MemoryError
    for i in range(n):
        version[i] = row[i].version
    return version


@cython.final
@cython.internal
cdef class BatchColumns:
    """The columns of a batch, and the protocols that its rows are of."""

    cdef object protocol
    cdef tuple others           # from number 1 on
    cdef Request request        # of columns of frames; None at event level
    cdef list events            # names of columns of events; None at other levels
    cdef list order             # of all, as CaptureBatch has it


cdef int fill_frames(CaptureBatch out, BatchColumns columns, CapRows* o, int64_t first, int64_t n, bint lend) except -1:
    """The columns of frames. lend: the bytes of rows may become the batch's, no other one needs them."""
    cdef DecodeJob job = DecodeJob.__new__(DecodeJob)
    cdef Values values
    cdef uint8_t* versions
    memset(&values, 0, sizeof(values))
    values.n = n
    values.at = first
    values.ends = <int64_t*>o.end.p
    values.data = o.data.p
    values.last = <uint64_t>values.ends[first + n]
    values.lost = <uint64_t*>o.lost.p
    versions = row_versions(o, <const CapRow*>o.row.p + first, n)
    values.version = versions
    try:
        job.protocol, job.others, job.request, job.out = columns.protocol, columns.others, columns.request, out.frames
        job.mode = PERMISSIVE
        job.reading = reading_mode(RABBITMQ, PLAIN, ERROR)
        job.borrow = lend
        fill_columns(job, &values)
    finally:
        free(versions)
    if out.frames.table.column[COL_FRAME].borrowed != NULL:
        out.frames.table.input = o.data     # the frames lie there; the next rows get another block
        memset(&o.data, 0, sizeof(Block))
    if out.frames.table.rows != n:
        raise RuntimeError(f"{n} frames became {out.frames.table.rows} rows")
    return 0


cdef list name_texts(const CapInfos* infos, FileNames files):
    """Four texts of each connection (its id, both ends, the peer), and the names of files."""
    cdef const CapInfo* info = <const CapInfo*>infos.block.p
    cdef list texts = []
    cdef int i
    for i in range(<int>infos.n):
        texts.append(f"{info[i].id:016x}".encode())
        texts.append(end_text(&info[i].client, info[i].family))
        texts.append(end_text(&info[i].server, info[i].family))
        texts.append(peer_text(&info[i].peer) if info[i].peer.form else b"")
    texts.extend(files.names)
    return texts


cdef int fill_captured(CaptureBatch out, const CapRow* row, int64_t n, const CapInfos* infos,
                       FileNames files) except -1:
    """The columns that captures alone have."""
    cdef CapNames names
    cdef CapText[2] sides
    cdef int i, status = 0, n_files = <int>len(files.names)
    cdef list texts = name_texts(infos, files)
    names.info = <const CapInfo*>infos.block.p
    names.text = <CapText*>calloc(<size_t>len(texts) + 1, sizeof(CapText))
    names.numbers = <int64_t*>calloc(<size_t>n_files + 1, sizeof(int64_t))
    names.longest = 0
    try:
        if names.text == NULL or names.numbers == NULL:
            raise MemoryError
        names.files = names.text + 4 * infos.n
        for i in range(n_files):
            names.numbers[i] = files.numbers[i]
        for i in range(<int>len(texts)):
            names.longest = max(names.longest, <size_t>len(<bytes>texts[i]))
            names.text[i].n = <size_t>len(<bytes>texts[i])
            texts[i] += bytes(TEXT_PAD)
            names.text[i].p = PyBytes_AS_STRING(<bytes>texts[i])
        sides[0].p = CLIENT_SIDE
        sides[1].p = SERVER_SIDE
        sides[0].n = sides[1].n = 6
        names.sides = sides
        with nogil:
            status = fill_capture_columns(out.table, row, n, &names)
            if status == 0:
                status = table_finish(out.table, n)
        if status < 0:
            raise MemoryError
    finally:
        free(names.text)
        free(names.numbers)
    return 0


cdef CaptureBatch make_batch(BatchColumns columns, CapRows* o, int64_t first, int64_t n, const CapInfos* infos,
                             FileNames files, bint lend):
    """n of the rows that wait. lend: see fill_frames."""
    cdef CaptureBatch out = CaptureBatch.__new__(CaptureBatch)
    cdef const CapRow* row = <const CapRow*>o.row.p + first
    cdef tuple chosen
    cdef int k
    out.table = table_new(N_CAPTURE_COLUMNS, 0x7FFFFFFF)
    if out.table == NULL:
        raise MemoryError
    begin_lists(&out.table.column[CAP_FLAGS])
    out.events = columns.events is not None
    if out.events:
        out.frames = fill_events(columns.events, o, first, n, infos)
        chosen = out.frames.columns
    else:
        out.frames = new_columns(columns.request, 0x7FFFFFFF)
        chosen = columns.request.schema
        fill_frames(out, columns, o, first, n, lend)
    for k in range(N_CAPTURE_COLUMNS):
        out.table.column[k].nullable = CAPTURE_COLUMNS[k][2]
        out.table.column[k].asked = k in columns.order
        out.table.column[k].row_hint = n
        out.table.column[k].arrow_type = CAPTURE_TYPES[k]
    fill_captured(out, row, n, infos, files)
    out.order = columns.order
    out.columns = capture_columns(chosen, columns.order)
    return out


@cython.final
@cython.internal
cdef class Choice:
    """Which rows get columns: see CaptureReader.choose."""

    cdef object wanted
    cdef BatchColumns columns


cdef int copy_wanted(const CapRows* o, int64_t first, int64_t n, const uint8_t* wanted, CapRows* to) noexcept nogil:
    """The rows with a byte that is not 0, after those that are there."""
    cdef int64_t i = 0, k
    while i < n:
        k = i
        while k < n and wanted[k]:
            k += 1
        if k > i:
            if reserve_rows(to, k - i, rows_size(o, first + i, k - i)) < 0:
                return NO_MEMORY
            copy_rows(o, first + i, k - i, to)
        i = k + 1
    return 0


cdef CaptureBatch make_chosen_batch(BatchColumns columns, CapRows* o, int64_t first, int64_t n,
                                    const CapInfos* infos, FileNames files, bint lend, Choice choice):
    """As make_batch(), of the rows that are wanted; it may have none."""
    cdef CapRows chosen
    cdef Py_buffer judged
    cdef int status = 0
    if choice is None:
        return make_batch(columns, o, first, n, infos, files, lend)
    looked = make_batch(choice.columns, o, first, n, infos, files, False)
    memset(&chosen, 0, sizeof(CapRows))
    chosen.versions = o.versions
    PyObject_GetBuffer(choice.wanted(looked), &judged, PyBUF_SIMPLE)
    try:
        if judged.len != n:
            raise ValueError(f"of {n} rows, {judged.len} were judged")
        with nogil:
            status = more_rows(&chosen, 1)     # there is an end also of no rows
            if status == 0:
                status = copy_wanted(o, first, n, <const uint8_t*>judged.buf, &chosen)
        if status < 0:
            raise MemoryError
        return make_batch(columns, &chosen, 0, chosen.n, infos, files, True)
    finally:
        PyBuffer_Release(&judged)
        rows_free(&chosen)


cdef class TakenRows:
    """All rows that waited in a reader, which has none of them any more."""

    cdef CapRows rows
    cdef CapInfos infos
    cdef FileNames files

    def __dealloc__(self):
        rows_free(&self.rows)
        block_give(&self.infos.block)


cdef TakenRows take_rows(CapRows* o, const CapInfos* infos, FileNames files):
    cdef TakenRows out = TakenRows.__new__(TakenRows)
    cdef size_t size = infos.n * sizeof(CapInfo), hint = hint_after(o)
    if block_room(&out.infos.block, 0, size) < 0:
        raise MemoryError
    memcpy(out.infos.block.p, infos.block.p, size)
    out.infos.n = infos.n
    out.files = files.copy()
    out.rows = o[0]
    memset(o, 0, sizeof(CapRows))
    o.hint = hint
    return out


@cython.final
cdef class CaptureRows:
    """Rows of a batch before its columns are made, which any thread may do."""

    cdef TakenRows taken
    cdef int64_t first
    cdef int64_t n
    cdef BatchColumns columns
    cdef Choice choice
    cdef CaptureBatch batch

    def __init__(self):
        raise TypeError("rows are taken out of readers")

    def __len__(self):
        return self.n

    def fill(self):
        """The batch, made by the first call. One thread at a time."""
        if self.batch is None:
            if self.taken is None:
                raise ValueError("no rows")
            self.batch = make_chosen_batch(self.columns, &self.taken.rows, self.first, self.n, &self.taken.infos,
                                           self.taken.files, self.n == self.taken.rows.n, self.choice)
            self.taken = None
        return self.batch


cdef tuple CAPTURE_SCHEMA = tuple([
    (name, format_, (("item", "u", ()),) if format_ == "+l" else ()) for name, format_, _, _ in CAPTURE_COLUMNS])


cdef tuple capture_columns(tuple chosen, list order):
    """(name, format, children) of all columns, in order."""
    cdef list columns = []
    frames = iter(chosen)
    for k in order:
        columns.append(next(frames) if k < 0 else CAPTURE_SCHEMA[k])
    return tuple(columns)


def capture_schema(protocol, fields, str level not None="frame",
                   str field_tables not None="json"):
    """See amqpcodec.capture.schema."""
    cdef Schema schema = Schema.__new__(Schema)
    cdef FramePlan plan = frame_plan(protocol)
    frames, order = choose_capture_columns(plan, level, fields)
    if level == "event":
        chosen = tuple([EVENT_SCHEMA[name] for name in frames])
    else:
        chosen = find_request(protocol, level, frames, "plain", field_tables).schema
    schema.columns = capture_columns(chosen, order)
    return schema
