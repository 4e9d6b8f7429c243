# Arrow in: a binary column of someone else, copied. Others may write to its memory while it is decoded.

cdef inline uint64_t value_end(const Values* v, int64_t i) noexcept nogil:
    """Where value i - 1 ends and value i begins."""
    return <uint64_t>v.ends[v.at + i]


cdef inline bint value_present(const Values* v, int64_t i) noexcept nogil:
    return v.valid == NULL or v.valid[(v.at + i) >> 3] >> ((v.at + i) & 7) & 1


# Values that one array may have: more do not fit any memory.
cdef extern from *:
    """
    #define MOST_VALUES ((int64_t)1 << 56)
    """
    int64_t MOST_VALUES

cdef dict ARROW_NAMES = {
    "u": "string", "U": "large_string", "vz": "binary_view (cast it first)",
    "vu": "string_view", "+s": "struct (name one of its columns)", "n": "null",
}


cdef int copy_values(const ArrowArray* a, bint large, Values* v, Block* data, Block* index) noexcept nogil:
    """The values of a binary array, into `data`, and their offsets and validity, into `index`: 0 or below."""
    cdef const void* offsets = a.buffers[1]
    cdef const uint8_t* valid = <const uint8_t*>a.buffers[0] if a.null_count != 0 else NULL
    cdef int64_t at = a.offset & 7, first, end, i
    cdef size_t room = (<size_t>at + <size_t>a.length + 1) * sizeof(int64_t), bits = (<size_t>(at + a.length) + 7) // 8
    cdef int64_t* ends
    if block_room(index, 0, room + bits) < 0:
        return NO_MEMORY
    ends = <int64_t*>index.p + at
    first = end = 0
    for i in range(a.length + 1):
        ends[i] = (read_once_64(<const int64_t*>offsets + a.offset + i) if large
                   else read_once_32(<const int32_t*>offsets + a.offset + i))
        if ends[i] < end:
            return BAD_OFFSETS
        end = ends[i]
        if i == 0:
            first = end
        ends[i] = end - first
    v.last = <uint64_t>(end - first)
    if a.buffers[2] == NULL and v.last != 0:
        return BAD_OFFSETS
    if v.last:
        if block_room(data, 0, v.last) < 0:
            return NO_MEMORY
        memcpy(data.p, <const uint8_t*>a.buffers[2] + first, v.last)
    if valid != NULL:
        memcpy(index.p + room, valid + (a.offset >> 3), bits)
        v.valid = index.p + room
    v.at = at
    v.ends = <const int64_t*>index.p
    v.data = data.p
    return 0


cdef int read_values(object schema_capsule_, object array_capsule_, Values* v, Block* data, Block* index) except -1:
    """Copy a binary array in its capsules, which stays theirs to release."""
    cdef ArrowSchema* s
    cdef ArrowArray* a
    cdef str name
    cdef int status
    if (not PyCapsule_IsValid(schema_capsule_, "arrow_schema")
            or not PyCapsule_IsValid(array_capsule_, "arrow_array")):
        raise TypeError("__arrow_c_array__ must return the capsules arrow_schema and arrow_array")
    s = <ArrowSchema*>PyCapsule_GetPointer(schema_capsule_, "arrow_schema")
    a = <ArrowArray*>PyCapsule_GetPointer(array_capsule_, "arrow_array")
    if s.release == NULL or a.release == NULL:
        raise ValueError("the Arrow array was released already")
    name = "no format" if s.format == NULL else s.format.decode("utf-8", "replace")
    if s.dictionary != NULL or name not in ("z", "Z"):
        what = "a dictionary" if s.dictionary != NULL else ARROW_NAMES.get(name, f"format {name!r}")
        raise TypeError(f"takes an Arrow array of binary or large_binary, not {what}")
    if (a.length < 0 or a.offset < 0 or a.n_buffers != 3 or a.n_children != 0 or a.buffers == NULL
            or a.length > MOST_VALUES or a.offset > <int64_t>HIGHEST_INT64 - MOST_VALUES):
        raise ValueError("the Arrow array does not have the shape of a binary array")
    memset(v, 0, sizeof(Values))
    v.n = a.length
    if v.n == 0:
        return 0
    if a.buffers[1] == NULL:
        raise ValueError("the Arrow array has no offsets")
    with nogil:
        status = copy_values(a, name == "Z", v, data, index)
    if status == BAD_OFFSETS:
        raise ValueError("the offsets of the Arrow array are negative, go backward, or count bytes that it does "
                         "not have")
    if status < 0:
        raise MemoryError
    return 0
