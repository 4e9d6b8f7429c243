# Entries of a field table. Its structure was checked, or comes from a saved state: each step stays within its bytes.

cdef struct TableEntry:
    const uint8_t* name
    size_t n_name
    const uint8_t* value    # with its tag
    size_t n_value


cdef bint next_entry(const uint8_t** at, const uint8_t* end, TableEntry* out) noexcept nogil:
    """The entry at `at`, which moves after it; False: there is none, or its size is not known."""
    cdef const uint8_t* p = at[0]
    cdef size_t head = 0, size = 0
    if end - p < 2 or <size_t>(end - p) <= <size_t>p[0] + 1:
        return False
    out.n_name = p[0]
    out.name = p + 1
    out.value = p + 1 + out.n_name
    if not find_content(out.value, <size_t>(end - out.value), SHAPES[0], &head, &size):
        return False
    out.n_value = head + size
    at[0] = out.value + out.n_value
    return True


cdef bint find_entry(const EventText* table, const uint8_t* name, size_t n, TableEntry* out) noexcept nogil:
    """The first entry of this name, of the table itself."""
    cdef const uint8_t* at = table.p
    while at != NULL and next_entry(&at, table.p + table.n, out):
        if out.n_name == n and memcmp(out.name, name, n) == 0:
            return True
    return False


cdef bint find_long_string(const EventText* table, const char* name, EventText* out) noexcept nogil:
    """The long string of this name."""
    cdef TableEntry entry
    if not find_entry(table, <const uint8_t*>name, strlen(name), &entry) or entry.value[0] != c'S':
        return False
    out.p = entry.value + 5
    out.n = <uint32_t>(entry.n_value - 5)
    return True


cdef bint find_table_text(const AmqpValue* table, const char* name, EventText* out) noexcept nogil:
    """The same of an argument."""
    cdef EventText text
    text.p = table.p
    text.n = <uint32_t>table.n
    return find_long_string(&text, name, out)


cdef bint entry_integer(const TableEntry* entry, int64_t* out) noexcept nogil:
    """The value of an entry that is an integer, of any width."""
    cdef Scalar v
    if SHAPES[0][entry.value[0]] < 0:
        return False
    form_read(form_of(SHAPES[0], entry.value[0]), entry.value + 1, &v)
    out[0] = <int64_t>v.u
    return v.kind == KIND_SIGNED or (v.kind == KIND_UNSIGNED and out[0] >= 0)


cdef bint is_same_entry(const TableEntry* a, const TableEntry* b) noexcept nogil:
    """Whether the values are equal: integers also where their widths differ."""
    cdef int64_t x, y
    if a.n_value == b.n_value and memcmp(a.value, b.value, a.n_value) == 0:
        return True
    return entry_integer(a, &x) and entry_integer(b, &y) and x == y
