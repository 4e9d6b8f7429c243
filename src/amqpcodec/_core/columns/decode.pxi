# What batch.py calls: input in, columns out.

def columns_schema(protocol, fields, str level not None="frame",
                   str layout not None="plain", str field_tables not None="json"):
    """See amqpcodec.batch.schema."""
    cdef Schema schema = Schema.__new__(Schema)
    schema.columns = find_request(protocol, level, fields, layout, field_tables).schema
    return schema


cdef Columns new_columns(Request request, int64_t limit):
    """Columns without rows."""
    cdef Columns out = Columns.__new__(Columns)
    cdef Column* c
    cdef int i
    out.table = table_new(request.n, limit)
    out.n = request.n_out
    out.order = <int*>calloc(<size_t>max(out.n, 1), sizeof(int))
    if out.table == NULL or out.order == NULL:
        raise MemoryError
    out.columns = request.schema
    memcpy(out.order, request.order, <size_t>out.n * sizeof(int))
    for i in range(request.n):
        c = &out.table.column[i]
        c.arrow_type = request.arrow_type[i]
        c.nullable = i < request.made and (i >= N_COLUMNS or NULLABLE[i])
        c.asked = request.asked[i]
        c.form = request.form[i]
        if c.form == FORM_VARIANT:
            c.first = request.first[i]
            c.n_children = 2
        elif c.form == FORM_MAP:
            c.items = items_new(limit)
            if c.items == NULL:
                raise MemoryError
    for _, at, first, children in request.structs:
        c = &out.table.column[<int>at]
        c.first = first
        c.n_children = <int>len(children)
    return out


cdef int add_protocol(ProtocolPlan* to, object core, Request request) except -1:
    """core: a Protocol or V1Core."""
    cdef Protocol protocol
    to.name = PyBytes_AS_STRING(request.plan.keep[0])
    to.methods = request.plan.method
    to.targets = request.targets
    to.target = request.target
    to.picked = request.picked
    to.masks = request.masks
    to.v1_steps = request.v1_steps
    to.v1 = request.plan.v1
    if to.v1 != NULL:
        return 0
    protocol = <Protocol?>core
    to.descs = protocol.descs.desc
    to.slot = protocol.slot
    to.slot_mask = protocol.slot_mask
    to.contents = protocol.contents
    to.n_contents = protocol.n_contents
    return 0


cdef void set_columns(Sink* s, Request request, Table* t):
    """Which columns are asked for."""
    cdef int i
    s.table = t
    s.columns.sizes = request.sizes
    for i in range(N_COLUMNS):
        if t.column[i].asked:
            s.asked[i] = &t.column[i]
            if BLOCK_WRITERS[i] != NULL:
                s.columns.written[s.columns.n_written] = <uint8_t>i
                s.columns.n_written += 1
    s.columns.picks = request.picks
    s.columns.wants = request.wants
    s.columns.wanted = request.wanted
    s.columns.n_wanted = request.n_wanted
    s.columns.any_property = request.any_property


cdef void set_input(Sink* s, const Values* values, bint borrow, bint views) noexcept nogil:
    cdef SinkInput* to = &s.input
    to.borrow = borrow
    to.total = values.last - (value_end(values, 0) if values.n else 0)
    to.end = values.data + values.last
    to.v1_end = to.end - min(to.total, <uint64_t>COPY_SLACK)
    if s.options.fast:
        to.fast_end = to.v1_end
    if borrow and views:
        s.table.base = to.end - to.total
        s.table.base_n = to.total


cdef int set_messages(Sink* s, Request request, bint has_links) except -1:
    """Set up what joins frames to messages. has_links: frames of AMQP 1.0 may come."""
    s.assembly = assembly_new()
    if s.assembly == NULL:
        raise MemoryError
    if has_links:
        s.links = v1_links_new()
        if s.links == NULL:
            raise MemoryError
    s.sections.own_columns = request.plan.v1 != NULL
    if s.sections.own_columns:
        s.sections.mask = v1_wanted_sections(s)
    # Runs write no text of their own: JSON and columns of several frames are not for them.
    s.options.runs = s.options.fast and s.table.base != NULL and not request.texts
    if s.options.runs and s.asked[COL_METHOD] != NULL:
        s.columns.names = <uint8_t*>calloc(<size_t>max(request.plan.count, 1), 16)
        if s.columns.names == NULL:
            raise MemoryError
    return 0


cdef int raise_status(const Sink* s, int status, Request request, list progress) except -1:
    """What a decode that ended early raises."""
    if status == FAILED:
        error = fault_error(&s.fault, s.protocol.v1 != NULL)
        error.row = s.fault_row
        error.args = (f"row {s.fault_row}: {error.args[0]}",)
        raise error
    if status == COLUMN_FULL:
        raise ValueError(f"a column would hold more than {s.table.limit} bytes, which its int32 offsets "
                         f"do not reach: {request.names[s.table.full]}; decode the input in pieces")
    if status == STOPPED:
        raise progress[1]
    if status == BAD_OFFSETS:
        raise ValueError("the offsets of the Arrow array go backward")
    raise MemoryError


@cython.final
cdef class DecodeJob:
    """One decode: the columns that it fills, from frames of which protocols, and how."""


cdef int fill_columns(DecodeJob job, Values* values) except -1:
    cdef Request request = job.request
    cdef Table* t = job.out.table
    cdef int i, n_others = 0 if job.others is None else <int>len(job.others)
    cdef Block memory
    cdef Sink* s
    cdef int status
    memset(&memory, 0, sizeof(memory))
    if block_room(&memory, 0, sizeof(Sink)) < 0:    # of the pool: it is as large as a malloc is slow
        raise MemoryError
    s = <Sink*>memory.p
    memset(s, 0, sizeof(Sink) - sizeof(s.run) - sizeof(s.headers) - sizeof(s.block))    # which come last
    s.run.reader = NULL
    s.headers.n = s.headers.misses = 0
    if values.data == NULL:
        values.data = &NO_BYTES
    try:
        set_columns(s, request, t)
        s.options.check = job.mode != PERMISSIVE or s.asked[COL_ERROR] != NULL or s.asked[COL_ERROR_OFFSET] != NULL
        s.options.fast = request.plan.v1 == NULL and (<Protocol?>job.protocol).fast
        s.options.mode = job.mode
        s.options.reading = job.reading
        s.options.shapes = SHAPES[job.reading & MODE_LETTER]
        add_protocol(&s.protocol_plan[0], job.protocol, request)
        for i in range(n_others):
            add_protocol(&s.protocol_plan[i + 1], job.others[i], related_request(request, job.others[i]))
        select_protocol(s, 0)
        s.c.fault = &s.fault
        set_input(s, values, job.borrow, request.views)
        if job.progress is not None:
            s.input.progress = <PyObject*>job.progress
            s.input.told = TOLD_EVERY
        if s.columns.n_wanted:
            s.columns.found = <const uint8_t**>calloc(<size_t>s.columns.n_wanted, sizeof(uint8_t*))
            if s.columns.found == NULL:
                raise MemoryError
        if request.tables == FORM_VARIANT:
            s.variants = <Variants*>calloc(1, sizeof(Variants))
            if s.variants == NULL:
                raise MemoryError
        if request.level == LEVEL_MESSAGE:
            set_messages(s, request, request.plan.v1 != NULL or n_others > 0)
        if job.held is not None and s.links != NULL:
            begin_passing(s, job.held)
        with nogil:
            status = decode_values(s, values) if s.assembly == NULL else decode_messages(s, values)
            if status == 0:
                update_sizes(s)
        if status < 0:
            raise_status(s, status, request, job.progress)
        if job.held is not None:
            job.out.open_messages = export_open(s)
        if job.progress is not None and (s.input.total == 0 or s.input.told != s.input.total + TOLD_EVERY):
            job.progress[0](s.input.total, s.input.total)   # which the last block did not tell
    finally:
        assembly_drop(s.assembly)
        v1_links_drop(s.links)
        variants_drop(s.variants)
        free(s.columns.found)
        free(s.columns.names)
        block_give(&memory)
    return 0


def decode_columns(protocol, data, fields, str mode not None, dialect,
                   int64_t limit=0x7FFFFFFF, str level not None="frame", str layout not None="plain",
                   str field_tables not None="json", groups=None, list held=None, on_progress=None):
    """See amqpcodec.batch.decode. limit: bytes that a column may have (tests lower it).

    groups, at message level: None: each value holds whole messages; True: a message may go on in
    later values; a buffer of int32, a number a value from 0 on: in later values with the same one.
    held: None, or links as ``held`` of the columns before gave them: what is open at the end is
    then no row, but in ``held`` of the columns.
    """
    cdef DecodeJob job = DecodeJob.__new__(DecodeJob)
    job.protocol = protocol
    job.request = find_request(protocol, level, fields, layout, field_tables)
    job.reading = reading_mode(dialect, PLAIN, ERROR)
    job.borrow = True
    job.groups, job.held = groups, held
    if on_progress is not None:
        job.progress = [on_progress]
    if mode not in BAD_ROW_MODES:
        raise ValueError(f"mode is {', '.join(map(repr, BAD_ROW_MODES))}, not {mode!r}")
    job.mode = BAD_ROW_MODES[mode]
    job.out = new_columns(job.request, limit)
    if hasattr(data, "__arrow_c_array__"):
        schema, array = data.__arrow_c_array__()
        if is_plain(schema):
            fill_from_array(job, schema, array)
        else:
            fill_from_gathered(job, schema, array)
    elif isinstance(data, str):
        raise TypeError("takes bytes or an Arrow binary array, not str")
    elif hasattr(data, "__arrow_c_stream__"):
        fill_from_gathered(job, None, data.__arrow_c_stream__())
    else:
        fill_from_buffer(job, data)
    return job.out


cdef int fill_from_array(DecodeJob job, object schema, object array) except -1:
    """A plain binary array. The bytes are copied into memory of the table's."""
    cdef Values values
    cdef Block index
    memset(&index, 0, sizeof(index))
    try:
        read_values(schema, array, &values, &job.out.table.input, &index)
        fill_from_values(job, &values)
    finally:
        block_give(&index)
    return 0


cdef int fill_from_values(DecodeJob job, Values* values) except -1:
    """Values whose bytes are the table's input, which is given back where no column needs it."""
    cdef Table* t = job.out.table
    cdef Block order
    memset(&order, 0, sizeof(order))
    values.whole = job.groups is None
    values.hold = job.held is not None
    try:
        if job.groups is not None and job.groups is not True:
            read_groups(job.groups, values, &order)
        fill_columns(job, values)
        if t.column[COL_FRAME].borrowed == NULL and not t.referred:
            block_give(&t.input)
    finally:
        block_give(&order)
    return 0


cdef int fill_from_gathered(DecodeJob job, object schema, object array) except -1:
    """schema: of one array; None: array is a stream. The bytes are copied into memory of the table's."""
    cdef Table* t = job.out.table
    cdef Gathered g
    cdef SourceTree tree
    cdef Values values
    memset(&g, 0, sizeof(g))
    memset(&values, 0, sizeof(values))
    g.data = &t.input
    try:
        if schema is None:
            gather_stream(&g, array)
        elif not PyCapsule_IsValid(array, "arrow_array"):
            raise TypeError("__arrow_c_array__ must return the capsules arrow_schema and arrow_array")
        else:
            tree = SourceTree()
            describe_binary(tree, <ArrowSchema*>PyCapsule_GetPointer(schema, "arrow_schema"))
            gather_chunk(&g, tree, <ArrowArray*>PyCapsule_GetPointer(array, "arrow_array"))
        values.n = g.n
        values.valid = g.present.p
        values.ends = <const int64_t*>g.ends.p
        values.data = t.input.p
        values.last = g.used
        fill_from_values(job, &values)
    finally:
        block_give(&g.ends)
        block_give(&g.present)
    return 0


cdef int fill_from_buffer(DecodeJob job, object data) except -1:
    """One value: bytes, or a copy of what others may write to. Groups and what was held are of arrays alone."""
    cdef Table* t = job.out.table
    cdef Py_buffer view
    cdef Values values
    cdef int64_t[2] ends
    cdef object owner = data.obj if type(data) is memoryview else data
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        memset(&values, 0, sizeof(values))
        values.n = 1
        values.data = <const uint8_t*>view.buf
        values.last = <uint64_t>view.len
        values.ends = ends
        ends[0] = 0
        ends[1] = view.len
        if type(owner) is not bytes and view.len:
            # Others may write to it while the GIL is away: what was checked must not change.
            if block_room(&t.input, 0, <size_t>view.len) < 0:
                raise MemoryError
            memcpy(t.input.p, view.buf, <size_t>view.len)
            values.data = t.input.p
        job.held = None
        fill_columns(job, &values)
        if t.column[COL_FRAME].borrowed == NULL and not t.referred:
            block_give(&t.input)
        elif t.input.p == NULL:
            t.owner = Py_NewRef(<PyObject*>owner)
    finally:
        PyBuffer_Release(&view)
    return 0


def release_memory():
    """See amqpcodec.batch.release_memory."""
    cdef size_t held = pool_bytes()
    pool_clear()
    return held - min(held, pool_bytes())


def limit_memory(Py_ssize_t limit):
    """See amqpcodec.batch.limit_memory."""
    if limit < 0:
        raise ValueError(f"a limit of memory is 0 or more bytes, not {limit}")
    return pool_set_limit(<size_t>limit)


def kept_memory():
    """See amqpcodec.batch.kept_memory."""
    return pool_bytes()
