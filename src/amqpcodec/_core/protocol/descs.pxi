# The C descriptors of one protocol's methods and property lists, made from its lowered table.

cdef class DescTable:
    """Owns the C descriptors of one protocol; classes keep it alive."""

    def __cinit__(self, int count):
        self.keep = []
        self.desc = <Desc*>calloc(<size_t>max(count, 1), sizeof(Desc))
        if self.desc == NULL:
            raise MemoryError
        self.count = count

    def __dealloc__(self):
        cdef int i
        if self.desc != NULL:
            for i in range(self.count):
                free(self.desc[i].op)
                free(self.desc[i].field)
            free(self.desc)

    cdef const char* text(self, str s) except NULL:
        """Bytes of a name that live as long as this table."""
        cdef bytes b = s.encode()
        self.keep.append(b)
        return PyBytes_AS_STRING(b)

    cdef int fill(self, Desc* d, str name, uint16_t class_id, uint16_t method_id, tuple fields) except -1:
        """Lay out the fields: neighbouring bits share a byte, at most eight of them."""
        cdef int i, run = 0, first = 0
        d.class_id = class_id
        d.method_id = method_id
        d.n = <int>len(fields)
        if d.n > MAX_FIELDS:
            raise ValueError(f"{name}: {d.n} fields, at most {MAX_FIELDS} can be handled")
        d.name = self.text(name)
        d.op = <Op*>calloc(<size_t>max(d.n, 1), sizeof(Op))
        d.field = <const char**>calloc(<size_t>max(d.n, 1), sizeof(char*))
        if d.op == NULL or d.field == NULL:
            raise MemoryError
        for i in range(d.n):
            field_name, wire_type, flags = fields[i][:3]
            d.field[i] = self.text(field_name)
            d.op[i].wire_type = wire_type
            d.op[i].cached = (flags & FIELD_CACHED) != 0
            d.op[i].secret = (flags & FIELD_SECRET) != 0
            if wire_type != W_BIT:
                run = 0
                continue
            if run == 0 or run == 8:
                first = i
                run = 0
            d.op[i].bit = <uint8_t>run
            run += 1
            d.op[first].run = <uint8_t>run
        return 0


cdef int make_fast(Desc* d, bint properties) except -1:
    """Bind the fast functions of the descriptor's signature, if there are any."""
    cdef bytearray signature = bytearray()
    cdef int i
    for i in range(d.n):
        signature.append(c'S' if d.op[i].cached else SIGNATURE_LETTERS[d.op[i].wire_type])
    return bind_fast(d, bytes(signature), properties)
