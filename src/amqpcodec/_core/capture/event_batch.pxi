# Columns of events: from the bytes of rows, an event each.

cdef struct CapText:
    const char* p
    size_t n


cdef int capture_type(str format_) except -1:
    """How a column lies in memory: the offsets of a list are those of a text."""
    return AS_TEXT if format_ == "+l" else COLUMN_KINDS[format_]


cdef bytes end_text(const Endpoint* end, uint8_t family):
    import ipaddress
    if family == 4:
        address = ipaddress.IPv4Address(end.address[:4])
        return f"{address}:{end.port}".encode()
    return f"[{ipaddress.IPv6Address(end.address[:16])}]:{end.port}".encode()


# The row that is filled, and what it refers to.
cdef struct EventRow:
    int64_t row
    const EventHead* head
    const EventText* text
    const CapText* client           # of its connection: "address:port"

# Fills a column in one row. items: of lists of text. A status below 0, or 0.
ctypedef int (*EventWriter)(Table* t, Table* items, Column* c, const EventRow* e) noexcept nogil

cdef EventWriter[N_EVENT_COLUMNS] EVENT_WRITERS
cdef uint8_t[N_EVENT_COLUMNS] EVENT_TYPES           # how what they write lies in memory
cdef uint8_t[N_EVENT_COLUMNS] EVENT_SOURCES         # of those for several columns: which value

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


cdef int fills_events(int k, int arrow_type, EventWriter writer, int source=0) except -1:
    """State that code fills a column, which lies so in memory. check_event_columns compares."""
    EVENT_WRITERS[k] = writer
    EVENT_TYPES[k] = <uint8_t>arrow_type
    EVENT_SOURCES[k] = <uint8_t>source
    return 0


cdef inline int64_t event_number(const EventHead* head, int source) noexcept nogil:
    return (&head.event_id)[source]


cdef inline int32_t event_small(const EventHead* head, int source) noexcept nogil:
    return (&head.channel)[source]


cdef int fill_event_number(Table* t, Table* items, Column* c, const EventRow* e) noexcept nogil:
    cdef int64_t v = event_number(e.head, EVENT_SOURCES[c - t.column])
    return append_i64(c, e.row, v) if v != NO_NUMBER else 0


cdef int fill_event_small(Table* t, Table* items, Column* c, const EventRow* e) noexcept nogil:
    cdef int32_t v = event_small(e.head, EVENT_SOURCES[c - t.column])
    return append_i32(c, e.row, v) if v >= 0 else 0


cdef inline int put_event_text(Table* t, Column* c, int64_t row, const uint8_t* p, size_t n) noexcept nogil:
    """Null where it is not UTF-8."""
    return append_bytes(t, c, row, p, n) if is_utf8(p, n) else 0


cdef int fill_event_text(Table* t, Table* items, Column* c, const EventRow* e) noexcept nogil:
    cdef const EventText* text = e.text + EVENT_SOURCES[c - t.column]
    return put_event_text(t, c, e.row, text.p, text.n) if text.p != NULL else 0


cdef int fill_event_word(Table* t, Table* items, Column* c, const EventRow* e) noexcept nogil:
    cdef int k = <int>(c - t.column)
    cdef const char* word = NULL
    if k == EVENT_COL_EVENT:
        word = EVENT_NAMES[e.head.event]
    elif k == EVENT_COL_OUTCOME:
        word = OUTCOME_NAMES[e.head.outcome]
    elif k == EVENT_COL_CERTAINTY:
        word = CERTAINTY_NAMES[e.head.certainty]
    elif k == EVENT_COL_INITIATOR:
        word = INITIATOR_NAMES[e.head.initiator]
    elif k == EVENT_COL_SETTLES:
        word = SETTLES_NAMES[e.head.settles]
    return append_bytes(t, c, e.row, word, strlen(word)) if word != NULL else 0


cdef int fill_event_name(Table* t, Table* items, Column* c, const EventRow* e) noexcept nogil:
    """The name that the client gives itself, else user@address."""
    cdef const EventText* name = e.text + TEXT_CONNECTION_NAME
    cdef const EventText* user = e.text + TEXT_USER
    cdef uint8_t[NAME_LIMIT + 80] both
    cdef size_t n = e.client.n
    if name.p != NULL and name.n and is_utf8(name.p, name.n):
        return append_bytes(t, c, e.row, name.p, name.n)
    if user.p == NULL or user.n > NAME_LIMIT:
        return 0
    while n and e.client.p[n - 1] != c':':
        n -= 1
    if n == 0 or n > 70:
        return 0
    memcpy(both, user.p, user.n)
    both[user.n] = c'@'
    memcpy(both + user.n + 1, e.client.p, n - 1)
    return put_event_text(t, c, e.row, both, user.n + n)


cdef int fill_event_redelivered(Table* t, Table* items, Column* c, const EventRow* e) noexcept nogil:
    return append_bool(c, e.row, e.head.redelivered != 0) if e.head.redelivered != 2 else 0


cdef int fill_event_route(Table* t, Table* items, Column* c, const EventRow* e) noexcept nogil:
    """A list's offsets lie like those of a text with one byte an item."""
    cdef const EventText* queue = e.text + TEXT_QUEUE
    if not e.head.routed or queue.p == NULL or not is_utf8(queue.p, queue.n):
        return 0
    if append_bytes(items, &items.column[0], items.rows, queue.p, queue.n) < 0:
        return NO_MEMORY
    items.rows += 1
    return append_list(c, e.row, 1)


cdef int append_list(Column* c, int64_t row, size_t n) noexcept nogil:
    """A list of the next n items."""
    if row >= c.rows and column_grow(c, row + 1) < 0:
        return NO_MEMORY
    column_fill(c, row)
    c.used += n
    (<int32_t*>c.fixed.p)[row + 1] = <int32_t>c.used
    now_present(c, row)
    return 0


fills_events(EVENT_COL_EVENT_ID, AS_INT64, fill_event_number, NUMBER_EVENT_ID)
fills_events(EVENT_COL_ANSWERS, AS_INT64, fill_event_number, NUMBER_ANSWERS)
fills_events(EVENT_COL_DELIVERY_TAG, AS_INT64, fill_event_number, NUMBER_DELIVERY_TAG)
fills_events(EVENT_COL_BODY_SIZE, AS_INT64, fill_event_number, NUMBER_BODY_SIZE)
fills_events(EVENT_COL_CONTENT, AS_INT64, fill_event_number, NUMBER_CONTENT)
fills_events(EVENT_COL_MESSAGE_COUNT, AS_INT64, fill_event_number, NUMBER_MESSAGE_COUNT)
fills_events(EVENT_COL_ELAPSED_US, AS_INT64, fill_event_number, NUMBER_ELAPSED_US)
fills_events(EVENT_COL_CHANNEL, AS_INT32, fill_event_small, SMALL_CHANNEL)
fills_events(EVENT_COL_REPLY_CODE, AS_INT32, fill_event_small, SMALL_REPLY_CODE)
fills_events(EVENT_COL_HEARTBEAT_S, AS_INT32, fill_event_small, SMALL_HEARTBEAT_S)
fills_events(EVENT_COL_EVENT, AS_TEXT, fill_event_word)
fills_events(EVENT_COL_OUTCOME, AS_TEXT, fill_event_word)
fills_events(EVENT_COL_CERTAINTY, AS_TEXT, fill_event_word)
fills_events(EVENT_COL_INITIATOR, AS_TEXT, fill_event_word)
fills_events(EVENT_COL_SETTLES, AS_TEXT, fill_event_word)
fills_events(EVENT_COL_CONNECTION_NAME, AS_TEXT, fill_event_name)
fills_events(EVENT_COL_USER, AS_TEXT, fill_event_text, TEXT_USER)
fills_events(EVENT_COL_VIRTUAL_HOST, AS_TEXT, fill_event_text, TEXT_VIRTUAL_HOST)
fills_events(EVENT_COL_EXCHANGE, AS_TEXT, fill_event_text, TEXT_EXCHANGE)
fills_events(EVENT_COL_ROUTING_KEY, AS_TEXT, fill_event_text, TEXT_ROUTING_KEY)
fills_events(EVENT_COL_QUEUE, AS_TEXT, fill_event_text, TEXT_QUEUE)
fills_events(EVENT_COL_CONSUMER_TAG, AS_TEXT, fill_event_text, TEXT_CONSUMER_TAG)
fills_events(EVENT_COL_MESSAGE_ID, AS_TEXT, fill_event_text, TEXT_MESSAGE_ID)
fills_events(EVENT_COL_CORRELATION_ID, AS_TEXT, fill_event_text, TEXT_CORRELATION_ID)
fills_events(EVENT_COL_REQUEST, AS_TEXT, fill_event_text, TEXT_REQUEST)
fills_events(EVENT_COL_REASON, AS_TEXT, fill_event_text, TEXT_REASON)
fills_events(EVENT_COL_REPLY_TEXT, AS_TEXT, fill_event_text, TEXT_REPLY_TEXT)
fills_events(EVENT_COL_DETAILS, AS_TEXT, fill_event_text, TEXT_DETAILS)
fills_events(EVENT_COL_REDELIVERED, AS_BOOL, fill_event_redelivered)
fills_events(EVENT_COL_ROUTE, AS_TEXT, fill_event_route)


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


cdef dict event_counts(const TrackerCounts* c):
    return {
        "unmatched_answers": c.unmatched, "negative_durations": c.negative,
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


cdef int fill_event_rows(Columns columns, Table* routes, const CapRows* o, int64_t first, int64_t n,
                         const CapText* clients) noexcept nogil:
    cdef const int64_t* end = <const int64_t*>o.end.p + first
    cdef const CapRow* row = <const CapRow*>o.row.p + first
    cdef Table* t = columns.table
    cdef Event event
    cdef EventRow e
    cdef int64_t i
    cdef int k
    e.head = &event.head
    e.text = event.text
    for i in range(n):
        load_event(o.data.p + end[i], &event)
        e.row = i
        e.client = &clients[row[i].info]
        for k in range(columns.n):
            if EVENT_WRITERS[columns.order[k]](t, routes, &t.column[columns.order[k]], &e) < 0:
                return NO_MEMORY
    if table_finish(routes, routes.rows) < 0:
        return NO_MEMORY
    return table_finish(t, n)


cdef Columns fill_events(list names, Table* routes, const CapRows* o, int64_t first, int64_t n,
                         const CapInfos* infos):
    """The columns of events, of n rows. routes: of the items of lists."""
    cdef const CapInfo* info = <const CapInfo*>infos.block.p
    cdef list texts = [end_text(&info[i].client, info[i].family) for i in range(<int>infos.n)]
    cdef CapText* clients = <CapText*>calloc(<size_t>len(texts) + 1, sizeof(CapText))
    cdef int i, status = 0
    cdef Columns columns
    try:
        columns = new_event_columns(names, n)
        if clients == NULL or routes == NULL:
            raise MemoryError
        routes.column[0].arrow_type = AS_TEXT
        routes.column[0].asked = True
        for i in range(<int>len(texts)):
            clients[i].p = PyBytes_AS_STRING(<bytes>texts[i])
            clients[i].n = <size_t>len(<bytes>texts[i])
        with nogil:
            status = fill_event_rows(columns, routes, o, first, n, clients)
        if status < 0:
            raise MemoryError
    finally:
        free(clients)
    return columns
