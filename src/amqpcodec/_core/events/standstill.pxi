# The numbers of publishes on a channel whose beginning was not seen, or of which some may be missing: known again
# after a quiet time before which the server confirmed all of them.

cdef enum:
    QUIET_US = 1000000      # a quiet time is so long at least, µs; two of them make a number known,
    QUIET_ALONE_US = 10000000   # or one of this length
    QUIET_RATIO = 20        # and it is so many times the longest wait for a confirm
    CONFIRMS_AHEAD = 64     # numbers after the first one without a confirm that are followed


cdef void restart_standstill(Standstill* s) noexcept nogil:
    """Something may have been missed. How long confirms take still holds."""
    cdef int64_t slowest = s.slowest
    memset(s, 0, sizeof(Standstill))
    s.slowest = slowest


cdef void restart_standstills(TrackedChannel* ch) noexcept nogil:
    """Of a channel and all after it."""
    while ch != NULL:
        restart_standstill(&ch.standstill)
        ch = ch.after


cdef void add_confirmed(Standstill* s, uint64_t tag, bint multiple) noexcept nogil:
    """Numbers that the server confirms."""
    cdef uint64_t step = tag - s.confirmed
    if s.confirmed == 0:
        s.confirmed_from = 0 if multiple else tag - 1
        s.confirmed = tag
    elif multiple:
        if tag > s.confirmed:
            s.ahead = s.ahead >> step if step < CONFIRMS_AHEAD else 0
            s.confirmed = tag
        if tag >= s.confirmed_from:
            s.confirmed_from = 0
    elif tag > s.confirmed:
        if step <= CONFIRMS_AHEAD:
            s.ahead |= <uint64_t>1 << (step - 1)
        else:
            s.ahead = 0
            s.confirmed_from = tag - 1
            s.confirmed = tag
    while s.ahead & 1:
        s.ahead >>= 1
        s.confirmed += 1


cdef void observe_confirm(Tracking* g, TrackedChannel* ch, uint64_t tag, bint multiple) noexcept nogil:
    """A confirm of publishes whose numbers are not known."""
    cdef Standstill* s = &ch.standstill
    cdef int64_t before = <int64_t>tag - <int64_t>s.published
    if tag == 0 or tag >> 60 or g.now == NO_NUMBER or g.unordered:
        restart_standstill(s)
        return
    if s.confirmed == 0 or before > s.before:
        s.before = before
        s.agreed = 0
    if s.published:         # a confirm before its publish: the times of the directions differ by as much
        s.slowest = max(s.slowest, g.now - s.last_publish if g.now > s.last_publish else s.last_publish - g.now)
    s.last_confirm = g.now
    add_confirmed(s, tag, multiple)


cdef bint stands_still(Tracking* g, TrackedChannel* ch, bint blocked) noexcept nogil:
    """Whether all publishes before the one at hand are confirmed, by the quiet time that it ends."""
    cdef Standstill* s = &ch.standstill
    cdef int64_t quiet = min(g.now - s.last_publish, g.now - s.last_confirm)
    cdef bint complete = s.confirmed_from == 0 or <int64_t>s.confirmed_from <= s.before
    if blocked or s.published == 0 or s.confirmed == 0 or quiet < QUIET_US or quiet // QUIET_RATIO < s.slowest:
        return False
    if s.ahead or <int64_t>s.confirmed - <int64_t>s.published != s.before:
        s.agreed = 0
        return False
    if ch.publishes.n_open and ch.publishes.newest > ch.doubtful_publishes:
        return False        # one from before the loss has no confirm
    s.agreed = <uint8_t>(s.agreed + 1 if complete else 0)
    s.quiet = quiet
    s.before = <int64_t>s.confirmed
    s.confirmed_from = s.confirmed
    s.published = 0
    return complete and (s.agreed > 1 or quiet >= QUIET_ALONE_US)


cdef void observe_publish(Tracking* g, TrackedChannel* ch, bint blocked) noexcept nogil:
    """A publish whose number is not known, unless it is by a quiet time before it: `ch.counts` says so then."""
    cdef Standstill* s = &ch.standstill
    if g.now == NO_NUMBER or g.unordered:
        restart_standstill(s)
        return
    if ch.confirms == CONFIRMS and stands_still(g, ch, blocked):
        forget_questions(g, TRACKED_PUBLISHES, &ch.publishes)
        ch.publishes.newest = ch.doubtful_publishes = s.confirmed
        ch.returned = 0
        ch.counts = ch.infers = True
        s.agreed = 0
        return
    s.published += 1
    s.last_publish = g.now


cdef void contradict_standstill(Tracking* g, TrackedChannel* ch) noexcept nogil:
    """The server confirms what does not wait for that: the numbers are wrong."""
    cdef Standstill* s = &ch.standstill
    g.counts.contradicted += 1
    forget_questions(g, TRACKED_PUBLISHES, &ch.publishes)
    ch.counts = False
    s.slowest = max(s.slowest, s.quiet)
    restart_standstill(s)
