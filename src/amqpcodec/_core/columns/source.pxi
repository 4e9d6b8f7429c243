# Arrow arrays of any type on their way in: described once, bound to each array, read without the GIL.
#
# Offsets and indices are checked where they are used: whatever an array says, nothing beyond what its
# lengths allow is read. (How large its buffers are it does not say; that much has to be believed.) Others may
# write to an array while it is read, without the GIL: each of them is read once, and what was read is used.

cdef dict SIMPLE_SOURCES = {
    "n": (IN_NULL, 0, "null"), "b": (IN_BOOL, 0, "bool"),
    "c": (IN_INT8, 1, "int8"), "C": (IN_UINT8, 1, "uint8"),
    "s": (IN_INT16, 2, "int16"), "S": (IN_UINT16, 2, "uint16"),
    "i": (IN_INT32, 4, "int32"), "I": (IN_UINT32, 4, "uint32"),
    "l": (IN_INT64, 8, "int64"), "L": (IN_UINT64, 8, "uint64"),
    "e": (IN_HALF, 2, "float16"), "f": (IN_FLOAT, 4, "float32"), "g": (IN_DOUBLE, 8, "float64"),
    "z": (IN_BYTES, 0, "binary"), "Z": (IN_LARGE_BYTES, 0, "large_binary"),
    "vz": (IN_VIEW, 0, "binary_view"), "u": (IN_BYTES, 0, "string"),
    "U": (IN_LARGE_BYTES, 0, "large_string"), "vu": (IN_VIEW, 0, "string_view"),
    "+l": (IN_LIST, 0, "list"), "+L": (IN_LARGE_LIST, 0, "large_list"),
    "+vl": (IN_LIST_VIEW, 0, "list_view"), "+vL": (IN_LARGE_LIST_VIEW, 0, "large_list_view"),
    "+s": (IN_STRUCT, 0, "struct"), "+m": (IN_MAP, 0, "map"),
    "tdD": (IN_OTHER, 1, "date32"), "tdm": (IN_OTHER, 1, "date64"), "+r": (IN_OTHER, 0, "run_end_encoded"),
    "tts": (IN_OTHER, 1, "time32"), "ttm": (IN_OTHER, 1, "time32"), "ttu": (IN_OTHER, 1, "time64"),
    "ttn": (IN_OTHER, 1, "time64"), "tDs": (IN_OTHER, 1, "duration"), "tDm": (IN_OTHER, 1, "duration"),
    "tDu": (IN_OTHER, 1, "duration"), "tDn": (IN_OTHER, 1, "duration"),
    "tiM": (IN_OTHER, 1, "interval"), "tiD": (IN_OTHER, 1, "interval"), "tin": (IN_OTHER, 1, "interval"),
}
cdef dict TIME_UNITS = {"tss": 1, "tsm": 1000, "tsu": 1000000, "tsn": 1000000000}


@cython.final
cdef class SourceTree:
    """The columns of a schema. Arrays are bound to it one after another."""

    def __cinit__(self):
        self.keep = []

    def __dealloc__(self):
        free_sources(&self.root)

    cdef const char* text(self, str s) except NULL:
        cdef bytes utf8 = s.encode("utf-8", "replace") + bytes(2 * COPY_SLACK)
        self.keep.append(utf8)
        return PyBytes_AS_STRING(utf8)

    cdef int describe(self, Source* s, const ArrowSchema* schema, int depth) except -1:
        cdef str format_ = "" if schema.format == NULL else schema.format.decode("utf-8", "replace")
        cdef bytes name = b"" if schema.name == NULL else <bytes>schema.name
        cdef int64_t i, n
        if depth > SOURCE_DEPTH:
            raise ValueError("the Arrow schema is nested too deep")
        name += bytes(2 * COPY_SLACK)
        self.keep.append(name)
        s.name = PyBytes_AS_STRING(name)
        s.name_n = <uint32_t>strlen(s.name)
        s.unit = 1
        if format_ in SIMPLE_SOURCES:
            s.input_type, s.width, type_ = SIMPLE_SOURCES[format_]
            s.text = format_ in ("u", "U", "vu")
        else:
            type_ = self.describe_other(s, format_)
        s.type = self.text(type_)
        if schema.n_children < 0 or schema.n_children and schema.children == NULL:
            raise ValueError("the Arrow schema does not have its children")
        if schema.dictionary != NULL and (schema.n_children or not IN_INT8 <= s.input_type <= IN_UINT64):
            raise ValueError("the indices of an Arrow dictionary are integers, without children")
        if s.input_type == IN_OTHER:
            return 0
        n = 1 if schema.dictionary != NULL else schema.n_children
        if n:
            s.child = <Source*>calloc(<size_t>n, sizeof(Source))
            if s.child == NULL:
                raise MemoryError
            s.n_children = <int>n
        for i in range(schema.n_children):
            self.describe(&s.child[i], schema.children[i], depth + 1)
        if s.n_children != 1 and IN_LIST <= s.input_type <= IN_FIXED_LIST:
            raise ValueError("an Arrow list has one child")
        if s.input_type == IN_MAP and (s.n_children != 1 or s.child.input_type != IN_STRUCT
                                       or s.child.n_children != 2):
            raise ValueError("an Arrow map has a struct of keys and items")
        if schema.dictionary != NULL:
            s.index = s.input_type
            s.input_type = IN_DICTIONARY
            self.describe(s.child, schema.dictionary, depth + 1)
            s.child.name = s.name
            s.child.name_n = s.name_n
            s.type = s.child.type
        return 0

    cdef str describe_other(self, Source* s, str format_):
        """Types whose format has parameters."""
        if format_[:3] in TIME_UNITS and format_[3:4] == ":":
            s.input_type = IN_TIME
            s.unit = TIME_UNITS[format_[:3]]
            s.width = 8
            return "timestamp"
        try:
            if format_.startswith("d:"):
                _, scale, *bits = format_[2:].split(",")
                s.input_type = IN_DECIMAL
                s.scale = int(scale)
                s.width = int(bits[0]) // 8 if bits else 16
                if s.width not in (4, 8, 16, 32):
                    raise ValueError
                return f"decimal{8 * s.width}"
            if format_.startswith("w:"):
                s.input_type = IN_FIXED_BYTES
                s.width = int(format_[2:])
                if s.width < 0:
                    raise ValueError
                return "fixed_size_binary"
            if format_.startswith("+w:"):
                s.input_type = IN_FIXED_LIST
                s.width = int(format_[3:])
                if s.width < 0:
                    raise ValueError
                return "fixed_size_list"
        except ValueError:
            raise ValueError(f"the Arrow schema has format {format_!r}") from None
        s.input_type = IN_OTHER
        return "union" if format_.startswith("+u") else f"Arrow format {format_}"


cdef void free_sources(Source* s) noexcept:
    cdef int i
    if s.child != NULL:
        for i in range(s.n_children):
            free_sources(&s.child[i])
        free(s.child)
        s.child = NULL


# ---- binding ----

cdef int wrong_shape(const Source* s) except -1:
    cdef str name = f" {s.name.decode('utf-8', 'replace')!r}" if s.name_n else ""
    raise ValueError(f"the Arrow array{name} does not have the shape of {s.type.decode('utf-8', 'replace')}")


cdef int n_buffers_of(const Source* s) noexcept:
    cdef uint8_t input_type = s.index if s.input_type == IN_DICTIONARY else s.input_type
    if input_type == IN_NULL:
        return 0
    if input_type == IN_STRUCT or input_type == IN_FIXED_LIST:
        return 1
    if input_type in (IN_BYTES, IN_LARGE_BYTES, IN_LIST_VIEW, IN_LARGE_LIST_VIEW):
        return 3
    return 2


cdef int bind_source(Source* s, const ArrowArray* a, int64_t base, int64_t n) except -1:
    """Look at an array, which the caller keeps. Rows 0 to n of s are those from base on."""
    cdef int i
    s.n = n
    s.valid = NULL
    if s.input_type == IN_OTHER and not s.width:
        return 0
    # Nulls, and rows of them, take no memory: there may be any number.
    if (a.length > MOST_VALUES and s.input_type != IN_NULL and s.input_type != IN_STRUCT
            or a.length < 0 or a.offset < 0 or base > a.length or n > a.length - base
            or <uint64_t>a.length > HIGHEST_INT64 - <uint64_t>a.offset
            or a.n_children != (0 if s.input_type == IN_DICTIONARY else s.n_children)
            or a.n_children and a.children == NULL):
        wrong_shape(s)
    if s.input_type == IN_VIEW:
        if a.n_buffers < 3:
            wrong_shape(s)
    elif a.n_buffers != n_buffers_of(s):
        wrong_shape(s)
    s.at = a.offset + base
    if n == 0:
        return 0
    if s.input_type != IN_NULL:
        if a.buffers == NULL:
            wrong_shape(s)
        if a.null_count != 0:
            s.valid = <const uint8_t*>a.buffers[0]
        for i in range(1, min(n_buffers_of(s), 2)):
            if a.buffers[i] == NULL and not (s.input_type == IN_FIXED_BYTES and s.width == 0):
                wrong_shape(s)
    if s.input_type == IN_BYTES or s.input_type == IN_LARGE_BYTES:
        s.ends = <const uint8_t*>a.buffers[1]
        s.data = <const uint8_t*>a.buffers[2]
        if s.data == NULL:
            s.data = &NO_BYTES
        if s.input_type == IN_BYTES:
            s.last = <uint64_t><int64_t>read_once_32(<const int32_t*>s.ends + s.at + n)
        else:
            s.last = <uint64_t>read_once_64(<const int64_t*>s.ends + s.at + n)
        if <int64_t>s.last < 0 or (a.buffers[2] == NULL and s.last != 0):
            wrong_shape(s)
    elif s.input_type == IN_VIEW:
        s.data = <const uint8_t*>a.buffers[1]
        s.n_pieces = a.n_buffers - 3
        s.pieces = <const uint8_t**>a.buffers + 2
        s.piece_sizes = <const int64_t*>a.buffers[a.n_buffers - 1]
        if s.n_pieces and s.piece_sizes == NULL:
            wrong_shape(s)
    elif IN_LIST <= s.input_type <= IN_FIXED_LIST or s.input_type == IN_MAP:
        if s.input_type != IN_FIXED_LIST:
            s.ends = <const uint8_t*>a.buffers[1]
        if s.input_type == IN_LIST_VIEW or s.input_type == IN_LARGE_LIST_VIEW:
            s.sizes = <const uint8_t*>a.buffers[2]
            if s.sizes == NULL:
                wrong_shape(s)
        bind_source(s.child, a.children[0], 0, a.children[0].length)
    elif s.input_type == IN_STRUCT:
        for i in range(s.n_children):
            bind_source(&s.child[i], a.children[i], s.at, n)
    elif s.input_type == IN_DICTIONARY:
        s.data = <const uint8_t*>a.buffers[1]
        if a.dictionary == NULL:
            wrong_shape(s)
        bind_source(s.child, a.dictionary, 0, a.dictionary.length)
    elif s.input_type != IN_NULL:
        s.data = <const uint8_t*>a.buffers[1]
    return 0


# ---- lists ----

cdef int items_at(const Source* s, int64_t i, int64_t* first, int64_t* n) noexcept nogil:
    """Which rows of the child a list or map has; 0 or BAD_OFFSETS."""
    cdef int64_t end
    i += s.at
    if s.input_type == IN_LIST or s.input_type == IN_MAP:
        first[0] = read_once_32(<const int32_t*>s.ends + i)
        n[0] = read_once_32(<const int32_t*>s.ends + i + 1) - first[0]
    elif s.input_type == IN_LARGE_LIST:
        first[0] = read_once_64(<const int64_t*>s.ends + i)
        end = read_once_64(<const int64_t*>s.ends + i + 1)
        n[0] = -1 if first[0] < 0 or end < first[0] else end - first[0]
    elif s.input_type == IN_LIST_VIEW:
        first[0] = read_once_32(<const int32_t*>s.ends + i)
        n[0] = read_once_32(<const int32_t*>s.sizes + i)
    elif s.input_type == IN_LARGE_LIST_VIEW:
        first[0] = read_once_64(<const int64_t*>s.ends + i)
        n[0] = read_once_64(<const int64_t*>s.sizes + i)
    elif s.input_type != IN_FIXED_LIST or s.width and i > <int64_t>HIGHEST_INT64 // s.width:
        n[0] = 0
        return BAD_OFFSETS
    else:
        first[0] = i * s.width
        n[0] = s.width
    if first[0] < 0 or n[0] < 0 or first[0] > s.child.n or n[0] > s.child.n - first[0]:
        n[0] = 0    # callers add the two, which may overflow
        return BAD_OFFSETS
    return 0
