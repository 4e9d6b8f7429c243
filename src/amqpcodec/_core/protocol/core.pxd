# What other files use of core.pxi.

cdef dict PROPERTY_ALIASES

cdef struct Slot:
    uint32_t key
    Desc* desc

cdef inline uint32_t slot_index(uint32_t key) noexcept nogil:
    return (key * <uint32_t>0x9E3779B1) >> 16

cdef class ProtocolCore:
    cdef readonly str name
    cdef readonly str module
    cdef readonly dict table
    cdef readonly dict namespaces       # "Basic" -> namespace class
    cdef readonly object METHODS        # (class id, method id) -> class
    cdef readonly object Header, Body, Heartbeat, ProtocolHeader, Message, BadFrame
    cdef DescTable descs
    cdef Slot* slot
    cdef uint32_t slot_mask
    cdef Desc** contents                # property lists, by class
    cdef int n_contents
    cdef object frame_plan              # of the columns, made on first use
    cdef dict encode_plans              # of columns to encode, that nobody uses
    cdef bint fast
    cdef uintptr_t own_mode             # what its own dialect is for encoding
    cdef PyTypeObject* header_type
    cdef PyTypeObject* body_type
    cdef PyTypeObject* message_type
    cdef int _make_classes(self) except -1
    cdef object _make_class(self, Desc* d, str qualname, object base, int what, tuple fields, dict members)
    cdef object _make_frame(self, str name, int what, str doc, tuple fields)
    cdef int _make_frames(self) except -1
    cdef int _enter(self, Desc* d) except -1

    @cython.final
    cdef inline Desc* find(self, uint32_t key) noexcept nogil:
        """The method with this class id (high half) and method id, or NULL."""
        cdef uint32_t i = slot_index(key) & self.slot_mask
        while self.slot[i].desc != NULL:
            if self.slot[i].key == key:
                return self.slot[i].desc
            i = (i + 1) & self.slot_mask
        return NULL

    @cython.final
    cdef inline Desc* find_content(self, uint16_t class_id) noexcept nogil:
        """The property list of a class that carries content, or NULL."""
        cdef int i
        for i in range(self.n_contents):
            if self.contents[i].class_id == class_id:
                return self.contents[i]
        return NULL

cdef inline uintptr_t mode_of(ProtocolCore self, object dialect) except? 0xFFFF:
    """None: the protocol's own."""
    return self.own_mode if dialect is None else encoding_mode(dialect)
