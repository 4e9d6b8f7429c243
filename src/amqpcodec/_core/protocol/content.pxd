# The grammar of contents, with its table of states: protocol/content.h.

cdef extern from "protocol/content.h" nogil:
    ctypedef enum ContentState:
        CONTENT_IDLE
        CONTENT_AWAITS_HEADER
        CONTENT_AWAITS_BODY
    ctypedef enum ContentOutcome:
        CONTENT_ALONE
        CONTENT_BEGUN
        CONTENT_COMPLETE
        CONTENT_HEADER_FIRST
        CONTENT_HEADER_INSIDE
    ctypedef enum ContentEvent:
        CONTENT_METHOD
        CONTENT_OPENING
        CONTENT_EMPTY_HEADER
        CONTENT_HEADER
        CONTENT_BODY
        CONTENT_LAST_BODY
        CONTENT_DISCARD
    ctypedef struct ContentMachine:
        uint64_t size
        uint64_t have
        ContentState state
    bint content_is_open(ContentState state)
    bint content_takes(ContentOutcome outcome)
    ContentEvent content_header(uint64_t size)
    ContentEvent content_body(const ContentMachine* m, uint64_t n)
    ContentOutcome content_outcome(const ContentMachine* m, ContentEvent event)
    ContentOutcome content_step(ContentMachine* m, ContentEvent event, uint64_t n)
    const char* content_fault(ContentOutcome outcome)


cdef inline uint8_t content_awaits(ContentState state) noexcept nogil:
    """The type of the frame that a state waits for."""
    if not content_is_open(state):
        return FRAME_METHOD
    return FRAME_BODY if state == CONTENT_AWAITS_BODY else FRAME_HEADER


cdef inline ContentOutcome content_frame(ContentMachine* m, const uint8_t* p, uint64_t n, bint opening) noexcept nogil:
    """Take a method, header or body frame, n bytes from p on. A header that is too short to be read announces
    no body. opening: whether the method has a content."""
    if p[0] == FRAME_METHOD:
        return content_step(m, CONTENT_OPENING if opening else CONTENT_METHOD, 0)
    if p[0] == FRAME_HEADER:
        n = load64(p + 11) if n >= 20 else 0
        return content_step(m, content_header(n), n)
    n -= 8
    return content_step(m, content_body(m, n), n)
