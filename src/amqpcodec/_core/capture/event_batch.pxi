# Columns of events: from the bytes of rows, an event each.

cdef struct CapText:
    const char* p
    size_t n


cdef int capture_type(str format_) except -1:
    """How a column lies in memory: the offsets of a list are those of a text."""
    return AS_TEXT if format_ == "+l" else COLUMN_KINDS[format_]


cdef bytes end_text(const Endpoint* end, uint8_t family):
    import ipaddress
    if family == 0:
        return b""
    if family == 4:
        address = ipaddress.IPv4Address(end.address[:4])
        return f"{address}:{end.port}".encode()
    return f"[{ipaddress.IPv6Address(end.address[:16])}]:{end.port}".encode()


cdef enum:
    EVENTS_AT_ONCE = 64     # their validity is one word
    BYTES_AHEAD = 2048      # from an event to what is asked for into the processor's cache
    WORD_ROOM = 32          # bytes of a word with what pads it
    WORDS_ROOM = 64         # words of one column, at most
    NAME_ROOM = NAME_LIMIT + 80

# Where a text of an event stands among its bytes.
cdef struct EventPlace:
    uint16_t at
    uint16_t n              # or NO_TEXT

# Some rows that are filled: what they hold, and what they refer to.
cdef struct EventRows:
    int64_t at              # the first one: a multiple of EVENTS_AT_ONCE
    int n
    const uint8_t* end      # of the bytes of all rows
    const EventHead* head[EVENTS_AT_ONCE]
    const CapText* client[EVENTS_AT_ONCE]       # of their connections: "address:port"
    EventPlace place[N_EVENT_TEXTS][EVENTS_AT_ONCE]

# Fills a column in these rows, for which there is place. source: which of the values that the writer can write.
# A status below 0, or 0.
ctypedef int (*EventWriter)(Table* t, Column* c, int source, const EventRows* e) noexcept nogil

cdef EventWriter[N_EVENT_COLUMNS] EVENT_WRITERS
cdef uint8_t[N_EVENT_COLUMNS] EVENT_TYPES           # how what they write lies in memory
cdef uint8_t[N_EVENT_COLUMNS] EVENT_SOURCES

# The order is that of EventHead.
cdef enum:
    NUMBER_EVENT_ID
    NUMBER_ANSWERS
    NUMBER_DELIVERY_TAG
    NUMBER_BODY_SIZE
    NUMBER_CONTENT
    NUMBER_MESSAGE_COUNT
    NUMBER_ELAPSED_US

cdef enum:
    SMALL_CHANNEL
    SMALL_REPLY_CODE
    SMALL_HEARTBEAT_S

cdef enum:
    WORD_EVENT
    WORD_OUTCOME
    WORD_CERTAINTY
    WORD_INITIATOR
    WORD_SETTLES
    N_WORD_COLUMNS

# A word, padded so that it can be copied without a look at its size.
cdef struct EventWord:
    uint8_t[WORD_ROOM] text
    uint8_t n               # 0: null

cdef EventWord EVENT_WORDS[N_WORD_COLUMNS][WORDS_ROOM]


cdef int words_ready(int source, const char** names, int n) except -1:
    cdef int i
    for i in range(n):
        if names[i] != NULL:
            if i >= WORDS_ROOM or strlen(names[i]) > <size_t>WORD_ROOM:
                raise ImportError(f"no room for the word {names[i].decode()!r} of events")
            EVENT_WORDS[source][i].n = <uint8_t>strlen(names[i])
            memcpy(EVENT_WORDS[source][i].text, names[i], strlen(names[i]))
    return 0


if sizeof(EventHead) + N_EVENT_TEXTS * TEXT_LIMIT + ROUTE_LIMIT > 0xFFFF:
    raise ImportError("an event may be too long for the numbers of an EventPlace")

words_ready(WORD_EVENT, EVENT_NAMES, N_EVENTS)
words_ready(WORD_OUTCOME, OUTCOME_NAMES, N_OUTCOMES)
words_ready(WORD_CERTAINTY, CERTAINTY_NAMES, N_CERTAINTIES)
words_ready(WORD_INITIATOR, INITIATOR_NAMES, N_INITIATORS)
words_ready(WORD_SETTLES, SETTLES_NAMES, N_SETTLES)


cdef int fills_events(int k, int arrow_type, EventWriter writer, int source=0) except -1:
    """State that code fills a column, which lies so in memory. check_event_columns compares."""
    EVENT_WRITERS[k] = writer
    EVENT_TYPES[k] = <uint8_t>arrow_type
    EVENT_SOURCES[k] = <uint8_t>source
    return 0


cdef inline EventText row_text(const EventRows* e, int k, int i) noexcept nogil:
    """The text k of a row; p is NULL: there is none."""
    cdef const EventPlace* place = &e.place[k][i]
    cdef EventText text
    text.p = <const uint8_t*>e.head[i] + place.at if place.n != NO_TEXT else NULL
    text.n = place.n if place.n != NO_TEXT else 0
    return text


cdef inline void store_bits(uint8_t* w, uint64_t bits, int n) noexcept nogil:
    cdef int i
    for i in range((n + 7) // 8):
        w[i] = <uint8_t>(bits >> 8 * i)


cdef inline int mark_events(Column* c, const EventRows* e, uint64_t present) noexcept nogil:
    """The rows are written, of which those with a bit have a value. 0."""
    c.filled = e.at + e.n
    if c.nullable:
        store_bits(c.valid.p + (e.at >> 3), present, e.n)
    return 0


cdef int fill_event_numbers(Table* t, Column* c, int source, const EventRows* e) noexcept nogil:
    cdef int64_t* out = <int64_t*>c.fixed.p + e.at
    cdef uint64_t present = 0
    cdef int64_t v
    cdef int i
    for i in range(e.n):
        v = (&e.head[i].event_id)[source]
        present |= <uint64_t>(v != NO_NUMBER) << i
        out[i] = v if v != NO_NUMBER else 0
    return mark_events(c, e, present)


cdef int fill_event_smalls(Table* t, Column* c, int source, const EventRows* e) noexcept nogil:
    cdef int32_t* out = <int32_t*>c.fixed.p + e.at
    cdef uint64_t present = 0
    cdef int32_t v
    cdef int i
    for i in range(e.n):
        v = (&e.head[i].channel)[source]
        present |= <uint64_t>(v >= 0) << i
        out[i] = v if v >= 0 else 0
    return mark_events(c, e, present)


cdef int event_data_room(Table* t, Column* c, const EventRows* e, size_t n) noexcept nogil:
    """Room for n bytes of text, and for the rows after these as for those before."""
    if c.used + n >= c.full_at:
        if e.at:
            c.data_hint = c.used // <size_t>e.at * <size_t>c.row_hint + n
        if data_grow(t, c, n) < 0:
            return NO_MEMORY
    data_promise(c, c.used, n)
    return 0


cdef int fill_event_texts(Table* t, Column* c, int source, const EventRows* e) noexcept nogil:
    """Null where it is not UTF-8."""
    cdef const EventPlace* place = e.place[source]
    cdef int32_t* ends = <int32_t*>c.fixed.p + 1 + e.at
    cdef uint64_t present = 0
    cdef size_t n = 0, used = c.used
    cdef uint32_t some = 0, there
    cdef const uint8_t* p
    cdef uint8_t* start
    cdef int i
    for i in range(e.n):
        there = <uint32_t>0 - <uint32_t>(place[i].n != NO_TEXT)
        some |= there
        n += there & place[i].n
    if some == 0:
        for i in range(e.n):
            ends[i] = <int32_t>used
        return mark_events(c, e, 0)
    if event_data_room(t, c, e, n) < 0:
        return NO_MEMORY
    start = c.data.p
    for i in range(e.n):
        n = place[i].n
        p = <const uint8_t*>e.head[i] + place[i].at
        if n == NO_TEXT:
            ends[i] = <int32_t>used
            continue
        if AMQP_LIKELY(<size_t>(e.end - p) >= n + <size_t>COPY_SLACK):
            if AMQP_UNLIKELY(not copy_ascii(start + used, p, n)) and not is_utf8(p, n):
                ends[i] = <int32_t>used
                continue
        elif is_utf8(p, n):
            memcpy(start + used, p, n)
        else:
            ends[i] = <int32_t>used
            continue
        used += n
        ends[i] = <int32_t>used
        present |= <uint64_t>1 << i
    c.used = used
    return mark_events(c, e, present)


cdef int fill_event_words(Table* t, Column* c, int source, const EventRows* e) noexcept nogil:
    cdef int32_t* ends = <int32_t*>c.fixed.p + 1 + e.at
    cdef const EventWord* word
    cdef uint64_t present = 0
    cdef uint8_t* start
    cdef size_t used
    cdef int i
    if event_data_room(t, c, e, <size_t>(WORD_ROOM * e.n)) < 0:
        return NO_MEMORY
    start = c.data.p
    used = c.used
    for i in range(e.n):
        word = &EVENT_WORDS[source][(&e.head[i].event)[source] & (WORDS_ROOM - 1)]
        copy_16(start + used, word.text)
        copy_16(start + used + 16, word.text + 16)
        used += word.n
        present |= <uint64_t>(word.n != 0) << i
        ends[i] = <int32_t>used
    c.used = used
    return mark_events(c, e, present)


cdef size_t store_event_name(uint8_t* w, const EventText* name, const EventText* user,
                             const CapText* client) noexcept nogil:
    """The name that the client gives itself, else user@address: its bytes, NAME_ROOM at most; 0: there is none."""
    cdef size_t n = client.n
    if name.p != NULL and name.n and is_utf8(name.p, name.n):
        memcpy(w, name.p, name.n)
        return name.n
    if user.p == NULL or user.n > NAME_LIMIT or not is_utf8(user.p, user.n):
        return 0
    while n and client.p[n - 1] != c':':
        n -= 1
    if n == 0 or n > 70:
        return 0
    memcpy(w, user.p, user.n)
    w[user.n] = c'@'
    memcpy(w + user.n + 1, client.p, n - 1)
    return user.n + n


cdef int fill_event_names(Table* t, Column* c, int source, const EventRows* e) noexcept nogil:
    """A row most often has the name of the one before it."""
    cdef EventText name, user
    cdef EventText last_name = row_text(e, TEXT_CONNECTION_NAME, 0), last_user = row_text(e, TEXT_USER, 0)
    cdef int32_t* ends = <int32_t*>c.fixed.p + 1 + e.at
    cdef uint64_t present = 0
    cdef uint8_t* start
    cdef size_t used, n = 0
    cdef int i
    if event_data_room(t, c, e, <size_t>(NAME_ROOM * e.n)) < 0:
        return NO_MEMORY
    start = c.data.p
    used = c.used
    for i in range(e.n):
        name = row_text(e, TEXT_CONNECTION_NAME, i)
        user = row_text(e, TEXT_USER, i)
        if i and e.client[i] == e.client[i - 1] and is_equal_text(&name, &last_name) \
                and is_equal_text(&user, &last_user):
            memcpy(start + used, start + used - n, n)
        else:
            n = store_event_name(start + used, &name, &user, e.client[i])
        last_name = name
        last_user = user
        used += n
        present |= <uint64_t>(n != 0) << i
        ends[i] = <int32_t>used
    c.used = used
    return mark_events(c, e, present)


cdef int fill_event_redelivered(Table* t, Column* c, int source, const EventRows* e) noexcept nogil:
    cdef uint64_t present = 0, values = 0
    cdef int i
    for i in range(e.n):
        present |= <uint64_t>(e.head[i].redelivered != 2) << i
        values |= <uint64_t>(e.head[i].redelivered == 1) << i
    store_bits(c.fixed.p + (e.at >> 3), values, e.n)
    return mark_events(c, e, present)


cdef int begin_lists(Column* c) except -1:
    """A column of lists of text, whose offsets lie like those of a text with one byte an item."""
    c.items = table_new(1, 0x7FFFFFFF)
    if c.items == NULL:
        raise MemoryError
    c.items.column[0].arrow_type = AS_TEXT
    c.items.column[0].asked = True
    return 0


cdef inline int append_item(Column* c, const uint8_t* p, size_t n) noexcept nogil:
    """Into the list of the newest row."""
    if append_bytes(c.items, &c.items.column[0], c.items.rows, p, n) < 0:
        return NO_MEMORY
    c.items.rows += 1
    c.used += 1
    return 0


cdef bint is_utf8_route(const EventText* route) noexcept nogil:
    """Whether all names are UTF-8, each of which comes after a byte with its size."""
    cdef uint32_t at = 0, n
    while at < route.n:
        n = route.p[at]
        if n >= route.n - at or not is_utf8(route.p + at + 1, n):
            return False
        at += 1 + n
    return True


cdef int append_route(Column* c, const EventText* route) noexcept nogil:
    cdef uint32_t at = 0
    while at < route.n:
        if append_item(c, route.p + at + 1, route.p[at]) < 0:
            return NO_MEMORY
        at += 1 + <uint32_t>route.p[at]
    return 0


cdef int fill_event_routes(Table* t, Column* c, int source, const EventRows* e) noexcept nogil:
    cdef int32_t* ends = <int32_t*>c.fixed.p + 1 + e.at
    cdef EventText queue, route
    cdef uint64_t present = 0
    cdef int i
    for i in range(e.n):
        if e.head[i].routed:
            queue = row_text(e, TEXT_QUEUE, i)
            route = row_text(e, TEXT_ROUTE, i)
            if e.head[i].routed == ROUTED_BY_BINDINGS and route.p != NULL:
                if is_utf8_route(&route):
                    if append_route(c, &route) < 0:
                        return NO_MEMORY
                    present |= <uint64_t>1 << i
            elif queue.p != NULL and is_utf8(queue.p, queue.n):
                if append_item(c, queue.p, queue.n) < 0:
                    return NO_MEMORY
                present |= <uint64_t>1 << i
        ends[i] = <int32_t>c.used
    return mark_events(c, e, present)


fills_events(EVENT_COL_EVENT_ID, AS_INT64, fill_event_numbers, NUMBER_EVENT_ID)
fills_events(EVENT_COL_ANSWERS, AS_INT64, fill_event_numbers, NUMBER_ANSWERS)
fills_events(EVENT_COL_DELIVERY_TAG, AS_INT64, fill_event_numbers, NUMBER_DELIVERY_TAG)
fills_events(EVENT_COL_BODY_SIZE, AS_INT64, fill_event_numbers, NUMBER_BODY_SIZE)
fills_events(EVENT_COL_CONTENT, AS_INT64, fill_event_numbers, NUMBER_CONTENT)
fills_events(EVENT_COL_MESSAGE_COUNT, AS_INT64, fill_event_numbers, NUMBER_MESSAGE_COUNT)
fills_events(EVENT_COL_ELAPSED_US, AS_INT64, fill_event_numbers, NUMBER_ELAPSED_US)
fills_events(EVENT_COL_CHANNEL, AS_INT32, fill_event_smalls, SMALL_CHANNEL)
fills_events(EVENT_COL_REPLY_CODE, AS_INT32, fill_event_smalls, SMALL_REPLY_CODE)
fills_events(EVENT_COL_HEARTBEAT_S, AS_INT32, fill_event_smalls, SMALL_HEARTBEAT_S)
fills_events(EVENT_COL_EVENT, AS_TEXT, fill_event_words, WORD_EVENT)
fills_events(EVENT_COL_OUTCOME, AS_TEXT, fill_event_words, WORD_OUTCOME)
fills_events(EVENT_COL_CERTAINTY, AS_TEXT, fill_event_words, WORD_CERTAINTY)
fills_events(EVENT_COL_INITIATOR, AS_TEXT, fill_event_words, WORD_INITIATOR)
fills_events(EVENT_COL_SETTLES, AS_TEXT, fill_event_words, WORD_SETTLES)
fills_events(EVENT_COL_CONNECTION_NAME, AS_TEXT, fill_event_names)
fills_events(EVENT_COL_USER, AS_TEXT, fill_event_texts, TEXT_USER)
fills_events(EVENT_COL_VIRTUAL_HOST, AS_TEXT, fill_event_texts, TEXT_VIRTUAL_HOST)
fills_events(EVENT_COL_EXCHANGE, AS_TEXT, fill_event_texts, TEXT_EXCHANGE)
fills_events(EVENT_COL_ROUTING_KEY, AS_TEXT, fill_event_texts, TEXT_ROUTING_KEY)
fills_events(EVENT_COL_QUEUE, AS_TEXT, fill_event_texts, TEXT_QUEUE)
fills_events(EVENT_COL_CONSUMER_TAG, AS_TEXT, fill_event_texts, TEXT_CONSUMER_TAG)
fills_events(EVENT_COL_MESSAGE_ID, AS_TEXT, fill_event_texts, TEXT_MESSAGE_ID)
fills_events(EVENT_COL_CORRELATION_ID, AS_TEXT, fill_event_texts, TEXT_CORRELATION_ID)
fills_events(EVENT_COL_REQUEST, AS_TEXT, fill_event_texts, TEXT_REQUEST)
fills_events(EVENT_COL_REASON, AS_TEXT, fill_event_texts, TEXT_REASON)
fills_events(EVENT_COL_REPLY_TEXT, AS_TEXT, fill_event_texts, TEXT_REPLY_TEXT)
fills_events(EVENT_COL_DETAILS, AS_TEXT, fill_event_texts, TEXT_DETAILS)
fills_events(EVENT_COL_REDELIVERED, AS_BOOL, fill_event_redelivered)
fills_events(EVENT_COL_ROUTE, AS_TEXT, fill_event_routes)


def check_event_columns(tuple columns):
    """Refuse columns of events that no code fills. The module does so when it is loaded.

    columns: as EVENT_COLUMNS. Raises ImportError."""
    cdef int k
    for k, (name, format_, _) in enumerate(columns):
        if EVENT_WRITERS[k] == NULL or EVENT_TYPES[k] != capture_type(format_):
            raise ImportError(f"no code fills the column {name!r} of events as {format_!r}: "
                              f"see docs/design.md, a column")


check_event_columns(EVENT_COLUMNS)

cdef dict EVENT_SCHEMA = {
    name: (name, format_, (("item", "u", ()),) if format_ == "+l" else ()) for name, format_, _ in EVENT_COLUMNS}
cdef dict EVENT_NUMBERS = {column[0]: k for k, column in enumerate(EVENT_COLUMNS)}


def event_values():
    """For tests: the values that columns of events may have, by the column."""
    return {
        "event": [EVENT_NAMES[k].decode() for k in range(N_EVENTS)],
        "outcome": [OUTCOME_NAMES[k].decode() for k in range(1, N_OUTCOMES)],
        "certainty": [CERTAINTY_NAMES[k].decode() for k in range(N_CERTAINTIES)],
        "settles": [SETTLES_NAMES[k].decode() for k in range(1, N_SETTLES)],
        "initiator": [INITIATOR_NAMES[k].decode() for k in range(1, N_INITIATORS)],
    }


def content_number(bytes body not None):
    """The value of the column content for a body."""
    cdef BodyHash state
    memset(&state, 0, sizeof(BodyHash))
    hash_bytes(&state, <const uint8_t*>PyBytes_AS_STRING(body), <size_t>PyBytes_GET_SIZE(body))
    return hash_value(&state)


cdef dict event_counts(const TrackerCounts* c):
    return {
        "unmatched_answers": c.unmatched, "negative_durations": c.negative, "contradicted_counts": c.contradicted,
        "forgotten": {name: c.forgotten[k] for k, name in enumerate(TRACKED_NAMES) if c.forgotten[k]},
    }


cdef tuple choose_event_columns(object fields):
    """(names of columns of events, the order of all as CaptureBatch has it)."""
    own = {column[0]: i for i, column in enumerate(CAPTURE_COLUMNS)}
    if fields is None:
        order = [k for k, column in enumerate(CAPTURE_COLUMNS) if column[3] or k == CAP_TIME_US or k == CAP_CLIENT]
        return list(EVENT_NUMBERS), order + [-1] * len(EVENT_NUMBERS)
    if isinstance(fields, (str, bytes)):
        raise TypeError(f"fields takes names of columns in a list, not {type(fields).__name__}")
    fields = list(map(as_text, fields))
    for i, name in enumerate(fields):
        if not isinstance(name, str):
            raise TypeError(f"fields takes names of columns, not {type(name).__name__}")
        if name not in own and name not in EVENT_NUMBERS:
            raise ValueError(f"no column {name!r} at level 'event'; there are {', '.join([*own, *EVENT_NUMBERS])}")
        if name in fields[:i]:
            raise ValueError(f"fields names {name!r} twice")
    return [name for name in fields if name not in own], [own.get(name, -1) for name in fields]


cdef Columns new_event_columns(list names, int64_t n):
    """Columns without rows."""
    cdef Columns out = Columns.__new__(Columns)
    cdef int i, k
    out.table = table_new(N_EVENT_COLUMNS, 0x7FFFFFFF)
    out.n = <int>len(names)
    out.order = <int*>calloc(<size_t>max(out.n, 1), sizeof(int))
    if out.table == NULL or out.order == NULL:
        raise MemoryError
    for k in range(N_EVENT_COLUMNS):
        out.table.column[k].nullable = EVENT_COLUMNS[k][2]
        out.table.column[k].arrow_type = EVENT_TYPES[k]
        out.table.column[k].row_hint = n
    for i in range(out.n):
        out.order[i] = EVENT_NUMBERS[names[i]]
        out.table.column[out.order[i]].asked = True
    out.columns = tuple([EVENT_SCHEMA[name] for name in names])
    return out


cdef void load_event_rows(const CapRows* o, int64_t first, const CapText* clients, EventRows* e) noexcept nogil:
    """first: the row of the reader that the batch begins with."""
    cdef const int64_t* begin = <const int64_t*>o.end.p + first + e.at
    cdef const CapRow* row = <const CapRow*>o.row.p + first + e.at
    cdef const EventHead* head
    cdef uint16_t at, n
    cdef int i, k
    for i in range(e.n):
        head = <const EventHead*>(o.data.p + begin[i])
        e.head[i] = head
        e.client[i] = &clients[row[i].info]
        AMQP_PREFETCH(<const uint8_t*>head + BYTES_AHEAD)
        AMQP_PREFETCH(<const uint8_t*>head + BYTES_AHEAD + 64)
        AMQP_PREFETCH(<const uint8_t*>head + BYTES_AHEAD + 128)
        at = sizeof(EventHead)
        for k in range(N_EVENT_TEXTS):
            n = head.sizes[k]
            e.place[k][i].at = at
            e.place[k][i].n = n
            at += n if n != NO_TEXT else 0


cdef int fill_event_rows(Columns columns, const CapRows* o, int64_t first, int64_t n,
                         const CapText* clients) noexcept nogil:
    """Some rows after the other, which the processor's cache holds, column by column."""
    cdef Table* t = columns.table
    cdef EventRows e
    cdef int i, k
    for i in range(columns.n):
        if column_grow(&t.column[columns.order[i]], n) < 0:
            return NO_MEMORY
    e.at = 0
    e.end = o.data.p + o.used
    while e.at < n:
        e.n = <int>min(n - e.at, <int64_t>EVENTS_AT_ONCE)
        load_event_rows(o, first, clients, &e)
        for i in range(columns.n):
            k = columns.order[i]
            if EVENT_WRITERS[k](t, &t.column[k], EVENT_SOURCES[k], &e) < 0:
                return NO_MEMORY
        e.at += e.n
    return table_finish(t, n)


cdef Columns fill_events(list names, const CapRows* o, int64_t first, int64_t n, const CapInfos* infos):
    """The columns of events, of n rows."""
    cdef const CapInfo* info = <const CapInfo*>infos.block.p
    cdef list texts = [end_text(&info[i].client, info[i].family) for i in range(<int>infos.n)]
    cdef CapText* clients = <CapText*>calloc(<size_t>len(texts) + 1, sizeof(CapText))
    cdef int i, status = 0
    cdef Columns columns
    try:
        columns = new_event_columns(names, n)
        if clients == NULL:
            raise MemoryError
        begin_lists(&columns.table.column[EVENT_COL_ROUTE])
        for i in range(<int>len(texts)):
            clients[i].p = PyBytes_AS_STRING(<bytes>texts[i])
            clients[i].n = <size_t>len(<bytes>texts[i])
        with nogil:
            status = fill_event_rows(columns, o, first, n, clients)
        if status < 0:
            raise MemoryError
    finally:
        free(clients)
    return columns
