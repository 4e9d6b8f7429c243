/* The grammar of contents (0-9-1 §4.2.6): what the frames of one channel, in one direction, mean one after the other.
 *
 * A user keeps a ContentMachine for each channel (zeros: nothing is open), makes an event of each frame of the channel,
 * and does what the outcome says. What came of a content so far is its own. Heartbeats and frames of other channels are
 * no events. Where the input ends, or bytes of it are lost, a content that is open will not be complete.
 * docs/design.md has the table, and who uses it. */
#ifndef AMQPCODEC_CONTENT_H
#define AMQPCODEC_CONTENT_H

#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

#if defined(__GNUC__)
#pragma GCC diagnostic error "-Wswitch-enum"
#endif

typedef enum {
    CONTENT_IDLE,          /* nothing is open */
    CONTENT_AWAITS_HEADER, /* a method with a content came */
    CONTENT_AWAITS_BODY,   /* its header came */
    CONTENT_SKIPS          /* the content was discarded, or a frame was out of place: the rest is skipped */
} ContentState;

typedef enum {
    CONTENT_ALONE,         /* the method is complete by itself */
    CONTENT_BEGUN,         /* a header has to come */
    CONTENT_MORE,          /* the frame belongs to the content, and bodies have to come */
    CONTENT_COMPLETE,      /* the frame belongs to the content, and is its last */
    CONTENT_IGNORED,       /* the frame belongs to a content that was discarded */
    CONTENT_METHOD_INSIDE, /* from here on faults */
    CONTENT_HEADER_FIRST,
    CONTENT_HEADER_INSIDE,
    CONTENT_BODY_FIRST,
    CONTENT_BODY_BEYOND
} ContentOutcome;

/* event, then (next state, outcome) in the states IDLE, AWAITS_HEADER, AWAITS_BODY, SKIPS. The method of a fault is
 * not taken: whoever takes it as well makes a second event of it. */
#define CONTENT_GRAMMAR(EVENT)                                                                                         \
    /* a method without a content, or one that is not known yet */                                                     \
    EVENT(METHOD, (IDLE, ALONE), (IDLE, METHOD_INSIDE), (IDLE, METHOD_INSIDE), (IDLE, ALONE))                          \
    /* a method with a content */                                                                                      \
    EVENT(OPENING, (AWAITS_HEADER, BEGUN), (IDLE, METHOD_INSIDE), (IDLE, METHOD_INSIDE), (AWAITS_HEADER, BEGUN))       \
    /* a header of a body without bytes, or one that does not tell them */                                             \
    EVENT(EMPTY_HEADER, (SKIPS, HEADER_FIRST), (IDLE, COMPLETE), (SKIPS, HEADER_INSIDE), (SKIPS, IGNORED))             \
    EVENT(HEADER, (SKIPS, HEADER_FIRST), (AWAITS_BODY, MORE), (SKIPS, HEADER_INSIDE), (SKIPS, IGNORED))                \
    /* a body frame with fewer bytes than have to come, with all of them, with more */                                 \
    EVENT(BODY, (SKIPS, BODY_FIRST), (SKIPS, BODY_FIRST), (AWAITS_BODY, MORE), (SKIPS, IGNORED))                       \
    EVENT(LAST_BODY, (SKIPS, BODY_FIRST), (SKIPS, BODY_FIRST), (IDLE, COMPLETE), (SKIPS, IGNORED))                     \
    EVENT(LONG_BODY, (SKIPS, BODY_FIRST), (SKIPS, BODY_FIRST), (SKIPS, BODY_BEYOND), (SKIPS, IGNORED))                 \
    /* the user refuses a frame, or gives the content up */                                                            \
    EVENT(DISCARD, (SKIPS, IGNORED), (SKIPS, IGNORED), (SKIPS, IGNORED), (SKIPS, IGNORED))

#define CONTENT_EVENT(event, idle, header, body, skips) CONTENT_##event,
typedef enum { CONTENT_GRAMMAR(CONTENT_EVENT) } ContentEvent;
#undef CONTENT_EVENT

typedef struct {
    uint8_t next, outcome;
} ContentStep;

#define CONTENT_CELL(next, outcome) {CONTENT_##next, CONTENT_##outcome}
#define CONTENT_EVENT(event, idle, header, body, skips) \
    {CONTENT_CELL idle, CONTENT_CELL header, CONTENT_CELL body, CONTENT_CELL skips},
static const ContentStep CONTENT_STEPS[][4] = {CONTENT_GRAMMAR(CONTENT_EVENT)};
#undef CONTENT_EVENT
#undef CONTENT_CELL

typedef struct {
    uint64_t size, have; /* bytes of the body: those that the header announced, those that came */
    ContentState state;
} ContentMachine;

AMQP_INLINE int content_is_open(ContentState state) {
    return state == CONTENT_AWAITS_HEADER || state == CONTENT_AWAITS_BODY;
}

/* Whether a header or body frame belongs to the content that is open. */
AMQP_INLINE int content_takes(ContentOutcome outcome) {
    return outcome == CONTENT_MORE || outcome == CONTENT_COMPLETE;
}

/* The events of a header that announces so many bytes, and of a body frame with so many. */
AMQP_INLINE ContentEvent content_header(uint64_t size) {
    return size ? CONTENT_HEADER : CONTENT_EMPTY_HEADER;
}
AMQP_INLINE ContentEvent content_body(const ContentMachine *m, uint64_t n) {
    uint64_t left = m->size - m->have;
    return n < left ? CONTENT_BODY : n == left ? CONTENT_LAST_BODY : CONTENT_LONG_BODY;
}

/* What an event would give. */
AMQP_INLINE ContentOutcome content_outcome(const ContentMachine *m, ContentEvent event) {
    return (ContentOutcome)CONTENT_STEPS[event][m->state].outcome;
}

/* Take an event. n: bytes of the body, as for the event. */
AMQP_INLINE ContentOutcome content_step(ContentMachine *m, ContentEvent event, uint64_t n) {
    ContentStep step = CONTENT_STEPS[event][m->state];
    if (step.next == CONTENT_AWAITS_BODY) {
        if (event == CONTENT_HEADER) {
            m->size = n;
            m->have = 0;
        } else {
            m->have += n;
        }
    }
    m->state = (ContentState)step.next;
    return (ContentOutcome)step.outcome;
}

/* What is wrong, or NULL where nothing is. */
AMQP_INLINE const char *content_fault(ContentOutcome outcome) {
    switch (outcome) {
    case CONTENT_METHOD_INSIDE:
        return "method frame inside of a content";
    case CONTENT_HEADER_FIRST:
        return "content header without a method before it";
    case CONTENT_HEADER_INSIDE:
        return "content header inside of a content";
    case CONTENT_BODY_FIRST:
        return "body frame without a content header before it";
    case CONTENT_BODY_BEYOND:
        return "body frame beyond the size that the header announced";
    case CONTENT_ALONE:
    case CONTENT_BEGUN:
    case CONTENT_MORE:
    case CONTENT_COMPLETE:
    case CONTENT_IGNORED:
        break;
    }
    return NULL;
}

#endif
