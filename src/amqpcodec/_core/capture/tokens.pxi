# Credentials of AMQP 1.0 beside the login: the tokens that clients put to the node $cbs, and properties of a
# connection that are named like one. Overwritten where they lie.

cdef enum:
    TOKEN_LINKS = 8         # of a direction that are known at once

# Where a direction of AMQP 1.0 puts tokens. A key is a channel and a handle, and one more; 0: none.
cdef struct TokenLinks:
    uint64_t[TOKEN_LINKS] attached      # to $cbs
    uint64_t[TOKEN_LINKS] going         # inside a delivery with a token
    bint unseen             # others may be attached to $cbs: bytes are missing, or there were too many
    bint all_               # so many tokens were under way that all deliveries count as one
    bint cut                # the frame that ends where the bytes do may go on with a secret


cdef inline int find_key(const uint64_t* keys, uint64_t key) noexcept nogil:
    cdef int i
    for i in range(TOKEN_LINKS):
        if keys[i] == key:
            return i
    return -1


cdef inline void forget_key(uint64_t* keys, uint64_t key) noexcept nogil:
    cdef int i = find_key(keys, key)
    if i >= 0:
        keys[i] = 0


cdef inline bint add_key(uint64_t* keys, uint64_t key) noexcept nogil:
    """False: there is no room."""
    cdef int i = find_key(keys, key)
    if i < 0:
        i = find_key(keys, 0)
    if i >= 0:
        keys[i] = key
    return i >= 0


cdef inline void update_attached(TokenLinks* links, uint64_t key, bint to_cbs) noexcept nogil:
    if not to_cbs:
        forget_key(links.attached, key)     # the handle was another link's
    elif not add_key(links.attached, key):
        links.unseen = True


cdef void v1_hide_rest(Cursor* c, uint8_t* from_) noexcept nogil:
    """Overwrite all from a value on that cannot be read, but for its constructor and the length that follows it."""
    if from_ < c.end:
        from_ += min(<size_t>(c.end - from_), <size_t>(5 if from_[0] >> 4 == CATEGORY_VARIABLE4
                                                       else 2 if from_[0] >> 4 == CATEGORY_VARIABLE1 else 1))
        hide(from_, <size_t>(c.end - from_))
    c.p = c.end


cdef void v1_hide_value(Cursor* c, V1Value* v, bint secret, int depth) noexcept nogil:
    """Overwrite what is secret of the value at the cursor: all of it, or what maps in it name so. The cursor steps
    over it, or to the end where it cannot be read. v: the value, of a described one what is described."""
    cdef uint8_t* from_ = <uint8_t*>c.p
    if v1_read(c, v) < 0 or (v.wire_type == V1_DESCRIBED and depth >= DEPTH_LIMIT):
        v1_hide_rest(c, from_)
        v.wire_type = V1_NULL
    elif v.wire_type == V1_DESCRIBED:
        v1_hide_value(c, v, secret, depth + 1)
        v1_hide_value(c, v, secret, depth + 1)
    else:
        v1_hide_content(c, v, from_, from_ + 1, secret, depth)


cdef void v1_hide_content(const Cursor* c, const V1Value* v, uint8_t* constructor, uint8_t* from_, bint secret,
                          int depth) noexcept nogil:
    """The same of a value's content, which is the bytes from from_ to the cursor."""
    cdef Cursor inner
    if v.wire_type >= V1_LIST:
        v1_inside(c, v, &inner)
        if depth >= DEPTH_LIMIT:
            hide(<uint8_t*>inner.p, v.n)
        elif v.wire_type == V1_ARRAY:
            v1_hide_array(&inner, secret, depth + 1)
        else:
            v1_hide_items(&inner, v.wire_type == V1_MAP, secret, depth + 1)
    elif not secret:
        return
    elif v1_is_variable(v.wire_type):
        hide(<uint8_t*>v.p, v.n)
    elif v.code == CTOR_TRUE:
        constructor[0] = CTOR_FALSE
    else:
        memset(from_, 0, <size_t>(c.p - from_))


cdef void v1_hide_items(Cursor* c, bint is_map, bint secret, int depth) noexcept nogil:
    """The items of a list, or the keys and values of a map."""
    cdef V1Value v
    cdef bint hidden = secret
    while c.p < c.end:
        v1_hide_value(c, &v, secret, depth)
        if is_map and c.p < c.end:
            hidden = secret or (v1_is_variable(v.wire_type) and is_secret_name(v.p, v.n))
            v1_hide_value(c, &v, hidden, depth)


cdef void v1_hide_array(Cursor* c, bint secret, int depth) noexcept nogil:
    """An array: descriptors and a constructor that all items share, then their content."""
    cdef V1Value v
    cdef uint8_t* constructor
    cdef uint8_t* from_
    while c.p < c.end and c.p[0] == CTOR_DESCRIBED:
        c.p += 1
        v1_hide_value(c, &v, secret, depth)
    if c.p == c.end:
        return
    constructor = <uint8_t*>c.p
    v.wire_type = CTOR_WIRE_TYPE[constructor[0]]
    if v.wire_type == V1_UNKNOWN:
        v1_hide_rest(c, constructor)
        return
    c.p += 1
    if constructor[0] >> 4 == CATEGORY_FIXED0:
        if secret and constructor[0] == CTOR_TRUE:
            constructor[0] = CTOR_FALSE
        hide(<uint8_t*>c.p, <size_t>(c.end - c.p))      # of which there is nothing
        return
    while c.p < c.end:
        from_ = <uint8_t*>c.p
        if v1_content(c, &v, constructor[0]) < 0:
            hide(from_, <size_t>(c.end - from_))
            return
        v1_hide_content(c, &v, constructor, from_, secret, depth)


cdef void hide_body(const V1Types* types, Cursor* c) noexcept nogil:
    """Overwrite the body of the message at the cursor, of which there may be a part only."""
    cdef V1Value v
    cdef V1Check check
    cdef const V1Desc* d
    cdef Cursor value
    cdef const uint8_t* start
    while c.end - c.p > 3:
        if c.p[0] != 0:
            break
        c.p += 1
        d = v1_known(types, c)
        if d == NULL or not SEC_FIRST_CODE <= d.code < SEC_FIRST_CODE + SEC_COUNT:
            break
        if SEC_FIRST_CODE + SEC_DATA <= d.code <= SEC_FIRST_CODE + SEC_AMQP_VALUE:
            v1_hide_value(c, &v, True, 0)
            continue
        # A section before the body is a list or map. It may be cut off; or its length, or what it is, is wrong.
        start = c.p
        value = c[0]
        v1_check_begin(&check, 0)
        if v1_check(c, &check, 1) < 0 or v1_read(&value, &v) < 0 or (v.wire_type != V1_LIST and v.wire_type != V1_MAP):
            c.p = start
            break
    hide(<uint8_t*>c.p, <size_t>(c.end - c.p))


cdef bint may_put_token(const V1Types* types, const Cursor* c, bint more) noexcept nogil:
    """Whether the payload at the cursor asks for a token to be put, as far as what comes before the body tells.
    What ends before the body and goes on may. more: it goes on in the next transfer."""
    cdef Cursor at = c[0]
    cdef V1Value v
    cdef const V1Desc* d
    while at.end - at.p > 3 and at.p[0] == 0:
        at.p += 1
        d = v1_known(types, &at)
        if d != NULL and SEC_FIRST_CODE + SEC_DATA <= d.code <= SEC_FIRST_CODE + SEC_AMQP_VALUE:
            return has_text(c.p, <size_t>(at.p - c.p), b"put-token", 9)
        if d == NULL or v1_read(&at, &v) < 0:
            break
    if more and at.p > c.p:
        return True
    return has_text(c.p, <size_t>(c.end - c.p), b"put-token", 9)


cdef bint hide_transfer(const V1Types* types, const V1Value* v, Cursor* c, TokenLinks* links, uint64_t key,
                        bint unseen) noexcept nogil:
    """A transfer whose payload is at the cursor: whether it has a token. unseen: links may be attached that are
    not known."""
    cdef bint more = v[TRANSFER_MORE].wire_type != V1_NULL and v[TRANSFER_MORE].u != 0
    if links.all_ or find_key(links.going, key) >= 0:
        hide(<uint8_t*>c.p, <size_t>(c.end - c.p))
    elif find_key(links.attached, key) >= 0 or (unseen and may_put_token(types, c, more)):
        hide_body(types, c)
    else:
        return False
    if not more:
        forget_key(links.going, key)
    elif not add_key(links.going, key):
        links.all_ = True
    return True


cdef void hide_unknown_transfer(const TokenLinks* links, Cursor* fields, Cursor* payload) noexcept nogil:
    """A transfer that does not say whose it is: it may have a token. payload: NULL where the fields do not even say
    where it begins."""
    if has_links(links) or has_text(fields.p, <size_t>(fields.end - fields.p), b"put-token", 9):
        if payload != NULL:
            hide(<uint8_t*>payload.p, <size_t>(payload.end - payload.p))
        else:
            v1_hide_rest(fields, <uint8_t*>fields.p)


cdef bint has_links(const TokenLinks* links) noexcept nogil:
    cdef int i
    for i in range(TOKEN_LINKS):
        if links.attached[i] or links.going[i]:
            return True
    return links.all_


cdef void v1_hide_tokens(const V1Types* types, uint8_t* p, size_t n, TokenLinks* links, bint syn) noexcept nogil:
    """Tokens and properties named like secrets in the frames of a row, one or those of a delivery.

    syn: the beginning of the direction is known."""
    cdef V1Value[V1_MAX_FIELDS] v
    cdef Fault fault
    cdef Cursor c, fields
    cdef V1Check k
    cdef const V1Desc* d
    cdef const V1Value* handle
    cdef uint64_t key
    cdef size_t size, skip
    cdef bint unseen, cut, secret, sound
    while n >= 8 and p[0] != c'A':
        cut = load32(p) > n
        size = min(<size_t>load32(p), n)
        skip = 4 * <size_t>p[4]
        unseen = links.unseen or not syn
        if size < 8:    # less than its head: no frame, and what follows may be anything
            if unseen or has_links(links):
                hide(p + 8, n - 8)
            return
        if p[5] != V1_FRAME_AMQP or skip == size:
            return
        if skip < 8 or skip > size:
            if unseen or has_links(links):
                hide(p + 8, size - 8)
            return
        begin_cursor(&c, &fault, p + skip, p + size, p, 0)
        d = v1_find_descriptor(types, &c, V1_FRAME_AMQP)
        secret = d == NULL
        fields = c
        if not cut and (unseen or has_links(links)) and (d == NULL or d.code != DESC_TRANSFER):
            # what cannot be read as it says may be a transfer
            v1_verify_begin(&k, types)
            if d == NULL or v1_verify_fields(d, &c, &k, 1, v, ALL_FIELDS) < 0 or c.p != c.end:
                hide(p + 8, size - 8)
            c = fields
        if d != NULL and (d.code == DESC_ATTACH or (d.code == DESC_TRANSFER and (unseen or has_links(links)))):
            secret = True
            v1_verify_begin(&k, types)
            handle = &v[TRANSFER_HANDLE if d.code == DESC_TRANSFER else ATTACH_HANDLE]
            sound = v1_verify_fields(d, &c, &k, 1, v, ALL_FIELDS) == 0
            if not sound or handle.wire_type == V1_NULL:
                if d.code == DESC_TRANSFER:
                    hide_unknown_transfer(links, &fields, &c if sound else NULL)
                else:
                    links.unseen = True
            else:
                key = (<uint64_t>load16(p + 6) << 32 | handle.u) + 1
                if d.code == DESC_TRANSFER:
                    secret = hide_transfer(types, v, &c, links, key, unseen)
                else:
                    update_attached(links, key, v[ATTACH_TARGET].wire_type == V1_DESCRIBED and has_text(
                        v[ATTACH_TARGET].p, v[ATTACH_TARGET].n, b"$cbs", 4))
        if d != NULL and DESC_OPEN <= d.code <= DESC_ATTACH:
            secret = True
            v1_hide_value(&fields, v, False, 1)     # not verified: it may be cut off
        links.cut = cut and secret
        p += size
        n -= size
