# Columns to frames: a struct array of messages becomes a binary array, one value a message.

cdef enum:
    VALUES = 0              # columns of the table
    ERRORS = 1


cdef int begin_encoder(Encoder* e, object plan, Table* t, object frame_max, uintptr_t mode,
                       bint fail_fast) except -1:
    e.table = t
    e.out = &t.column[VALUES]
    e.errors = &t.column[ERRORS]
    e.frame_max = <uint64_t>parse_frame_max(frame_max)
    e.mode = mode
    e.fail_fast = fail_fast
    buffer_truncate(&e.scratch, 0)
    if isinstance(plan, EncodePlan):
        begin_legacy(e, <EncodePlan>plan)
    else:
        v1e_begin(e, <V1EncodePlan>plan)
    return 0


cdef void begin_legacy(Encoder* e, EncodePlan plan) noexcept:
    """What the 0-x family adds."""
    cdef Protocol protocol = plan.protocol
    e.fast_plan = plan.fast_plan
    plan.fast_plan = NULL
    e.sources.root = &plan.tree.root
    e.sources.channel = plan.channel
    e.default_channel = 1
    e.sources.method = plan.method
    e.sources.arguments = plan.arguments
    e.sources.properties_json = plan.properties_json
    e.sources.body = plan.body
    e.sources.error = plan.error
    e.sources.argument = plan.argument
    e.sources.n_arguments = plan.n_arguments
    e.sources.properties = plan.property_
    e.sources.n_properties = plan.n_properties
    e.sources.header = plan.header
    e.sources.n_headers = plan.n_headers
    e.protocol.methods = plan.methods
    e.protocol.name_slot = plan.name_slot
    e.protocol.name_mask = plan.name_mask
    e.protocol.descs = protocol.descs.desc
    e.protocol.contents = protocol.contents
    e.protocol.n_contents = protocol.n_contents
    e.protocol.publish = method_named(e.protocol.name_slot, e.protocol.name_mask, e.protocol.descs,
                                      <const uint8_t*>b"basic.publish", 13)
    e.fast = protocol.fast


cdef int end_legacy(Encoder* e, EncodePlan plan) except -1:
    """All rows are done: the plan goes back."""
    plan.fast_plan = e.fast_plan
    e.fast_plan = NULL
    return return_plan(plan)


cdef object encode_plan(object protocol, Buffer* scratch, const ArrowSchema* schema, object given):
    """Which column is what."""
    if isinstance(protocol, Protocol):
        return borrow_plan(<Protocol>protocol, scratch, schema, given)
    if schema.release == NULL:
        raise ValueError("the Arrow schema was released already")
    return V1EncodePlan.__new__(V1EncodePlan, tree_of(schema, given), protocol)


cdef int raise_refusal(Encoder* e) except -1:
    """FAILFAST: the first row that cannot be encoded."""
    cdef char[FAULT_TEXT_SIZE] text
    cdef int n = fault_text(&e.fault, False, text, FAULT_TEXT_SIZE)
    column = None if e.fault.column == NULL else e.fault.column.decode("utf-8", "replace")
    place = f"row {e.rows}: " if column is None else f"row {e.rows}, column {column}: "
    raise EncodeError(
        place + text[:n].decode("utf-8", "replace"),
        method=place_name(e.fault.at.method), field=place_name(e.fault.at.field), row=e.rows, column=column)


cdef int encode_status(Encoder* e, int status) except -1:
    if status == FAILED:
        raise_refusal(e)
    if status == COLUMN_FULL:
        raise ValueError(f"the messages would take more than {e.table.limit} bytes, which the int32 "
                         "offsets of one array do not reach: encode fewer rows at a time")
    if status == BAD_OFFSETS:
        raise ValueError("offsets or indices of the Arrow array point outside of it")
    if status < 0:
        raise MemoryError
    return 0


cdef int encode_array(Encoder* e, const ArrowArray* a) except -1:
    """The rows of one array after those that are done."""
    cdef int status
    if a.release == NULL:
        raise ValueError("the Arrow array was released already")
    bind_source(<Source*>e.sources.root, a, 0, a.length)
    e.total = e.rows + a.length
    with nogil:
        status = encode_all_rows(e, a.length) if e.v1 == NULL else v1e_rows(e, a.length)
    encode_status(e, status)
    e.rows += a.length
    return 0


cdef int encode_stream(Encoder* e, ArrowArrayStream* stream) except -1:
    """Every array of a stream; the stream stays its owner's."""
    cdef ArrowArray a
    while next_array(stream, &a):
        try:
            encode_array(e, &a)
        finally:
            a.release(&a)
    return 0


def encode_columns(protocol not None, columns, frame_max, str mode not None, dialect,
                   int64_t limit=0x7FFFFFFF):
    """See amqpcodec.batch.encode. limit: bytes that the array may have (tests lower it)."""
    cdef Encoded out = Encoded.__new__(Encoded)
    cdef Encoder* e
    cdef object plan                # outlives what e borrows of it
    cdef ArrowSchema schema
    cdef ArrowArrayStream* stream
    cdef uintptr_t writing = 0
    if isinstance(protocol, Protocol):
        writing = mode_of(<Protocol>protocol, dialect)
    elif not isinstance(protocol, V1Core):
        raise TypeError(f"takes a Protocol or V1Protocol, not {type(protocol).__name__}")
    elif dialect is not None:
        raise ValueError("AMQP 1.0 has no dialects")
    if mode not in ("PERMISSIVE", "FAILFAST"):
        raise ValueError(f"mode is 'PERMISSIVE' or 'FAILFAST' here, not {mode!r}: there is one value a row")
    out.table = table_new(2, limit)
    if out.table == NULL:
        raise MemoryError
    out.table.column[VALUES].arrow_type = out.table.column[ERRORS].arrow_type = AS_TEXT
    out.table.column[VALUES].nullable = out.table.column[ERRORS].nullable = True
    out.table.column[VALUES].asked = out.table.column[ERRORS].asked = True
    out.format_ = "z"
    e = <Encoder*>calloc(1, sizeof(Encoder))
    if e == NULL:
        raise MemoryError
    try:
        if block_room(&e.memory, 0, 1024) < 0:
            raise MemoryError
        buffer_in_block(&e.scratch, &e.memory, 0)
        if hasattr(columns, "__arrow_c_array__"):
            schema_capsule_, array = columns.__arrow_c_array__()
            if (not PyCapsule_IsValid(schema_capsule_, "arrow_schema")
                    or not PyCapsule_IsValid(array, "arrow_array")):
                raise TypeError("__arrow_c_array__ must return the capsules arrow_schema and arrow_array")
            plan = encode_plan(protocol, &e.scratch,
                               <ArrowSchema*>PyCapsule_GetPointer(schema_capsule_, "arrow_schema"), columns)
            begin_encoder(e, plan, out.table, frame_max, writing, mode == "FAILFAST")
            encode_array(e, <ArrowArray*>PyCapsule_GetPointer(array, "arrow_array"))
        elif hasattr(columns, "__arrow_c_stream__"):
            capsule = columns.__arrow_c_stream__()
            stream = begin_stream(capsule, &schema)
            try:
                plan = encode_plan(protocol, &e.scratch, &schema, columns)
            finally:
                schema.release(&schema)
            begin_encoder(e, plan, out.table, frame_max, writing, mode == "FAILFAST")
            encode_stream(e, stream)
        else:
            raise TypeError("takes an Arrow struct array, record batch or table of messages (an object "
                            f"with __arrow_c_array__ or __arrow_c_stream__), not {type(columns).__name__}")
        if table_finish(out.table, e.rows) < 0:
            raise MemoryError
        out.error_count = e.refused
        out._fast_rows = e.fast_rows
        if isinstance(plan, EncodePlan):
            end_legacy(e, <EncodePlan>plan)
    finally:
        block_give(&e.memory)
        free(e.fast_plan)
        free(e)
    return out


# ---- the result ----

cdef class ArrowColumn:
    """One column in Arrow's C Data Interface; nothing of the input is borrowed.

    pyarrow.array(column), polars.Series(column) and the like take it without a copy. Its memory is
    shared by all who took it, and goes back to the pool when the last of them lets go of it.
    """

    cdef Table* table
    cdef int at             # which column of the table
    cdef str format_

    def __init__(self):
        raise TypeError("made by amqpcodec.batch.encode")

    def __dealloc__(self):
        table_drop(self.table)

    cdef int made(self) except -1:
        """Refuses an instance of __new__ alone, which has no table."""
        if self.table == NULL:
            raise TypeError("made by amqpcodec.batch.encode")
        return 0

    def __len__(self):
        return 0 if self.table == NULL else self.table.rows

    def __repr__(self):
        return f"<amqpcodec.batch.{type(self).__name__}: {len(self)} rows>"

    def __arrow_c_schema__(self):
        """The Arrow type in a PyCapsule."""
        self.made()
        return schema_capsule((), self.format_)

    def __arrow_c_array__(self, requested_schema=None):
        """The Arrow type and array in two PyCapsules; as often as one likes.

        requested_schema is not followed: there is one type.
        """
        cdef object schema = self.__arrow_c_schema__()
        cdef ArrowArray* a = NULL
        cdef object array = array_capsule(&a)
        if export_column(self.table, self.at, a) < 0:
            raise MemoryError
        return schema, array

    def __arrow_c_stream__(self, requested_schema=None):
        """A stream of this one array, in a PyCapsule, for those who take nothing else."""
        schema, array = self.__arrow_c_array__()
        return stream_capsule(schema, array)

    def to_numpy(self):
        """An array of NumPy, of objects: None where there is no value. It needs pyarrow."""
        from amqpcodec._facade.arrays import array_to_numpy
        return array_to_numpy(self)


@cython.final
cdef class Encoded(ArrowColumn):
    """Messages as bytes: a binary column in Arrow's C Data Interface, one value a row.

    A row that could not be encoded is null here, and its error is in ``errors``. Nothing of the
    input is borrowed; memory is shared by all who took it, and goes back to the pool at the end.
    """

    cdef readonly int64_t error_count
    """How many rows could not be encoded."""
    cdef readonly int64_t _fast_rows     # for tests: that took the fast path

    def __repr__(self):
        return f"<amqpcodec.batch.Encoded: {len(self)} rows, {self.error_count} with an error>"

    def to_numpy(self, column="messages"):
        """"messages" as an array of bytes, or "errors" as one of text; None where there is none.

        It needs pyarrow. Raises KeyError for any other name.
        """
        from amqpcodec._facade.arrays import array_to_numpy
        if column == "messages":
            return array_to_numpy(self)
        if column == "errors":
            return self.errors.to_numpy()
        raise KeyError(f"there is no column {column!r}: there is messages and errors")

    @property
    def errors(self):
        """Why a row could not be encoded: a utf8 column of as many rows, null where all is well."""
        cdef ArrowColumn errors = ArrowColumn.__new__(ArrowColumn)
        self.made()
        errors.table = self.table
        atomic_add_(&self.table.refs, 1)
        errors.at = ERRORS
        errors.format_ = "u"
        return errors
