# What other files use of variant_keys.pxi.

# Working memory, kept from row to row.
cdef struct Variants:
    const int8_t* shapes
    const uint8_t* root
    Buffer leaf             # scalars, one after the other
    Block leaves
    Block keys              # VariantKey
    Block ids               # of each key, by place: its number in the dictionary (uint32)
    Block sizes             # of each value: bytes of a scalar, or 0 (uint32)
    Block nodes             # VariantNode, outer ones first
    Block fields            # of objects that are being written: id and offset (uint64)
    size_t n_keys
    size_t n_sizes
    size_t n_nodes
    uint32_t n_names        # keys that differ
    uint64_t names          # bytes of them
    int id_width
    int heights             # see heights()
    bint careful            # look at each table's own
    # Where writing is:
    uint32_t key
    uint32_t size
    uint32_t node
    uint32_t field
    const uint8_t* copied

cdef int heights(const uint8_t* key) noexcept nogil
