# The grammar of deliveries, with its table of states: v1/delivery.h. And what transfers say of theirs.

cdef extern from "v1/delivery.h" nogil:
    ctypedef enum DeliveryState:
        DELIVERY_IDLE
        DELIVERY_OPEN
        DELIVERY_SKIPS
    ctypedef enum DeliveryOutcome:
        DELIVERY_ALONE
        DELIVERY_BEGUN
        DELIVERY_COMPLETE
        DELIVERY_IGNORED
        DELIVERY_DROPPED
        DELIVERY_CUT
    ctypedef enum DeliveryEvent:
        DELIVERY_ON_ENDED
        DELIVERY_ON_DISCARD
    DeliveryEvent delivery_event(bint more, bint aborted, bint other)
    DeliveryOutcome delivery_step(DeliveryState* state, DeliveryEvent event)
    const char* delivery_fault(DeliveryOutcome outcome)


cdef inline bint v1_true(const V1Value* v) noexcept nogil:
    return v.wire_type == V1_BOOLEAN and v.u != 0


cdef inline bint v1_is_unidentified(const V1Value* v) noexcept nogil:
    """Whether a transfer does not say whose delivery it is: a later one."""
    return v[TRANSFER_DELIVERY_ID].wire_type == V1_NULL and v[TRANSFER_DELIVERY_TAG].wire_type == V1_NULL


cdef inline bint v1_is_silent(const V1Value* v) noexcept nogil:
    """Whether a transfer says nothing that the first one of a delivery could have said otherwise."""
    return v1_is_unidentified(v) and v[TRANSFER_MESSAGE_FORMAT].wire_type == V1_NULL


cdef inline bint v1_same_delivery(const V1Value* first, const V1Value* v) noexcept nogil:
    """Whether what a later transfer says of its delivery is what the first one said."""
    cdef const V1Value* a
    cdef const V1Value* b
    cdef int i
    for i in range(TRANSFER_DELIVERY_ID, TRANSFER_SETTLED):
        a = &v[i]
        b = &first[i]
        if a.wire_type == V1_NULL:
            continue
        if a.wire_type != b.wire_type:
            return False
        if i == TRANSFER_DELIVERY_TAG:
            if a.n != b.n or memcmp(a.p, b.p, a.n) != 0:
                return False
        elif a.u != b.u:
            return False
    return True
