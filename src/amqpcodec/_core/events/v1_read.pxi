# What performatives of 1.0 hold that events are made of: composites, errors, addresses, messages.

# A performative, whose fields were checked; those that are missing are null.
cdef struct TrackedPerformative:
    uint8_t code
    uint16_t channel
    const V1Value* v

cdef uint32_t ALL_V1_FIELDS = 0xFFFFFFFF


cdef inline bint has_v1(const V1Value* v) noexcept nogil:
    return v.wire_type != V1_NULL


cdef inline void set_v1_text(EventText* to, const V1Value* v, size_t limit) noexcept nogil:
    """A string, symbol or binary of at most so many bytes; anything else is none."""
    to.p = NULL
    to.n = 0
    if v1_is_variable(v.wire_type) and v.n <= limit:
        to.p = v.p if v.p != NULL else <const uint8_t*>b""
        to.n = v.n


cdef int v1_described_code(Tracking* g, const V1Value* v) noexcept nogil:
    """Which type of the protocol a value is, or 0."""
    cdef Cursor c
    cdef Fault fault
    cdef const V1Desc* d
    if v.wire_type != V1_DESCRIBED:
        return 0
    begin_cursor(&c, &fault, v.p, v.p + v.n, v.p, 0)
    d = v1_known(g.v1, &c)
    return 0 if d == NULL else d.code


cdef bint read_v1_composite(Tracking* g, const V1Value* v, int code, V1Value* out) noexcept nogil:
    """The fields of a value, if it is of this type."""
    cdef Cursor c
    cdef Fault fault
    cdef V1Check k
    cdef const V1Desc* d
    if v.wire_type != V1_DESCRIBED:
        return False
    begin_cursor(&c, &fault, v.p, v.p + v.n, v.p, 0)
    d = v1_known(g.v1, &c)
    if d == NULL or d.code != code:
        return False
    v1_verify_begin(&k, g.v1)
    return v1_verify_fields(d, &c, &k, 1, out, ALL_V1_FIELDS) == 0


cdef bint read_v1_item(Cursor* c, V1Value* v) noexcept nogil:
    """The next value of a map, whatever is in it; whether it can be read."""
    cdef Cursor at = c[0]
    cdef V1Check k
    if v1_read(&at, v) < 0:
        return False
    v1_check_begin(&k, 0)
    return v1_check(c, &k, 1) >= 0


cdef bint find_v1_text(const V1Value* map_, const char* key, EventText* out) noexcept nogil:
    """The string of this key in a map, whose structure was checked."""
    cdef Cursor c
    cdef Fault fault
    cdef V1Value name, v
    cdef uint32_t i
    cdef size_t n = strlen(key)
    if map_.wire_type != V1_MAP:
        return False
    begin_cursor(&c, &fault, map_.p, map_.p + map_.n, map_.p, 0)
    for i in range(map_.count // 2):
        if not read_v1_item(&c, &name) or not read_v1_item(&c, &v):
            return False
        if v1_is_variable(name.wire_type) and name.n == n and memcmp(name.p, key, n) == 0:
            set_v1_text(out, &v, NAME_LIMIT)
            return out.p != NULL
    return False


cdef bint set_v1_error(Tracking* g, Event* e, const V1Value* v) noexcept nogil:
    """The condition and description of an error, if there is one."""
    cdef V1Value[V1_MAX_FIELDS] fields
    if not read_v1_composite(g, v, DESC_ERROR, fields):
        return False
    set_v1_text(&e.text[TEXT_REASON], &fields[ERROR_CONDITION], MAX_U32)
    e.text[TEXT_REASON].n = min(e.text[TEXT_REASON].n, <uint32_t>TEXT_LIMIT)
    set_v1_text(&e.text[TEXT_REPLY_TEXT], &fields[ERROR_DESCRIPTION], MAX_U32)
    cut_text(&e.text[TEXT_REPLY_TEXT], TEXT_LIMIT)
    return True


# ---- addresses ----

# What an address says. Texts are parts of it, or of `room`.
cdef struct V1Address:
    EventText exchange
    EventText routing_key
    EventText queue
    bint subject            # the routing key is the message's subject
    uint8_t certainty
    size_t used
    uint8_t[ADDRESS_LIMIT] room


cdef void clear_address(V1Address* a) noexcept nogil:
    a.exchange.p = a.routing_key.p = a.queue.p = NULL
    a.exchange.n = a.routing_key.n = a.queue.n = 0
    a.subject = False
    a.certainty = IS_UNKNOWN
    a.used = 0


cdef inline int hex_digit(uint8_t c) noexcept nogil:
    if c'0' <= c <= c'9':
        return c - c'0'
    c |= 0x20
    return c - c'a' + 10 if c'a' <= c <= c'f' else -1


cdef bint decode_part(V1Address* a, const uint8_t* p, size_t n, EventText* out) noexcept nogil:
    """A part of an address, %XX decoded, of at most NAME_LIMIT bytes then; an address has ADDRESS_LIMIT."""
    cdef size_t i = 0, start = a.used
    cdef int high, low
    while i < n:
        if p[i] == c'%':
            high = hex_digit(p[i + 1]) if n - i > 2 else -1
            low = hex_digit(p[i + 2]) if n - i > 2 else -1
            if high < 0 or low < 0:
                return False
            a.room[a.used] = <uint8_t>(high << 4 | low)
            i += 3
        else:
            a.room[a.used] = p[i]
            i += 1
        a.used += 1
    if a.used - start > NAME_LIMIT:
        return False
    out.p = a.room + start
    out.n = <uint32_t>(a.used - start)
    return True


cdef bint strip_prefix(const EventText* text, const char* prefix, EventText* out) noexcept nogil:
    """What comes after a prefix."""
    cdef uint32_t n = <uint32_t>strlen(prefix)
    if text.n < n or memcmp(text.p, prefix, n) != 0:
        return False
    out.p = text.p + n
    out.n = text.n - n
    return True


cdef bint split_exchange(V1Address* a, const EventText* rest) noexcept nogil:
    """An exchange, and a routing key after a slash."""
    cdef const uint8_t* slash = <const uint8_t*>memchr(rest.p, c'/', rest.n) if rest.n else NULL
    cdef size_t n = <size_t>(slash - rest.p) if slash != NULL else rest.n
    if not decode_part(a, rest.p, n, &a.exchange):
        return False
    if slash != NULL:
        return decode_part(a, slash + 1, rest.n - n - 1, &a.routing_key)
    return True


cdef void split_address(const Tracker* t, const EventText* address, V1Address* a) noexcept nogil:
    """What an address stands for: a queue of this name or, in RabbitMQ's addresses, what its parts say."""
    cdef EventText rest
    cdef bint good
    clear_address(a)
    if address.p == NULL or address.n == 0 or address.n > ADDRESS_LIMIT:
        return
    if address.p[0] != c'/' or t.broker == BROKER_OTHER:
        if address.n <= NAME_LIMIT:
            a.queue = address[0]
            a.certainty = IS_EXACT
        return
    if strip_prefix(address, b"/queues/", &rest) or strip_prefix(address, b"/queue/", &rest) \
            or strip_prefix(address, b"/amq/queue/", &rest):
        good = decode_part(a, rest.p, rest.n, &a.queue)
    elif strip_prefix(address, b"/exchanges/", &rest):
        good = split_exchange(a, &rest)
        if a.routing_key.p == NULL:
            a.routing_key.p = a.room
    elif strip_prefix(address, b"/exchange/", &rest):
        good = split_exchange(a, &rest)
        a.subject = a.routing_key.p == NULL
    elif strip_prefix(address, b"/topic/", &rest):
        a.exchange.p = <const uint8_t*>b"amq.topic"
        a.exchange.n = 9
        good = decode_part(a, rest.p, rest.n, &a.routing_key)
    else:
        return
    if not good:
        clear_address(a)
        return
    a.certainty = <uint8_t>(IS_EXACT if t.broker == BROKER_RABBITMQ else IS_INFERRED)


# ---- messages ----

cdef enum:
    ID_BYTES = 255          # of a binary that is an id, at most
    ID_ROOM = 600

# What a message says. Texts are its bytes, or in `ids`.
cdef struct V1Message:
    EventText to
    EventText subject
    uint8_t[2][ID_ROOM] ids
    bint of_coordinator     # it declares or discharges a transaction


cdef const char** ID_PREFIXES = ["AMQP_STRING:", "AMQP_ULONG:", "AMQP_UUID:", "AMQP_BINARY:"]


cdef size_t store_hex_bytes(char* w, const uint8_t* p, size_t n) noexcept nogil:
    cdef size_t i
    for i in range(n):
        snprintf(w + 2 * i, 3, b"%02X", <unsigned int>p[i])
    return 2 * n


cdef void set_v1_id(EventText* out, const V1Value* v, uint8_t* room) noexcept nogil:
    """An id as text, as the columns of messages have it: it says the type where that is no string."""
    cdef char* w = <char*>room
    cdef size_t at
    cdef int i
    out.p = NULL
    out.n = 0
    if v.wire_type == V1_STRING:
        set_v1_text(out, v, TEXT_LIMIT)
        for i in range(4):
            at = strlen(ID_PREFIXES[i])
            if out.n >= at and memcmp(out.p, ID_PREFIXES[i], at) == 0 and out.n + 12 <= ID_ROOM:
                memcpy(w, ID_PREFIXES[0], 12)
                memcpy(w + 12, out.p, out.n)
                out.p = room
                out.n += 12
                return
        return
    if v.wire_type == V1_ULONG:
        at = <size_t>snprintf(w, ID_ROOM, b"%s%llu", ID_PREFIXES[1], <unsigned long long>v.u)
    elif v.wire_type == V1_UUID:
        at = <size_t>snprintf(w, ID_ROOM, b"%s", ID_PREFIXES[2])
        for i in range(16):
            if i == 4 or i == 6 or i == 8 or i == 10:
                w[at] = c'-'
                at += 1
            at += <size_t>snprintf(w + at, 3, b"%02x", <unsigned int>v.p[i])
    elif v.wire_type == V1_BINARY and v.n <= ID_BYTES:
        at = <size_t>snprintf(w, ID_ROOM, b"%s", ID_PREFIXES[3])
        at += store_hex_bytes(w + at, v.p, v.n)
    else:
        return
    out.p = room
    out.n = <uint32_t>at


cdef bint read_v1_section(Tracking* g, const uint8_t* p, size_t n, V1Value* out) noexcept nogil:
    """The fields of a section that is a composite, which begins at p with its descriptor."""
    cdef V1Value v
    cdef int code
    v.wire_type = V1_DESCRIBED
    v.p = p + 1
    v.n = <uint32_t>(n - 1)
    code = v1_described_code(g, &v)
    return code != 0 and read_v1_composite(g, &v, code, out)


cdef void read_v1_header(Tracking* g, const uint8_t* p, size_t n, Event* e) noexcept nogil:
    """Whether the header says that it was delivered before, in either of two ways."""
    cdef V1Value[V1_MAX_FIELDS] v
    e.head.redelivered = 2
    if not read_v1_section(g, p, n, v):
        return
    if has_v1(&v[HEADER_DELIVERY_COUNT]):
        e.head.redelivered = v[HEADER_DELIVERY_COUNT].u != 0
    else:
        e.head.redelivered = has_v1(&v[HEADER_FIRST_ACQUIRER]) and v[HEADER_FIRST_ACQUIRER].u == 0


cdef void read_v1_properties(Tracking* g, const uint8_t* p, size_t n, Event* e, V1Message* m) noexcept nogil:
    cdef V1Value[V1_MAX_FIELDS] v
    if not read_v1_section(g, p, n, v):
        return
    set_v1_id(&e.text[TEXT_MESSAGE_ID], &v[PROPERTIES_MESSAGE_ID], m.ids[0])
    set_v1_id(&e.text[TEXT_CORRELATION_ID], &v[PROPERTIES_CORRELATION_ID], m.ids[1])
    cut_text(&e.text[TEXT_MESSAGE_ID], TEXT_LIMIT)
    cut_text(&e.text[TEXT_CORRELATION_ID], TEXT_LIMIT)
    if v[PROPERTIES_TO].wire_type == V1_STRING:
        set_v1_text(&m.to, &v[PROPERTIES_TO], ADDRESS_LIMIT)
    if v[PROPERTIES_SUBJECT].wire_type == V1_STRING:
        set_v1_text(&m.subject, &v[PROPERTIES_SUBJECT], NAME_LIMIT)


cdef void read_v1_body(Tracking* g, const uint8_t* p, size_t n, int section, Event* e, V1Message* m) noexcept nogil:
    """The bytes of data sections together; of a value or of sequences, those that encode them."""
    cdef const uint8_t* end = p + n
    cdef BodyHash body
    cdef Cursor c
    cdef Fault fault
    cdef V1Value v
    memset(&body, 0, sizeof(body))
    while p < end:
        begin_cursor(&c, &fault, p + 1, end, p, 0)
        if v1_known(g.v1, &c) == NULL:
            return
        if section == SEC_DATA:
            if v1_read(&c, &v) < 0 or not v1_is_variable(v.wire_type):
                return
            hash_bytes(&body, v.p, v.n)
            p = c.p
        else:
            if section == SEC_AMQP_VALUE and end - c.p > 1 and c.p[0] == CTOR_DESCRIBED:
                v.wire_type = V1_DESCRIBED
                v.p = c.p + 1
                v.n = <uint32_t>(end - v.p)
                m.of_coordinator = DESC_DECLARE <= v1_described_code(g, &v) <= DESC_DISCHARGE
            hash_bytes(&body, c.p, <size_t>(end - c.p))
            p = end
    e.head.body_size = <int64_t>body.n
    if body.n:
        e.head.content = hash_value(&body)


cdef void read_v1_message(Tracking* g, const uint8_t* p, size_t n, Event* e, V1Message* m) noexcept nogil:
    """What a complete message of n bytes says; nothing of one that cannot be read."""
    cdef uint32_t[SEC_COUNT] offset
    cdef uint32_t[SEC_COUNT] length
    cdef Cursor c
    cdef Fault fault
    cdef int have, i
    begin_cursor(&c, &fault, p, p + n, p, 0)
    have = v1_scan_sections(&c, g.v1, offset, length)
    if have < 0:
        return
    e.head.redelivered = 0
    if have >> SEC_HEADER & 1:
        read_v1_header(g, p + offset[SEC_HEADER], length[SEC_HEADER], e)
    if have >> SEC_PROPERTIES & 1:
        read_v1_properties(g, p + offset[SEC_PROPERTIES], length[SEC_PROPERTIES], e, m)
    for i in range(SEC_DATA, SEC_AMQP_VALUE + 1):
        if have >> i & 1:
            read_v1_body(g, p + offset[i], length[i], i, e, m)
