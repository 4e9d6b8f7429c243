# What the beginning and the end of a file say of its connections: whether another file goes on with them.

cdef enum:
    WAYS = 1 << 14                  # directions that are looked at; then all are forgotten

# A direction of a connection, as far as packets told.
cdef struct Way:
    Endpoint source
    Endpoint target
    bint used
    bint syn                # it begins here
    uint32_t first          # sequence numbers of the first byte, and after the last one
    uint32_t next


@cython.final
cdef class CaptureEnds:
    """Looks at a part of a file: its times, and the sequence numbers of connections."""

    cdef CapFile file
    cdef Way* way
    cdef int n_ways
    cdef ServerPorts servers
    cdef readonly object first_time     # ns since 1970, None where no packet has a time
    cdef readonly object last_time
    cdef readonly bint damaged

    def __cinit__(self, ports, CaptureEnds like=None, bint detect_ports=False):
        """like: of another part of the same file, which knows its format. detect_ports: look at
        ports to which a protocol header was sent, from there on."""
        memset(&self.file, 0, sizeof(CapFile))
        memset(&self.servers, 0, sizeof(ServerPorts))
        self.servers.detects = detect_ports
        for port in ports:
            want_port(&self.servers, port)
        self.way = <Way*>calloc(WAYS, sizeof(Way))
        if self.way == NULL:
            raise MemoryError
        if like is not None:
            self.file.format = like.file.format
            self.file.big = like.file.big
            self.file.nano = like.file.nano
            self.file.link = like.file.link

    def __dealloc__(self):
        free(self.way)
        block_give(&self.file.interfaces)

    @property
    def known(self):
        """Whether the file was found to be a capture."""
        return self.file.format != FILE_UNKNOWN

    @property
    def cuttable(self):
        """Whether records can be found without those before them."""
        return self.file.format == FILE_PCAP

    def first_record(self, bytes data not None, bint last):
        """Where in these bytes a record begins, or -1. last: the file ends after them."""
        return find_record(&self.file, <const uint8_t*>PyBytes_AS_STRING(data),
                           <size_t>len(data), <size_t>len(data), last)

    def feed(self, bytes data not None):
        """Read the whole records at the beginning of these bytes: how many bytes they are."""
        cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(data)
        cdef size_t n = <size_t>len(data), at = 0, used = 0
        cdef CapPacket packet
        cdef Walk walk
        cdef Segment segment
        cdef int64_t low = 0x7FFFFFFFFFFFFFFF, high = NO_TIME
        cdef int found = FILE_SKIPPED
        with nogil:
            while True:
                found = next_packet(&self.file, p + at, n - at, &packet, &used)
                at += used
                if found == FILE_MORE or found < 0:
                    break
                if found != FILE_PACKET:
                    continue
                if packet.time != NO_TIME:
                    low = min(low, packet.time) if high != NO_TIME else packet.time
                    high = max(high, packet.time)
                if read_segment(&packet, &walk, &segment) != SKIP_NONE:
                    continue
                if (is_read(&self.servers, segment.source.port) or is_read(&self.servers, segment.target.port)
                        or (starts_with_header(&segment) and detect_port(&self.servers, &segment) >= 0)):
                    add_way(self.way, &self.n_ways, &segment)
                else:
                    remember_skipped(&self.servers, &segment)
        if found == NO_MEMORY:
            raise MemoryError
        self.damaged = found < 0
        if high != NO_TIME:
            self.first_time = low if self.first_time is None else self.first_time
            self.last_time = high if self.last_time is None else max(self.last_time, high)
        return at

    @property
    def detected_ports(self):
        """Ports beside the given ones that a protocol header was sent to, as far as was read."""
        return [int(port) for port in detected_counts(&self.servers)]

    def ways(self):
        """{ends of a direction: (first, next, whether it begins here)}."""
        cdef dict out = {}
        cdef Way* way
        cdef int i
        for i in range(WAYS):
            way = &self.way[i]
            if way.used:
                out[way_key(way)] = (way.first, way.next, way.syn)
        return out


cdef bytes way_key(const Way* way):
    return b"%b%d>%b%d" % (way.source.address[:16], way.source.port, way.target.address[:16], way.target.port)


cdef void add_way(Way* ways, int* n, const Segment* s) noexcept nogil:
    cdef bint syn = s.flags & TCP_SYN != 0
    cdef uint32_t first = s.sequence + syn, next_ = first + s.size
    cdef uint32_t i = (bucket_of(&s.source, &s.target) * 2 + (s.source.port > s.target.port)) & (WAYS - 1)
    if s.flags & TCP_RST or not (syn or s.size):
        return
    while ways[i].used and not (same_end(&ways[i].source, &s.source) and same_end(&ways[i].target, &s.target)):
        i = (i + 1) & (WAYS - 1)
    if not ways[i].used:
        if n[0] >= WAYS // 2:       # the newest are those that another file goes on with
            memset(ways, 0, WAYS * sizeof(Way))
            n[0] = 0
        n[0] += 1
    if not ways[i].used or (syn and ways[i].first != first):
        ways[i].used = True
        ways[i].source = s.source
        ways[i].target = s.target
        ways[i].syn = syn
        ways[i].first = first
        ways[i].next = next_
    elif <int32_t>(next_ - ways[i].next) > 0:
        ways[i].next = next_
