# Arrow in: a binary column of someone else, which stays theirs.

cdef inline uint64_t value_end(const Values* v, int64_t i) noexcept nogil:
    """Where value i - 1 ends and value i begins."""
    if v.short_ != NULL:
        return <uint64_t>v.short_[v.at + i]
    return <uint64_t>v.long_[v.at + i]


cdef inline bint value_present(const Values* v, int64_t i) noexcept nogil:
    return v.valid == NULL or v.valid[(v.at + i) >> 3] >> ((v.at + i) & 7) & 1


cdef dict ARROW_NAMES = {
    "u": "string", "U": "large_string", "vz": "binary_view (cast it first)",
    "vu": "string_view", "+s": "struct (name one of its columns)", "n": "null",
}


cdef ArrowArray* read_values(object schema_capsule_, object array_capsule_, Values* v) except NULL:
    """Look at a binary array in its capsules: it stays theirs to release."""
    cdef ArrowSchema* s
    cdef ArrowArray* a
    cdef str name
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
    if a.length < 0 or a.offset < 0 or a.n_buffers != 3 or a.n_children != 0 or a.buffers == NULL:
        raise ValueError("the Arrow array does not have the shape of a binary array")
    memset(v, 0, sizeof(Values))
    v.n = a.length
    v.at = a.offset
    if v.n == 0:
        return a
    if a.null_count != 0:
        v.valid = <const uint8_t*>a.buffers[0]
    if a.buffers[1] == NULL:
        raise ValueError("the Arrow array has no offsets")
    if name == "z":
        v.short_ = <const int32_t*>a.buffers[1]
    else:
        v.long_ = <const int64_t*>a.buffers[1]
    v.data = <const uint8_t*>a.buffers[2]
    v.last = value_end(v, v.n)
    if v.data == NULL and v.last != 0:
        raise ValueError("the Arrow array has no bytes")
    if <int64_t>value_end(v, 0) < 0:
        raise ValueError("the offsets of the Arrow array are negative")
    return a
