# What the generated fast readers and writers (../_gen/fast.pxi) use, and how they are bound.

cdef PyObject* fall_back(MessageObject* o) noexcept:
    """Drop an object that is half read; NULL, for the table path to take over, which finds again what is
    wrong. o is NULL where no memory was left for it."""
    Py_XDecRef(<PyObject*>o)
    PyErr_Clear()
    return NULL


cdef int drop_written(Buffer* b, size_t start) noexcept:
    """Forget what was written since; 0, for the table path to take over."""
    buffer_truncate(b, start)
    return 0


cdef bint put_table_fast(Buffer* b, Desc* d, MessageObject* o, int i, int slot, uintptr_t mode) except -1:
    """Length and bytes of a table field that is set; False where it is not an exact dict."""
    cdef TableBytes* came = class_bytes(o, slot)
    cdef PyObject* table = o.field[i]
    cdef Place at
    cdef size_t start
    cdef uint64_t n
    cdef object keep
    buffer_extend(b, 4)
    start = buffer_size(b)
    if table == NULL:
        put_bytes(b, <const char*>came.bytes, <size_t>came.size)
    else:
        keep = <object>table
        if type(keep) is not dict:
            return False
        place_begin(&at, d.name, d.field[i])
        if came == NULL:
            put_pairs(b, keep, mode, 1, &at)
        else:
            put_changed(b, came.bytes, <uint32_t>came.size, keep, o.mode, mode, 1, &at)
    n = buffer_size(b) - start
    if n > MAX_U32:
        return False    # the table path names the field
    store32(b.start + start - 4, <uint32_t>n)
    return True
