# The protocols that a reader knows, and what of them has the same bytes.

cdef int add_known_protocol(Reading* r, object core) except -1:
    """A further protocol that connections may speak; 1.0 is the last."""
    cdef KnownProtocol* s = &r.protocol[r.n_protocols]
    cdef Protocol protocol
    if r.n_protocols == MAX_PROTOCOLS or r.v1 != NULL:
        raise ValueError("too many protocols")
    if isinstance(core, V1Core):
        r.v1 = &(<V1Core>core).descs.types
        r.v1_number = <uint8_t>r.n_protocols
        r.level.tracking.v1 = r.v1
        return 0
    protocol = core
    s.methods = <uint64_t*>calloc(<size_t>max(protocol.descs.count, 1), sizeof(uint64_t))
    if s.methods == NULL:
        raise MemoryError
    if r.level.events:
        s.events = new_event_methods(protocol.descs.desc, protocol.descs.count)
    s.descs = protocol.descs.desc
    s.n_descs = protocol.descs.count
    s.slot = protocol.slot
    s.slot_mask = protocol.slot_mask
    s.contents = protocol.contents
    s.n_contents = protocol.n_contents
    r.n_protocols += 1
    return 0


cdef bint same_layout(const Desc* a, const Desc* b) noexcept:
    cdef int i
    if a.n != b.n or a.has_content != b.has_content:
        return False
    for i in range(a.n):
        if a.op[i].wire_type != b.op[i].wire_type:
            return False
    return True


cdef int find_alike(Reading* r) except -1:
    """Which methods and property lists of the first protocol others have with the same bytes."""
    cdef KnownProtocol* first = &r.protocol[0]
    cdef const Desc* d
    cdef int i, j, k
    r.alike = <uint8_t*>calloc(<size_t>max(first.n_descs, 1), 1)
    if r.alike == NULL:
        raise MemoryError
    for i in range(first.n_descs):
        d = &first.descs[i]
        for k in range(r.n_protocols):
            for j in range(r.protocol[k].n_descs):
                if (r.protocol[k].descs[j].class_id == d.class_id
                        and r.protocol[k].descs[j].method_id == d.method_id
                        and same_layout(d, &r.protocol[k].descs[j])):
                    r.alike[i] |= <uint8_t>(1 << k)
    return 0
