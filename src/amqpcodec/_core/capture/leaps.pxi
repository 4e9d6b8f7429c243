# The outline of a part of a file: what a reader that comes to it has to read, so that after it the reader's
# state is as if it had read all. Parts are outlined at once, each by a reader that knows nothing of what is
# before; then one reader follows them in order, which takes little time, since most records are left out.
#
# Left out are records without a connection, and leaps: segments of a direction from one place to another at
# both of which whole frames end and nothing waits, and which change nothing but that place. The reader that
# follows checks where a leap begins that its own direction stands there in the same way; from equal places,
# equal bytes lead to equal places. Where that is not so, or anything else stands against it, the part has to
# be read as a whole. All other records are kept, in their order: those that open or end connections, that are
# not in order, or in which something unusual is.

cdef enum:
    KEPT_RECORD
    LEAP_BEGINS             # after the record at the same offset
    LEAP_ENDS               # with that record, which is left out

cdef enum:
    LEAP_WAITS = 1 << 22    # bytes of records of a leap that are held until it is known where it ends

cdef int64_t LEAP_LIMIT = 1 << 28       # bytes of a direction that one leap goes over
cdef uint32_t NEAR = 1 << 30            # between sequence numbers that are of one run for sure

# What a leap leaves out.
cdef struct LeftOut:
    uint64_t last           # offset of the newest record, 0: there is none
    uint64_t packets
    uint64_t captured
    int64_t n_bytes         # of the direction
    uint64_t largest        # bytes of a frame
    Mark mark               # of the newest segment with bytes; `at`: how many bytes before the end it begins
    bint acked
    uint32_t first_ack
    uint32_t ack
    bint empty              # a segment without bytes is among them
    uint32_t first_empty    # sequence numbers of those
    uint32_t last_empty

cdef struct Leap:
    uint64_t begun          # offset of the record before it
    uint32_t next           # sequence number of the next byte there
    bint steady             # it was there: the leap may go over bytes
    LeftOut sure            # up to the newest place where it can end
    LeftOut now
    Block records           # Outlined, each with its bytes: after that place
    size_t n_records        # bytes
    size_t n_held
    Block frames            # uint32: see outline_frame
    size_t n_frames
    int64_t[2] turns        # of both directions: see turn_of

# A record, or where a leap begins or ends.
cdef struct Outlined:
    uint64_t at             # offset in the file
    uint64_t before         # packets of the part before it
    uint64_t size
    uint8_t kind

cdef struct LeapEnds:
    Endpoint client
    Endpoint server
    bint of_server
    uint32_t next
    uint8_t version
    uint8_t may
    LeftOut left

cdef struct OutlineOrder:
    uint64_t at
    uint64_t place          # in the block
    uint8_t kind

cdef struct Outline:
    uint64_t start          # offset in the file
    uint64_t packets
    int64_t last_time       # of the newest packet
    uint64_t last_at
    uint64_t most           # bytes of all that is held
    uint64_t held           # of records of leaps
    bint whole              # there is none: all has to be read
    size_t open_bytes       # of messages, at most
    ServerPorts skipped     # of whose ports segments were left out, both sides; and those of protocol headers
    int n_assumed           # the first of these are of headers before the part
    CaptureCounts left      # what the records count that are left out
    uint64_t* methods[MAX_PROTOCOLS]
    Block out               # Outlined, each with what follows it
    size_t n
    size_t n_entries
    # The record that is read.
    Conn* conn
    bint gone               # its connection, or another one, ended
    int side
    bint plain              # it goes on where its direction is, or has no bytes
    int64_t frame_max
    uint32_t fails
    int64_t turn            # see turn_of
    uint8_t flags
    uint32_t sequence
    uint32_t ack
    uint32_t size


cdef void free_outline(Outline* o) noexcept nogil:
    cdef int k
    if o == NULL:
        return
    for k in range(MAX_PROTOCOLS):
        free(o.methods[k])
    block_give(&o.out)
    free(o)


cdef Outline* new_outline(Reading* r) except NULL:
    cdef Outline* o = <Outline*>calloc(1, sizeof(Outline))
    cdef int k
    if o == NULL:
        raise MemoryError
    for k in range(r.n_protocols):
        o.methods[k] = <uint64_t*>calloc(<size_t>max(r.protocol[k].n_descs, 1), sizeof(uint64_t))
        if o.methods[k] == NULL:
            free_outline(o)
            raise MemoryError
    return o


cdef inline bint is_live(const Half* h) noexcept nogil:
    return h.seen and h.started


cdef inline int64_t turn_of(const Half* h) noexcept nogil:
    """How many segments waited so far in a direction that has begun; -1: it has not."""
    return <int64_t>h.turn if is_live(h) else -1


cdef inline bint is_waiting(const Conn* c) noexcept nogil:
    """Whether segments out of order wait, or may wait where more is known."""
    cdef const Half* a = &c.half[0]
    cdef const Half* b = &c.half[1]
    return (a.waiting.n != 0 if is_live(a) else a.astray) or (b.waiting.n != 0 if is_live(b) else b.astray)


cdef uint32_t all_fails(const Conn* c) noexcept nogil:
    cdef uint32_t n = 0
    cdef int k
    for k in range(MAX_PROTOCOLS):
        n += c.fails[k]
    return n


cdef bint is_steady(const Conn* c, const Half* h) noexcept nogil:
    """Whether all that is to be told of a direction is where it is: the next byte begins a frame, and what the
    connection speaks is settled."""
    if c.v1 or not c.sure or c.left_out or c.over or c.closes or h.fin or c.now != c.version or all_fails(c):
        return False
    return (h.seen and h.started and h.waiting.n == 0 and h.layer.kind == LAYER_NONE and h.state == IN_SYNC
            and h.input.n == 0 and h.input.need == 0 and h.flags == 0 and h.open == NULL and h.marks.n > 0)


cdef void free_leap(Half* h) noexcept nogil:
    if h.leap != NULL:
        block_give(&h.leap.records)
        block_give(&h.leap.frames)
        free(h.leap)
        h.leap = NULL


cdef int begin_leap(const Conn* c, Half* h, uint64_t at) noexcept nogil:
    h.leap = <Leap*>calloc(1, sizeof(Leap))
    if h.leap == NULL:
        return NO_MEMORY
    h.leap.begun = at
    h.leap.next = h.next
    h.leap.steady = is_steady(c, h)
    return 0


cdef inline size_t outlined_size(size_t n) noexcept nogil:
    """Bytes of an entry that n bytes follow; the next one is aligned."""
    return (sizeof(Outlined) + n + 7) & ~<size_t>7


cdef int add_entry(Block* b, size_t* used, uint64_t at, uint64_t before, uint8_t kind, const void* p,
                   size_t n) noexcept nogil:
    cdef Outlined* one = <Outlined*>block_reserve(b, used[0], outlined_size(n), 0)
    if one == NULL:
        return NO_MEMORY
    one.at = at
    one.before = before
    one.size = n
    one.kind = kind
    memcpy(one + 1, p, n)
    used[0] += outlined_size(n)
    return 0


cdef int add_outlined(Outline* o, uint64_t at, uint64_t before, uint8_t kind, const void* p, size_t n) noexcept nogil:
    if add_entry(&o.out, &o.n, at, before, kind, p, n) < 0:
        return NO_MEMORY
    o.whole |= o.n + o.held > o.most
    o.n_entries += 1
    return 0


cdef void outline_segment(Reading* r, Conn* c, int side, const Segment* s) noexcept nogil:
    """What is to be read next, of a connection that is known."""
    cdef Outline* o = r.outline
    cdef Half* h = &c.half[side]
    o.conn = c
    o.side = side
    o.flags = s.flags
    o.sequence = s.sequence
    o.ack = s.ack
    o.size = s.size
    o.frame_max = c.frame_max
    o.fails = all_fails(c)
    o.turn = turn_of(h)
    o.plain = s.flags & (TCP_SYN | TCP_FIN | TCP_RST) == 0 and s.size == s.have
    if s.size:
        h.astray |= s.size != s.have or (h.seen and not h.started and position_of(h, s.sequence) != h.known_end)
        o.plain = o.plain and h.leap != NULL and h.leap.steady and h.waiting.n == 0 and s.sequence == h.next


cdef void outline_frame(Reading* r, Conn* c, Half* h, int type_, int method, size_t n) noexcept nogil:
    """A frame of a direction: its type, the number of its method from 1, or 0, and its size."""
    cdef Leap* leap = h.leap
    cdef uint32_t* code
    if leap == NULL:
        return
    code = <uint32_t*>items_add(&leap.frames, &leap.n_frames, sizeof(uint32_t))
    if code == NULL:
        r.outline.whole = True
        return
    code[0] = <uint32_t>(type_ | c.now << 4 | method << 8)
    leap.now.largest = max(leap.now.largest, <uint64_t>n)


cdef int end_leap(Outline* o, Conn* c, int side) noexcept nogil:
    """What comes next in a direction is kept, and so is what came after the place where a leap could end."""
    cdef Half* h = &c.half[side]
    cdef Leap* leap = h.leap
    cdef LeapEnds ends
    cdef int status = 0
    if leap == NULL:
        return 0
    if leap.sure.last:
        memset(&ends, 0, sizeof(LeapEnds))
        ends.client = c.info.client
        ends.server = c.info.server
        ends.of_server = side
        ends.next = leap.next
        ends.version = c.version
        ends.may = c.may
        ends.left = leap.sure
        o.left.packets += leap.sure.packets
        o.left.captured += leap.sure.captured
        status = add_outlined(o, leap.begun, 0, LEAP_BEGINS, &ends, sizeof(LeapEnds))
        if status == 0:
            status = add_outlined(o, leap.sure.last, 0, LEAP_ENDS, &ends, sizeof(LeapEnds))
    o.held -= leap.n_records
    if status == 0:
        status = bytes_add(&o.out, &o.n, leap.records.p, leap.n_records)
        o.whole |= o.n + o.held > o.most
        o.n_entries += leap.n_held
    free_leap(h)
    return status


cdef void end_leaps(Reading* r, Conn* c) noexcept nogil:
    """A connection goes."""
    if r.outline != NULL:
        r.outline.gone = True
        if end_leap(r.outline, c, 0) < 0 or end_leap(r.outline, c, 1) < 0:
            r.outline.whole = True
        if r.outline.conn == c:
            r.outline.conn = NULL
    free_leap(&c.half[0])
    free_leap(&c.half[1])
