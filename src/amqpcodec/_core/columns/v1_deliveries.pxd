# What other files use of v1_deliveries.pxi.

cdef inline bint v1_true(const V1Value* v) noexcept nogil:
    return v.wire_type == V1_BOOLEAN and v.u != 0

cdef inline bint v1_is_unidentified(const V1Value* v) noexcept nogil:
    """Whether a transfer does not say whose delivery it is: a later one."""
    return v[TRANSFER_DELIVERY_ID].wire_type == V1_NULL and v[TRANSFER_DELIVERY_TAG].wire_type == V1_NULL
