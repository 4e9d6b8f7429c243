# Records to rows: those of one file in their order, or of several at once in that of their packets' times.

cdef int batch_full(Reading* r) noexcept nogil:
    """1 where a batch is full, else 0."""
    if not r.out.ordered:
        return r.rows.n >= r.out.batch_rows or r.rows.used >= BATCH_BYTES
    if r.rows.n < r.out.full_rows and r.rows.used < r.out.full_bytes:
        return 0
    if order_rows(r, False) < 0:
        return NO_MEMORY
    return is_ready(r)


cdef int read_given_up(Reading* r) noexcept nogil:
    """What is there, up to the first hole, of IP packets whose other fragments do not come."""
    cdef Mark now = r.last
    cdef Partial* d
    cdef CapPacket packet
    cdef Segment segment
    cdef Walk walk
    cdef int status = 0
    while status == 0 and r.partials.given_up != NULL:
        d = r.partials.given_up
        r.partials.given_up = d.newer
        if not d.refused:
            r.count.skipped[SKIP_FRAGMENT] += d.n
            enter_partial(d, first_hole(d), &walk, &segment)
            if walk.n and read_layers(&walk, &segment) == SKIP_NONE:
                r.count.skipped[SKIP_FRAGMENT] -= d.n
                r.last = d.mark
                packet.at = d.mark.file_at
                packet.time = d.mark.time
                status = add_segment(r, &packet, &segment)
        free_partial(d)
    r.last = now
    return status


cdef inline int read_packet(Reading* r, const CapPacket* packet) noexcept nogil:
    """The next one, of the file that r.files.slot names."""
    cdef Segment segment
    cdef Walk walk
    cdef Partial* held = NULL
    cdef int why
    r.count.packets += 1
    r.count.captured += packet.have
    r.last.time = packet.time
    r.last.number = packet.number
    r.last.file_at = packet.at
    r.last.turn = r.count.packets
    r.last.file = r.files.slot
    if AMQP_UNLIKELY(r.partials.oldest != NULL):
        expire_partials(r)
    why = read_segment(packet, &walk, &segment)
    if AMQP_UNLIKELY(why == SKIP_FRAGMENT):
        why = read_fragment(r, &walk, &segment, &held)
    if why == SKIP_NONE:
        why = add_segment(r, packet, &segment)
    elif why > SKIP_NONE:
        if why != SKIP_WAITS:
            r.count.skipped[why] += 1
            if AMQP_UNLIKELY(why == SKIP_LINK):
                r.count.links[min(walk.link, <uint32_t>LINK_TYPES - 1)] += 1
        why = SKIP_NONE
    if AMQP_UNLIKELY(held != NULL):
        free_partial(held)
    if why == 0 and AMQP_UNLIKELY(r.partials.given_up != NULL):
        why = read_given_up(r)
    if why == 0 and AMQP_UNLIKELY(r.conns.translations.parted != NULL):
        why = read_parted(r)
    return why


cdef int read_packets(Reading* r, const uint8_t* p, size_t n, size_t* used) noexcept nogil:
    """Take whole records from p on, until a batch is full (1) or bytes are missing (0)."""
    cdef CapPacket packet
    cdef size_t step
    cdef int found
    used[0] = 0
    while True:
        found = batch_full(r)
        if found != 0:
            return found
        if r.file.at >= r.stop:
            return 0
        found = next_packet(&r.file, p + used[0], n - used[0], &packet, &step)
        used[0] += step
        if found == FILE_MORE or found < 0:
            return found
        if found == FILE_SKIPPED:
            continue
        if found == FILE_SECRETS:
            if add_secrets(r, packet.data, packet.have) < 0:
                return NO_MEMORY
        elif read_packet(r, &packet) < 0:
            return NO_MEMORY


# ---- several files at once ----

cdef int feed_tap(Tap* tap, const uint8_t* p, size_t n) noexcept nogil:
    """Copy its next bytes after those that are part of no whole record yet."""
    tap.n -= tap.at
    if tap.at and tap.n:
        memmove(tap.input.p, tap.input.p + tap.at, tap.n)
    tap.at = 0
    return bytes_add(&tap.input, &tap.n, p, n)


cdef int next_of_tap(Reading* r, Tap* tap) noexcept nogil:
    """Find its next packet. One without a time, or with an earlier one, counts as sent with the one before."""
    cdef size_t step
    cdef int found = FILE_SKIPPED
    while found == FILE_SKIPPED or found == FILE_SECRETS:
        found = next_packet(&tap.file, tap.input.p + tap.at, tap.n - tap.at, &tap.packet, &step)
        tap.at += step
        if found == FILE_SECRETS and add_secrets(r, tap.packet.data, tap.packet.have) < 0:
            return NO_MEMORY
    if found == FILE_PACKET:
        tap.ready = True
        if tap.packet.time != NO_TIME:
            tap.time = max(tap.time, tap.packet.time)
    return found


cdef int read_taps(Reading* r, int64_t until, int* which) noexcept nogil:
    """Read the packets of all taps before a time; 1: a batch is full.

    0: which is TAPS_READ, or the tap of which bytes are missing, or which has ended.
    """
    cdef Tap* tap
    cdef Tap* first
    cdef int i, found
    while True:
        found = batch_full(r)
        if found != 0:
            return found
        first = NULL
        for i in range(<int>r.files.n_taps):
            tap = taps_of(r)[i]
            if tap == NULL:
                continue
            if not tap.ready:
                found = next_of_tap(r, tap)
                if found == NO_MEMORY:
                    return NO_MEMORY
                if found != FILE_PACKET:
                    tap.damaged = found < 0
                    which[0] = i
                    return 0
            if first == NULL or tap.time < first.time:
                first = tap
        if first == NULL or first.time >= until:
            which[0] = TAPS_READ
            return 0
        first.ready = False
        r.files.slot = first.slot
        r.files.number = first.number
        if read_packet(r, &first.packet) < 0:
            return NO_MEMORY


cdef void free_tap(Reading* r, int i) noexcept nogil:
    cdef Tap* tap = taps_of(r)[i]
    block_give(&tap.input)
    block_give(&tap.file.interfaces)
    free(tap)
    taps_of(r)[i] = NULL


cdef int end_connections(Reading* r) noexcept nogil:
    """Nothing more will come: the last rows of all connections; 1 where a batch is full."""
    cdef int status
    while r.partials.oldest != NULL:
        status = batch_full(r)
        if status != 0:
            return status
        drop_partial(r, r.partials.oldest)
        if read_given_up(r) < 0 or read_parted(r) < 0:
            return NO_MEMORY
    while r.conns.oldest != NULL:
        status = batch_full(r)
        if status != 0:
            return status
        if finish_conn(r, r.conns.oldest) < 0 or read_parted(r) < 0:
            return NO_MEMORY
    return 0
