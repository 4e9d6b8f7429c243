# Deliveries of AMQP 1.0 as rows: their transfers put together, and where and when these came.
#
# This code joins transfers as MessageDecoder does (v1/assemble.pxi). What it skips in silence, the rest of a
# delivery in which another one began, is a row with an error here: no bytes get lost.

cdef enum:
    # Fields of a transfer that putting deliveries together takes, as a bit mask.
    ASSEMBLY_FIELDS = (1 << TRANSFER_HANDLE | 1 << TRANSFER_DELIVERY_ID | 1 << TRANSFER_DELIVERY_TAG
                       | 1 << TRANSFER_MESSAGE_FORMAT | 1 << TRANSFER_SETTLED | 1 << TRANSFER_MORE
                       | 1 << TRANSFER_STATE | 1 << TRANSFER_RESUME | 1 << TRANSFER_ABORTED)


cdef inline uint64_t v1_link_key(const Entry* e, const V1Value* handle) noexcept nogil:
    """One bit more than a handle has says that there is none."""
    return <uint64_t>e.channel << V1_KEY_CHANNEL | (
        <uint64_t>1 << 32 if handle.wire_type == V1_NULL else handle.u)


# ---- rows ----

cdef bint v1_together(V1Links* a, V1Open* o) noexcept nogil:
    """Whether the frames of a delivery lie after one another."""
    cdef V1Piece* piece
    cdef uint32_t k = o.first
    cdef const uint8_t* p = v1_piece_at(a, k).frame.start
    while k:
        piece = v1_piece_at(a, k)
        if piece.frame.start != p:
            return False
        p += piece.frame.total
        k = piece.next
    return True


cdef int flush_v1_places(Sink* s) noexcept nogil:
    """The columns that every row has, of the newest rows, which wait for them."""
    cdef int n = s.waiting
    cdef int status
    if n == 0:
        return 0
    s.waiting = 0
    s.rows -= n
    status = write_block(s, n)
    s.rows += n
    s.unusual_block = False
    return status


cdef int append_v1_places(Sink* s, const Entry* e, V1Open* o) noexcept nogil:
    """The columns that every row has, later where they can be written a block at a time. o: the delivery whose
    frames these are, or NULL: of one frame."""
    cdef V1Links* a = s.links
    cdef V1Piece* piece
    cdef Column* c = s.asked[COL_FRAME]
    cdef int64_t row = s.rows
    cdef Entry* to = &s.block[s.waiting]
    cdef uint8_t* w
    cdef uint32_t k
    cdef int status
    cdef bint together = a.single == NULL and (o == NULL or v1_together(a, o))
    if AMQP_UNLIKELY(not together and c != NULL):
        status = flush_v1_places(s)
        if status < 0:
            return status
        to = &s.block[0]
    to[0] = e[0]
    if AMQP_UNLIKELY(a.single != NULL):
        to.total = <uint64_t>(a.single_end - a.single)
    elif o != NULL:
        to.total = o.n_bytes
    if AMQP_UNLIKELY(e.broken or e.no_channel):
        s.unusual_block = True
    if AMQP_LIKELY(together or c == NULL):
        s.waiting += 1
        return 0
    status = write_rows(s, 1)
    s.unusual_block = False
    if status < 0:
        return status
    if s.input.borrow and own_frames(s) < 0:
        return NO_MEMORY
    if a.single != NULL:
        return append_bytes(s.table, c, row, a.single, <size_t>(a.single_end - a.single))
    status = data_grow(s.table, c, o.n_bytes)
    if status < 0:
        return status
    w = c.data.p + c.used
    k = o.first
    while k:
        piece = v1_piece_at(a, k)
        copy_run(w, piece.frame.start, piece.frame.total)
        w += piece.frame.total
        k = piece.next
    return commit_bytes(c, row, o.n_bytes)


cdef inline uint64_t v1_seen(const Sink* s, const Entry* e) noexcept nogil:
    """Bytes of input up to a frame; where values are read in another order, about so many."""
    cdef uint64_t n = <uint64_t>(<uintptr_t>e.start - <uintptr_t>s.input.start)
    return n if n <= s.input.total else s.input.seen


cdef int end_v1_row(Sink* s, const Entry* e, V1Open* o, int status) noexcept nogil:
    """Finish the row whose columns came to `status`: 0, BAD_FRAME or below 0. e: the frame that it is of."""
    if s.links.single != NULL and status == 0 and e.start + e.total != s.links.single_end and o == NULL:
        status = v1_out_of_place(s, e, b"bytes after the message")
    if AMQP_UNLIKELY(status != 0):
        if status < 0:
            return status
        if not e.broken:
            s.fault.in_frame = True
            s.fault.frame_type = e.type
            s.fault.channel = e.channel
        status = put_bad_row(s, s.rows)
        if status != 0:
            return min(status, 0)
    status = append_v1_places(s, e, o)
    if status < 0:
        return status
    s.rows += 1
    if s.rows & (BLOCK - 1) == 0:
        status = flush_v1_places(s)
        s.blocks += 1
        if s.blocks & (s.blocks - 1) == 0:
            guess_sizes(s, 0, v1_seen(s, e))
        if status == 0:
            status = advance_progress(s, v1_seen(s, e))
    return status


cdef int v1_out_of_place(Sink* s, const Entry* e, const char* what) noexcept nogil:
    """Note that a well formed frame is not in its place."""
    s.fault.code = OK
    s.c.base = e.base
    s.c.p = s.c.end = e.start
    place_begin(&s.fault.at, b"transfer", NULL)
    fail(&s.c, V1_BAD_ORDER, what, 0, 0)
    s.fault.scope = SCOPE_CHANNEL
    return BAD_FRAME


cdef int append_v1_alone(Sink* s, const Entry* e) noexcept nogil:
    """A row of bytes that are no frame, or of a bad one."""
    s.fault_row = e.row
    return end_v1_row(s, e, NULL, put_no_frame(s, e))


# ---- deliveries ----

cdef void place_v1_fault(Sink* s, V1Open* o) noexcept nogil:
    """An offset in the joined payload as one in the value of the transfer that holds it."""
    cdef V1Piece* piece
    cdef uint32_t k = o.first
    cdef uint64_t at = s.fault.offset
    while True:
        piece = v1_piece_at(s.links, k)
        k = piece.next
        if at < piece.n or k == 0:
            break
        at -= piece.n
    s.fault.offset = <uint64_t>(piece.payload - piece.frame.base) + at
    s.fault_row = piece.frame.row


cdef const uint8_t* join_v1(Sink* s, V1Open* o) noexcept nogil:
    """The payload of all transfers, with some room to read after it; or NULL."""
    cdef V1Links* a = s.links
    cdef V1Piece* piece
    cdef uint8_t* w
    cdef uint32_t k = o.first
    if block_room(&a.joined, 0, o.have + 2 * <size_t>COPY_SLACK) < 0:
        return NULL
    w = a.joined.p
    while k:
        piece = v1_piece_at(a, k)
        copy_run(w, piece.payload, piece.n)
        w += piece.n
        k = piece.next
    memset(w, 0, 2 * <size_t>COPY_SLACK)
    return a.joined.p


cdef int append_v1_delivery(Sink* s, const Entry* e, const uint8_t* payload, uint64_t n, V1Open* o,
                            const uint8_t* list_) noexcept nogil:
    """A whole delivery, whose fields are in s.fields; 0, BAD_FRAME or a status below 0. e: its first
    transfer; o: where there are several."""
    cdef const V1Desc* d = s.protocol.v1.by_code[DESC_TRANSFER]
    cdef const MethodPlan* m = &s.protocol.methods[d - s.protocol.v1.desc]
    cdef const V1Value* v = s.fields
    cdef V1Value x
    cdef Cursor c
    cdef bint position = False
    cdef int status = 0
    cdef Column* message = v1_asked(s, V1_COL_MESSAGE) if s.sections.own_columns else NULL
    if s.asked[COL_METHOD] != NULL:
        status = append_bytes(s.table, s.asked[COL_METHOD], s.rows, d.name, m.name_n)
    if status == 0:
        status = append_v1_picks(s, d, m, list_, s.rows)
    if status == 0 and s.asked[COL_ARGUMENTS] != NULL:
        status = append_v1_arguments(s, d, m, s.rows)
    if status == 0 and message != NULL:
        status = append_bytes(s.table, message, s.rows, payload, n)
    if status == 0 and s.asked[COL_BODY] != NULL and not s.sections.own_columns:
        status = append_bytes(s.table, s.asked[COL_BODY], s.rows, payload, n)     # columns of 0-9-1: all of the message
    if status < 0:
        return status
    if s.sections.mask == 0 or (v[TRANSFER_MESSAGE_FORMAT].wire_type != V1_NULL and v[TRANSFER_MESSAGE_FORMAT].u != 0):
        return BAD_FRAME if s.fault.code != OK else 0
    if AMQP_UNLIKELY(v1_true(&v[TRANSFER_RESUME]) and v[TRANSFER_STATE].wire_type != V1_NULL):
        # It resumes inside of a section, or only its state comes: there is no message to read.
        if v[TRANSFER_STATE].wire_type == V1_DESCRIBED:
            c = s.c
            c.p = v[TRANSFER_STATE].p
            c.end = c.p + v[TRANSFER_STATE].n
            d = v1_known(s.protocol.v1, &c)
            position = d != NULL and d.code == DESC_RECEIVED
        if position or n == 0:
            return BAD_FRAME if s.fault.code != OK else 0
    if o == NULL:
        return append_v1_message(s, payload, n, e.base, s.rows)
    position = s.fault.code == OK
    status = append_v1_message(s, payload, n, payload, s.rows)
    if status == BAD_FRAME and position:
        place_v1_fault(s, o)
    return status


cdef int read_v1_transfer(Sink* s, const Entry* e, const uint8_t** list_) noexcept nogil:
    """The fields of a transfer that was read before, into s.fields."""
    cdef V1Check k
    cdef const V1Desc* d = read_v1_head(s, e)
    list_[0] = s.c.p
    v1_verify_begin(&k, s.protocol.v1)
    return v1_verify_fields(d, &s.c, &k, 1, s.fields, ~<uint32_t>0)


cdef int end_v1_open(Sink* s, V1Open* o) noexcept nogil:
    """A row of a delivery whose last transfer came."""
    cdef const Entry* e = &v1_piece_at(s.links, o.first).frame
    cdef const uint8_t* payload = join_v1(s, o)
    cdef const uint8_t* list_
    cdef V1Value state
    cdef int status
    if payload == NULL:
        return NO_MEMORY
    state.wire_type = V1_NULL
    if o.state and o.state != o.first:
        read_v1_transfer(s, &v1_piece_at(s.links, o.state).frame, &list_)
        state = s.fields[TRANSFER_STATE]
    read_v1_transfer(s, e, &list_)
    if state.wire_type != V1_NULL:
        s.fields[TRANSFER_STATE] = state
    if o.settled:
        s.fields[TRANSFER_SETTLED].wire_type = V1_BOOLEAN
        s.fields[TRANSFER_SETTLED].u = 1
    s.fault_row = e.row
    status = end_v1_row(s, e, o, append_v1_delivery(s, e, payload, o.have, o, list_))
    v1_close_open(s.links, o)
    return status


cdef int drop_v1_delivery(Sink* s, const Entry* e, V1Open* o) noexcept nogil:
    """A row of a delivery that will not be whole; s.fault says why. e: its first frame; o: NULL where there
    is no other."""
    cdef const V1Desc* d = s.protocol.v1.by_code[DESC_TRANSFER]
    if s.asked[COL_METHOD] != NULL:
        if append_bytes(s.table, s.asked[COL_METHOD], s.rows, d.name,
                        s.protocol.methods[d - s.protocol.v1.desc].name_n) < 0:
            return NO_MEMORY
    return end_v1_row(s, e, o, BAD_FRAME)


cdef int end_v1_cut(Sink* s, V1Open* o) noexcept nogil:
    """A row of a delivery whose last transfer does not come."""
    cdef V1Piece* last = v1_piece_at(s.links, o.last)
    memset(&s.fault, 0, sizeof(Fault))
    s.fault.code = BAD_INCOMPLETE
    s.fault.scope = SCOPE_CONNECTION
    s.fault.what = b"a delivery"
    s.fault.have = o.have
    s.fault.at.method = b"transfer"
    s.fault.offset = <uint64_t>(last.frame.start - last.frame.base) + last.frame.total
    s.fault_row = last.frame.row
    return drop_v1_delivery(s, &v1_piece_at(s.links, o.first).frame, o)


cdef int end_v1_all(Sink* s) noexcept nogil:
    """What is open will not be complete any more."""
    cdef V1Links* a = s.links
    cdef V1Open* o
    cdef int status
    while a.n_open:
        o = v1_open_at(a, v1_open_at(a, 0).after)
        status = end_v1_cut(s, o) if delivery_step(&o.grammar, DELIVERY_ON_ENDED) == DELIVERY_CUT else 0
        v1_close_open(a, o)
        if status < 0:
            return status
    return 0


cdef int end_v1_value(Sink* s) noexcept nogil:
    """What is open goes on in no other value; its rest, if one comes, is no message."""
    cdef V1Links* a = s.links
    cdef V1Open* o
    cdef uint32_t k = 0
    cdef int status = 0
    # Those of this value stand at the end, those of earlier ones before them.
    while v1_open_at(a, k).before and not v1_open_at(a, v1_open_at(a, k).before).loose:
        k = v1_open_at(a, k).before
    while k and status == 0:
        o = v1_open_at(a, k)
        k = o.after
        if o.grammar == DELIVERY_OPEN:
            status = end_v1_cut(s, o)
        delivery_step(&o.grammar, DELIVERY_ON_DISCARD)
        o.loose = True
        v1_drop_pieces(a, o)
    return status


cdef bint v1_goes_on(Sink* s, V1Open* o) noexcept nogil:
    """Whether what s.fields says of the delivery is what its first transfer said, whose fields are there then."""
    cdef V1Value[TRANSFER_SETTLED] now
    cdef const uint8_t* list_
    cdef Cursor c = s.c
    if v1_is_silent(s.fields):
        return True
    memcpy(now, s.fields, sizeof(now))
    read_v1_transfer(s, &v1_piece_at(s.links, o.first).frame, &list_)
    s.c = c
    return v1_same_delivery(s.fields, now)


cdef int step_v1_transfer(Sink* s, const Entry* e, const uint8_t* list_) noexcept nogil:
    """A transfer whose fields are in s.fields; s.c is over its payload."""
    cdef V1Links* a = s.links
    cdef uint64_t key = v1_link_key(e, &s.fields[TRANSFER_HANDLE])
    cdef uint32_t k = v1_find_open(a, key)
    cdef bint more = v1_true(&s.fields[TRANSFER_MORE])
    cdef bint aborted = v1_true(&s.fields[TRANSFER_ABORTED])
    cdef bint settled = v1_true(&s.fields[TRANSFER_SETTLED])
    cdef bint state = s.fields[TRANSFER_STATE].wire_type != V1_NULL
    cdef bint other = False
    cdef const uint8_t* payload = s.c.p
    cdef V1Open* o = v1_open_at(a, k)
    cdef DeliveryState none = DELIVERY_IDLE
    cdef DeliveryState* grammar = &none
    cdef DeliveryOutcome outcome
    cdef int status
    if AMQP_UNLIKELY(k != 0) and o.loose and not v1_is_unidentified(s.fields):
        v1_close_open(a, o)     # not the rest of what another value began
        k = 0
    if k:
        grammar = &o.grammar
        other = o.grammar == DELIVERY_OPEN and not v1_goes_on(s, o)
    outcome = delivery_step(grammar, delivery_event(more, aborted, other))
    if outcome == DELIVERY_DROPPED:
        if k:
            v1_close_open(a, o)
        return 0
    if k == 0 and a.single != NULL and v1_is_unidentified(s.fields):
        v1_out_of_place(s, e, b"the beginning of the delivery is missing")
        return drop_v1_delivery(s, e, NULL)
    if AMQP_LIKELY(outcome == DELIVERY_ALONE):
        status = append_v1_delivery(s, e, payload, <uint64_t>(s.c.end - payload), NULL, list_)
        return end_v1_row(s, e, NULL, status)
    if outcome == DELIVERY_IGNORED:
        if o.grammar == DELIVERY_IDLE:
            v1_close_open(a, o)
        return end_v1_row(s, e, NULL, v1_out_of_place(s, e, b"the rest of a delivery that was given up"))
    if outcome == DELIVERY_BEGUN:
        o = v1_begin_open(a, key)
        if o == NULL:
            return NO_MEMORY
        o.grammar = none
    if v1_add_piece(a, o, e, payload) < 0:
        return NO_MEMORY
    if delivery_fault(outcome) != NULL:
        v1_out_of_place(s, e, delivery_fault(outcome))
        status = drop_v1_delivery(s, &v1_piece_at(a, o.first).frame, o)
        if o.grammar == DELIVERY_SKIPS:
            v1_drop_pieces(a, o)
        else:
            v1_close_open(a, o)
        return status
    o.settled = o.settled or settled
    if state:
        o.state = o.last
    return end_v1_open(s, o) if outcome == DELIVERY_COMPLETE else 0
