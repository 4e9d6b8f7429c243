# Credentials of AMQP 1.0 beside the login: the tokens that clients put to the node $cbs, and properties of a
# connection that are named like one. Overwritten where they lie.

# What a direction of AMQP 1.0 is known to put tokens by: a channel and a handle, and one more; or 0.
cdef struct TokenLinks:
    uint64_t link           # attached to $cbs
    uint64_t going          # inside a delivery with a token


cdef void hide_text(Cursor* c) noexcept nogil:
    """Overwrite the content of the text or binary at the cursor, which steps over it or to the end."""
    cdef V1Value v
    cdef const uint8_t* from_ = c.p
    if c.p >= c.end:
        return
    if v1_read(c, &v) == 0 and V1_BINARY <= v.wire_type <= V1_SYMBOL:
        hide(<uint8_t*>v.p, v.n)
        return
    # Cut off, or no text: the constructor stays, and the length that follows it.
    from_ += min(<size_t>(c.end - from_), <size_t>(5 if from_[0] >> 4 == CATEGORY_VARIABLE4
                                                   else 2 if from_[0] >> 4 == CATEGORY_VARIABLE1 else 1))
    hide(<uint8_t*>from_, <size_t>(c.end - from_))
    c.p = c.end


cdef int read_over(Cursor* c, V1Value* v) noexcept nogil:
    """Read a value, and step over all of it."""
    if v1_read(c, v) < 0:
        return -1
    return v1_skip_described(c) if v.wire_type == V1_DESCRIBED else 0


cdef void hide_pairs(const V1Value* map_, const Cursor* around) noexcept nogil:
    """The same of a verified map's values under names of secrets."""
    cdef Cursor c = around[0]
    cdef V1Value key, v
    cdef uint32_t i
    c.p = map_.p
    c.end = map_.p + map_.n
    for i in range(map_.count >> 1):
        if read_over(&c, &key) < 0:
            return
        if V1_STRING <= key.wire_type <= V1_SYMBOL and is_secret_name(key.p, key.n):
            hide_text(&c)
        else:
            read_over(&c, &v)


cdef void hide_body(const V1Types* types, Cursor* c) noexcept nogil:
    """Overwrite the body of the message at the cursor, of which there may be a part only."""
    cdef V1Value v
    cdef const V1Desc* d
    while c.end - c.p > 3:
        if c.p[0] != 0:
            break
        c.p += 1
        d = v1_known(types, c)
        if d == NULL:
            break
        if SEC_FIRST_CODE + SEC_DATA <= d.code <= SEC_FIRST_CODE + SEC_AMQP_VALUE:
            hide_text(c)
        elif v1_read(c, &v) < 0:
            break               # of a section before the body, and cut off
    hide(<uint8_t*>c.p, <size_t>(c.end - c.p))


cdef void hide_transfer(const V1Types* types, const V1Value* v, Cursor* c, TokenLinks* links, uint64_t key,
                        bint unseen) noexcept nogil:
    """A transfer whose payload is at the cursor. unseen: links may have been attached before the capture."""
    cdef bint more = v[TRANSFER_MORE].wire_type != V1_NULL and v[TRANSFER_MORE].u != 0
    if links.going == key:
        hide(<uint8_t*>c.p, <size_t>(c.end - c.p))
    elif links.link == key or (unseen and has_text(c.p, min(<size_t>(c.end - c.p), <size_t>1024), b"put-token", 9)):
        hide_body(types, c)
        links.going = key
    if links.going == key and not more:
        links.going = 0


cdef void v1_hide_tokens(const V1Types* types, uint8_t* p, size_t n, TokenLinks* links, bint unseen) noexcept nogil:
    """Tokens and properties named like secrets in the frames of a row, one or those of a delivery."""
    cdef V1Value[V1_MAX_FIELDS] v
    cdef Fault fault
    cdef Cursor c
    cdef V1Check k
    cdef const V1Desc* d
    cdef uint64_t key
    cdef size_t size, skip
    while n >= 8 and p[0] != c'A':
        size = min(<size_t>load32(p), n)
        skip = 4 * <size_t>p[4]
        if skip < 8 or skip >= size or p[5] != V1_FRAME_AMQP:
            return
        v1_begin(&c, &fault, p + skip, p + size, p, 0)
        d = v1_look_descriptor(types, &c, V1_FRAME_AMQP)
        if d != NULL and (d.code == DESC_ATTACH or d.code == DESC_OPEN
                          or (d.code == DESC_TRANSFER and (unseen or links.link or links.going))):
            v1_verify_begin(&k, types)
            if v1_verify_fields(d, &c, &k, 1, v, ALL_FIELDS) == 0:
                key = (<uint64_t>load16(p + 6) << 32 | v[0].u) + 1
                if d.code == DESC_TRANSFER:
                    hide_transfer(types, v, &c, links, key, unseen)
                elif d.code == DESC_OPEN:
                    if v[OPEN_PROPERTIES].wire_type == V1_MAP:
                        hide_pairs(&v[OPEN_PROPERTIES], &c)
                elif v[ATTACH_TARGET].wire_type == V1_DESCRIBED and has_text(
                        v[ATTACH_TARGET].p, v[ATTACH_TARGET].n, b"$cbs", 4):
                    links.link = (<uint64_t>load16(p + 6) << 32 | v[ATTACH_HANDLE].u) + 1
        p += size
        n -= size
