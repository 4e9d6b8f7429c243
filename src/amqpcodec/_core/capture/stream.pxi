# What one direction of a connection holds while it is read, and how its bytes become rows.

# Where the frame layer of a direction is.
cdef enum:
    AT_START                # nothing was seen
    IN_SYNC                 # a frame begins where bytes are looked at
    SEARCHING               # it does not, or no one knows
    EXPECTING               # inside of a frame whose end is known: at `expect`

# What stands between TCP and the frames of a direction: see layers.pxi.
cdef enum:
    LAYER_NONE
    LAYER_FOUND             # it begins with the byte that is looked at
    LAYER_OPEN
    LAYER_SEALED            # its bytes cannot be read

cdef enum:
    OVER_TLS = 1
    OVER_HTTP = 2

# What connections speak that are not read. The order is that of FOREIGN_NAMES.
cdef enum:
    FOREIGN_HTTP
    FOREIGN_TLS
    FOREIGN_MQTT
    FOREIGN_STOMP
    FOREIGN_SSH
    FOREIGN_AMQP            # a version that is not known
    N_FOREIGN

cdef tuple FOREIGN_NAMES = ("HTTP", "TLS", "MQTT", "STOMP", "SSH", "another version of AMQP")

cdef enum:
    DEFAULT_FRAME_MAX = 131072
    HIGHEST_FRAME_MAX = 1 << 26     # bytes of a frame that are held, whatever tune-ok said
    SEARCH_HELD = 1 << 16           # bytes without a frame that are held before they go out

cdef int64_t FIRST_POSITION = <int64_t>1 << 40      # in a stream, so that earlier bytes are above 0

# A packet, and where its bytes begin in the stream.
cdef struct Mark:
    int64_t at
    int64_t time
    uint64_t number
    uint64_t file_at
    uint64_t turn           # of all packets that were read, from 1
    int32_t rows            # that began in it
    int32_t file            # slot of its name: see FileNames

cdef struct Piece:
    int64_t at
    uint64_t turn           # of those that came for the direction
    uint32_t n              # bytes, which stand after the struct
    uint32_t ack            # at event level: what its sender had of the peer, a sequence number; 0: not known
    Mark mark

# A method whose content has not come yet, or not all of it; in 1.0 a delivery that more is to come of.
cdef struct Open:
    Open* next
    uint16_t channel
    uint32_t handle         # of a link of 1.0
    uint8_t flags
    ContentMachine grammar  # of 0-x
    DeliveryState delivery  # of 1.0
    CapRow row              # where it began, and when its newest byte was sent
    uint64_t number         # at event level: of a publish
    BodyHash body           # and the body, of which no byte is kept
    size_t n
    Block data

# At event level: the end of TCP that was seen, and not said yet.
cdef struct TcpEnd:
    bint pending
    bint reset
    bint silent             # it does not say what its sender had of the other side's
    uint8_t side
    Mark mark

cdef struct Leap
cdef struct Outline
cdef struct Original
cdef struct Translated

# Segments that came before those that they follow.
cdef struct Waiting:
    Block heap              # of Piece*: see reorder.pxi
    size_t n
    size_t held             # their bytes

# What gives the bytes of frames, where TCP's are none: see layers.pxi.
cdef struct HalfLayer:
    uint8_t kind
    bint read               # it gave bytes
    uint64_t covered        # bytes that went into it before it did
    int64_t at              # position of the next byte that frames are made of; without a layer, the half's `offset`

# Bytes in order of which no frame is made yet.
cdef struct HalfInput:
    int64_t base            # position of the first
    int64_t expect
    size_t scan             # bytes in which no frame begins
    size_t need             # bytes without which nothing can be done
    size_t held             # the last ones of them, at event level: they wait for their turn
    size_t n
    Block block

# The packets that they came with.
cdef struct HalfMarks:
    size_t n
    size_t at               # the first that is still needed
    Block block

# At event level, what is known of the order of the two directions.
cdef struct HalfOrder:
    int64_t unordered_to    # bytes before it were read ahead of the peer's
    uint32_t first_ack      # what it had of the peer's at first, while none of that was seen; 0: nothing is known

cdef struct Half:
    bint seen
    bint started            # `offset` is where the stream goes on
    bint syn
    bint fin
    uint32_t first          # sequence number of the first byte
    uint32_t next           # that of `offset`
    int64_t offset          # position of the next byte in order
    HalfLayer layer
    int64_t known_end       # highest position that headers tell of
    int64_t acked           # highest position that the peer has
    HalfOrder order
    Waiting waiting
    uint64_t turn
    uint8_t state
    uint8_t flags           # of the next row
    uint8_t broken          # why the search began: see LOST_OCTETS
    uint8_t cut_type        # first byte of the frame that a gap cut
    uint32_t cut_method     # and its class and method id
    HalfInput input
    Open* open              # messages, the newest first
    int32_t n_open          # deliveries of 1.0
    int32_t last_position   # where the newest row stands
    uint64_t last_turn
    uint64_t takes          # bytes of a frame of 1.0 that the receiver takes, 0 while it is not known
    bint tls                # TLS follows, if the peer agrees
    bint past_sasl          # in 1.0: no credentials follow
    TokenLinks tokens
    HalfMarks marks
    Leap* leap              # see leaps.pxi
    bint astray             # there, before it has begun: its segments are not in order

# The place of a connection among those whose clients have the same port, the newest first.
cdef struct PortLink:
    Conn* before
    Conn* after


cdef struct Conn:
    CapInfo info
    Conn* bucket            # the next one of the same hash
    Conn* older             # in order of their newest packets
    Conn* newer
    Conn* closing           # the next one that is closing
    PortLink same_port
    Original* original      # where packets of it come a second time: see translated.pxi
    Conn* holder            # the next one of those that may hold something back
    Conn* holder_before
    bint holds              # it is one of them
    bint closes
    bint left_out           # it speaks a protocol that is not known
    uint8_t over            # what was found between TCP and frames: OVER_TLS or OVER_HTTP
    bint read               # through that, bytes were read
    uint8_t version         # number of the protocol
    uint8_t may             # bits of those that it can be
    uint8_t now             # that of the newest frame
    bint v1                 # it speaks 1.0
    bint sure               # of that
    bint resolved           # by the client's protocol header
    bint spoke              # there was a frame
    uint8_t[MAX_PROTOCOLS] fails     # frames that another one explains, and this one does not
    int64_t frame_max       # bytes, 0 for no limit, -1 while it is not known
    Tracker* tracker        # at event level, or NULL
    TcpEnd end
    uint64_t batch
    int32_t info_at
    int32_t named           # number in `named`, from 1; 0: packets have its bytes
    Half[2] half            # client, server

# A connection of which values have the bytes, and no packets: see values.pxi.
cdef struct Named:
    uint64_t id
    uint64_t before         # connections of this number that ended
    uint8_t family          # 0: its addresses are not known
    Endpoint client
    Endpoint server
    Conn* conn              # or NULL

cdef struct NamedConns:
    size_t n
    bint loses              # an unknown number of bytes, now
    Block block             # Named

cdef enum:
    N_BUCKETS = 1 << 14
    PORT_BUCKETS = 1 << 12
    TRANSLATED_BUCKETS = 1 << 10

cdef struct CaptureCounts:
    uint64_t[N_SKIPS] skipped
    uint64_t[LINK_TYPES] links          # packets of link types that are not read
    uint64_t packets
    uint64_t[8] types       # method, header, body, heartbeat, protocol header, undefined, 1.0's AMQP and SASL
    uint64_t[MAX_PROTOCOLS] versions     # connections that are over, by number of their protocol
    uint64_t captured       # of packets, as captured
    uint64_t connections
    uint64_t gaps
    uint64_t lost
    uint64_t resyncs
    uint64_t midstream
    uint64_t tls
    uint64_t decrypted      # of these, with a direction that was read
    uint64_t others         # connections of protocols that are not read
    uint64_t[N_FOREIGN] foreign         # these by what they speak
    uint64_t left_out       # bytes of connections that are not read
    uint64_t repeated       # bytes of retransmissions
    uint64_t conflicting    # of these, bytes that are others than before
    uint64_t fragments      # of IP packets
    uint64_t resets         # connections that one ended
    uint64_t proxied        # connections whose proxy said whom it speaks for
    uint64_t joined         # packets that were put together of them
    uint64_t overflows      # gaps that were given up since too much waited

# A protocol that connections may speak.
cdef struct KnownProtocol:
    uint64_t* methods       # frames by descriptor
    const Desc* descs
    int n_descs
    EventMethod* events     # of each descriptor, at event level
    const Slot* slot
    uint32_t slot_mask
    Desc** contents
    int n_contents

# Where a row stands: turn of its packet, place there; and its index.
cdef struct RowPlace:
    uint64_t turn
    int32_t position
    int32_t index

# A connection that a TCP reset ended, and who sent it.
cdef struct Reset:
    int64_t time
    int32_t index
    bint of_server

# An IP packet of which fragments are there.
cdef struct Partial:
    Partial* bucket         # the next one of the same hash
    Partial* older          # in the order of their first fragments
    Partial* newer
    Segment ends            # its addresses
    uint8_t protocol
    uint32_t id
    int depth               # of packets within each other
    bint refused            # its fragments contradict each other
    int64_t since           # time of its first one
    Mark mark               # the newest one
    uint32_t n              # fragments
    uint32_t size           # bytes of the packet, 0 while it is not known
    uint32_t reach          # as far as fragments say
    uint32_t have           # bytes that are there
    Block data
    uint64_t[1024] there    # a bit for each 8 bytes

cdef enum:
    PARTIAL_BUCKETS = 1 << 8

cdef struct Partials:
    Partial* bucket[PARTIAL_BUCKETS]
    Partial* oldest
    Partial* newest
    Partial* given_up       # whose other fragments do not come, by `newer`
    int n
    size_t bytes            # that they hold

# One of several files that are read at once.
cdef struct Tap:
    CapFile file
    Block input
    size_t at               # bytes of it that are read
    size_t n
    int32_t slot            # of its name
    int64_t number          # of the file, from 0
    bint damaged            # what is at its place is no record
    bint ready              # `packet` is the next one
    CapPacket packet
    int64_t time            # that it counts as sent at

cdef enum:
    TAPS_READ = -1
    TAPS_FULL = -2

# Connections that may be others behind an address translation: see translated.pxi.
cdef struct Translations:
    Translated* bucket[TRANSLATED_BUCKETS]
    Translated* parted      # those that are no others, and are to be read
    Translated* parted_last
    int32_t n
    uint64_t same           # that had a segment of another one
    size_t bytes            # of segments that are held
    bint reading            # parted ones

# What is held and read at most.
cdef struct ReadingLimits:
    size_t frame            # bytes of a frame
    size_t message          # bytes of a message
    int deliveries          # of 1.0 that are open in a direction
    size_t fragments        # bytes of IP packets of which fragments are missing
    int conns               # open ones, those that may be others included; then those go that were idle for longest
    size_t hold             # bytes that wait in a direction
    size_t hold_total       # and in all
    int32_t hold_pieces     # segments that wait in a direction

cdef struct Conns:
    Conn** bucket
    Conn** port             # by the client's port: the rest of the same memory
    Conn* oldest
    Conn* newest
    Conn* closing
    Conn* closing_last
    Conn* holder            # those that hold something back, and some that did
    int n_closing
    int n
    size_t held             # bytes that wait in all directions
    int32_t first_index
    uint64_t seed           # of their ids
    Translations translations

# Rows that go out, and when.
cdef struct RowsOut:
    bint ordered            # in the order of their packets: see order.pxi
    CapRows rows
    Block places            # RowPlace: memory for sorting
    RowPlace floor          # of the last row whose place is known
    int64_t batch_rows
    int64_t full_rows       # when it is time to look at the rows that wait
    size_t full_bytes

# What a row is.
cdef struct RowLevel:
    bint messages           # messages are put together: at message level and at event level
    bint events
    size_t open_bytes       # of messages
    Tracking tracking       # at event level
    Block joined            # the payload of a delivery
    uint64_t end_turn       # the packet in which connections ended without a word, and how many rows say so
    int32_t end_rows

# Which file is read.
cdef struct ReadingFiles:
    int32_t slot            # see FileNames
    int64_t number          # of the chain, from 0
    bint begun              # a file was
    bint between            # no file is open: the next one follows
    Block taps              # Tap*: files that are read at once, and NULL between them
    size_t n_taps

cdef struct Reading:
    CapFile file
    ReadingFiles files
    CapRows rows
    RowsOut out
    CapInfos infos          # of all rows that wait
    CaptureCounts count
    KnownProtocol[MAX_PROTOCOLS] protocol
    int n_protocols
    const V1Types* v1       # where connections may speak 1.0, else NULL
    uint8_t v1_number       # of that protocol
    uint64_t[256] v1_counts     # its frames by descriptor
    uint8_t* alike          # of each descriptor of the first: bits of those with the same layout
    bint forced             # the protocol, whatever headers say
    uintptr_t dialect
    Mark last               # the newest packet
    Partials partials       # see fragments.pxi
    bint redact
    RowLevel level
    ReadingLimits limits
    ServerPorts servers
    Conns conns
    NamedConns named
    uint64_t reorder_steps  # comparisons that keeping segments in order took
    uint64_t stop           # offset in the file: records from there on are not read
    PyObject* layers        # what takes the bytes of connections that are no frames, or NULL: see layers.pxi
    PyObject* fault         # what it raised
    Outline* outline        # that is made, or NULL
    Block resets            # Reset: those that were not asked for yet; of more than RESET_LIMIT, the first ones
    size_t n_resets
    AmqpValue[MAX_FIELDS] v


cdef inline uint64_t sync_limit(const Reading* r, const Conn* c) noexcept nogil:
    """Bytes of a frame, envelope included, where it is known where it begins."""
    if 0 < c.frame_max < HIGHEST_FRAME_MAX:
        return min(<uint64_t>c.frame_max + 8, <uint64_t>r.limits.frame)
    return r.limits.frame


cdef inline int64_t position_of(const Half* h, uint32_t sequence) noexcept nogil:
    return h.offset + <int64_t>(<int32_t>(sequence - h.next))


cdef inline Half* other_half(Conn* c, const Half* h) noexcept nogil:
    return &c.half[h == &c.half[0]]


cdef inline Tap** taps_of(const Reading* r) noexcept nogil:
    return <Tap**>r.files.taps.p


cdef inline Mark* half_mark(Half* h) noexcept nogil:
    return <Mark*>h.marks.block.p + h.marks.at


cdef inline int push_mark(Half* h, const Mark* mark, int64_t at, int32_t rows) noexcept nogil:
    """The bytes at position `at` were sent by this packet, in which so many rows began."""
    cdef Mark* own
    if 2 * h.marks.at > h.marks.n and block_full(&h.marks.block, h.marks.n * sizeof(Mark), sizeof(Mark)):
        h.marks.n -= h.marks.at
        memmove(h.marks.block.p, half_mark(h), h.marks.n * sizeof(Mark))
        h.marks.at = 0
    own = <Mark*>items_add(&h.marks.block, &h.marks.n, sizeof(Mark))
    if own == NULL:
        return NO_MEMORY
    own[0] = mark[0]
    own.at = at
    own.rows = rows
    return 0


cdef void find_layer(Reading* r, Conn* c, Half* h, uint8_t over) noexcept nogil:
    """Bytes of TLS or WebSocket follow."""
    h.layer.kind = LAYER_FOUND
    if c.over:
        return
    c.over = over
    r.count.tls += over == OVER_TLS


cdef void leave_out(Reading* r, Conn* c, int foreign) noexcept nogil:
    """The connection speaks another protocol."""
    c.left_out = True
    r.count.others += 1
    r.count.foreign[foreign] += 1


# ---- rows ----

cdef inline uint8_t next_flags(Half* h) noexcept nogil:
    """The flags of the next row, which has them."""
    cdef uint8_t flags = h.flags
    h.flags = 0
    return flags


cdef inline void place_in_turn(Half* h, CapRow* row) noexcept nogil:
    """A row stands where its packet does, but after the rows of the bytes before it."""
    row.order_position = row.position
    if AMQP_UNLIKELY(row.order_turn <= h.last_turn):
        if row.order_turn < h.last_turn or row.order_position <= h.last_position:
            row.order_turn = h.last_turn
            row.order_position = h.last_position + 1
    h.last_turn = row.order_turn
    h.last_position = row.order_position


cdef void find_place(Half* h, size_t n, int64_t at, CapRow* row) noexcept nogil:
    """Which packets sent the n bytes at position `at`, which count as a row of the first one."""
    cdef Mark* end = <Mark*>h.marks.block.p + h.marks.n
    cdef Mark* mark = half_mark(h)
    cdef Mark* last
    while mark + 1 < end and mark[1].at <= at:
        mark += 1
    h.marks.at = <size_t>(mark - <Mark*>h.marks.block.p)
    last = mark
    while n != 0 and last + 1 < end and last[1].at < at + <int64_t>n:
        last += 1
    row.position = mark.rows
    row.first_time = mark.time
    row.last_time = last.time
    row.packet_at = mark.file_at
    row.order_turn = mark.turn
    row.packet = mark.number
    row.file = mark.file
    mark.rows += 1
    place_in_turn(h, row)


cdef inline int begin_row(Reading* r, Conn* c, Half* h, uint8_t flags, CapRow* row) noexcept nogil:
    """The next row, which is said where it stands, is one of this direction."""
    if c.batch != r.infos.batch:
        c.info_at = add_info(&r.infos, &c.info)
        if c.info_at < 0:
            return NO_MEMORY
        c.batch = r.infos.batch
    row.info = c.info_at
    row.server = h == &c.half[1]
    row.flags = flags
    r.rows.versions |= row.version
    if r.rows.n and is_row_before(row, row - 1):
        r.rows.disordered = True
    return 0


cdef inline void close_row(CapRows* o, size_t n, uint64_t lost) noexcept nogil:
    """Its n bytes stand where the next ones are to, and next_row() reserved the rest. lost: 0 for a frame."""
    (<uint64_t*>o.lost.p)[o.n] = lost
    o.used += n
    o.n += 1
    (<int64_t*>o.end.p)[o.n] = <int64_t>o.used


cdef int end_row(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, uint64_t lost, uint8_t flags,
                 CapRow* row) noexcept nogil:
    """The next row, of n bytes, is said where it stands. lost: 0 for a frame."""
    cdef uint8_t* out = reserve_bytes(&r.rows, n)
    if out == NULL or begin_row(r, c, h, flags, row) < 0:
        return NO_MEMORY
    if n:
        memcpy(out, p, n)
    if r.redact:
        if AMQP_UNLIKELY(c.v1):
            v1_hide(r.v1, out, n, lost == 0)
            v1_hide_tokens(r.v1, out, n, &h.tokens, h.syn)
        elif has_secret(p, n):
            hide_secret(out, n)
    close_row(&r.rows, n, lost)
    return 0


cdef int add_placed_row(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, uint64_t lost, uint8_t flags,
                        const CapRow* place) noexcept nogil:
    """A row of n bytes; lost: 0 for a frame."""
    cdef CapRow* row = next_row(&r.rows)
    if row == NULL:
        return NO_MEMORY
    row[0] = place[0]
    return end_row(r, c, h, p, n, lost, flags, row)


cdef int add_row(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, int64_t at, uint64_t lost,
                 uint8_t flags) noexcept nogil:
    """A row of the n bytes at position `at`."""
    cdef CapRow* row = next_row(&r.rows)
    if row == NULL:
        return NO_MEMORY
    find_place(h, n, at, row)
    row.version = c.now
    return end_row(r, c, h, p, n, lost, flags, row)


# ---- where a connection is found ----

cdef inline uint64_t keyed_address(const Endpoint* a, int k) noexcept nogil:
    return keyed_pair(load64(a.address), load64(a.address + 8), k)


cdef inline uint32_t bucket_of(const Endpoint* a, const Endpoint* b) noexcept nogil:
    cdef uint64_t x = (keyed_address(a, 0) ^ a.port) * <uint64_t>0x9E3779B97F4A7C15
    cdef uint64_t y = (keyed_address(b, 2) ^ b.port) * <uint64_t>0xC2B2AE3D27D4EB4F
    return <uint32_t>((x ^ y) >> 40) & (N_BUCKETS - 1)
