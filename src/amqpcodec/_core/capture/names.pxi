# The names of a chain's files: packets tell of theirs by the slot of its name. A chain may be long, so that
# slots no packet tells of any more are used again.

cdef enum:
    MANY_SLOTS = 64

# What is done with the slot of each mark.
cdef enum:
    NOTE_SLOT
    MOVE_SLOT


cdef inline void visit_slot(int32_t* slot, int what, int32_t* known) noexcept nogil:
    if what == NOTE_SLOT:
        known[slot[0]] = 1
    else:
        slot[0] = known[slot[0]]


cdef void visit_slots_of_held(Reading* r, int what, int32_t* known) noexcept nogil:
    cdef Translated* t
    cdef HeldSegment* held
    cdef int i, side
    for i in range(TRANSLATED_BUCKETS):
        t = r.conns.translations.bucket[i]
        while t != NULL:
            for side in range(2):
                if t.half[side].opening != NULL:
                    visit_slot(&t.half[side].opening.mark.file, what, known)
                held = t.half[side].first
                while held != NULL:
                    visit_slot(&held.mark.file, what, known)
                    held = held.next
            t = t.bucket


cdef void visit_slots(Reading* r, int what, int32_t* known) noexcept nogil:
    """Note which slots packets tell of, or give them other numbers."""
    cdef Conn* c = r.conns.oldest
    cdef CapRow* row = <CapRow*>r.rows.row.p
    cdef Partial* d = r.partials.oldest
    cdef Open* o
    cdef Half* h
    cdef int64_t k
    cdef size_t j
    cdef int i
    while c != NULL:
        for i in range(2):
            h = &c.half[i]
            for j in range(h.marks.at, h.marks.n):
                visit_slot(&(<Mark*>h.marks.block.p)[j].file, what, known)
            for j in range(h.waiting.n):
                visit_slot(&(<Piece**>h.waiting.heap.p)[j].mark.file, what, known)
            o = h.open
            while o != NULL:
                visit_slot(&o.row.file, what, known)
                o = o.next
        c = c.newer
    for k in range(r.rows.n):
        visit_slot(&row[k].file, what, known)
    for k in range(r.out.rows.first, r.out.rows.n):
        visit_slot(&(<CapRow*>r.out.rows.row.p)[k].file, what, known)
    visit_slots_of_held(r, what, known)
    while d != NULL:
        visit_slot(&d.mark.file, what, known)
        d = d.newer
    for j in range(r.files.n_taps):
        if taps_of(r)[j] != NULL:
            visit_slot(&taps_of(r)[j].slot, what, known)
    visit_slot(&r.last.file, what, known)
    visit_slot(&r.files.slot, what, known)


cdef class FileNames:
    """Names of files, in UTF-8, and their numbers in the chain, by slot."""

    cdef list names
    cdef list numbers

    def __cinit__(self):
        self.names = []
        self.numbers = []

    cdef int add(self, Reading* r, bytes name) except -1:
        """The name of the next file, which is read from now on."""
        if len(self.names) >= MANY_SLOTS:
            self.prune(r)
        self.names.append(name)
        self.numbers.append(r.files.number)
        r.files.slot = <int32_t>len(self.names) - 1
        return 0

    cdef int prune(self, Reading* r) except -1:
        """Forget names that nothing tells of."""
        cdef int32_t n = <int32_t>len(self.names)
        cdef int32_t i, kept = 0
        cdef int32_t* known
        if n == 0:
            return 0
        known = <int32_t*>calloc(<size_t>n, sizeof(int32_t))
        if known == NULL:
            raise MemoryError
        try:
            visit_slots(r, NOTE_SLOT, known)
            for i in range(n):
                if not known[i]:
                    known[i] = -1 - kept
                else:
                    known[i] = kept
                    self.names[kept] = self.names[i]
                    self.numbers[kept] = self.numbers[i]
                    kept += 1
            visit_slots(r, MOVE_SLOT, known)
        finally:
            free(known)
        del self.names[kept:]
        del self.numbers[kept:]
        return 0

    cdef FileNames copy(self):
        """The names as they are now."""
        cdef FileNames out = FileNames()
        out.names = list(self.names)
        out.numbers = list(self.numbers)
        return out

    cdef bytes store(self):
        """For a state."""
        cdef list each = [b"%d %s" % pair for pair in zip(self.numbers, self.names)]
        return b"\0".join(each)

    cdef bint load(self, bytes stored) except -1:
        """What store() gave; whether it is well formed."""
        for each in stored.split(b"\0") if stored else ():
            number, space, name = each.partition(b" ")
            if not space or not number.isdigit() or len(number) > 18:
                return False
            if name.decode(errors="replace").encode() != name:
                return False
            self.numbers.append(int(number))
            self.names.append(name)
        return True
