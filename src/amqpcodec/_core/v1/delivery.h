/* The grammar of deliveries (1.0 Part 2 §2.6.14): what the transfers of one link mean one after the other.
 *
 * A user keeps a DeliveryState for each link (0: nothing is open), makes an event of each transfer, and does what the
 * outcome says. What came of a delivery so far is its own. detach ends its link, end all links of its channel, close
 * all of the connection; other performatives are no events. docs/design.md has the table, and who uses it. */
#ifndef AMQPCODEC_DELIVERY_H
#define AMQPCODEC_DELIVERY_H

#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

#if defined(__GNUC__)
#pragma GCC diagnostic error "-Wswitch-enum"
#endif

typedef enum {
    DELIVERY_IDLE, /* nothing is open */
    DELIVERY_OPEN, /* more transfers have to come */
    DELIVERY_SKIPS /* the delivery was discarded, or another one began inside of it: the rest is skipped */
} DeliveryState;

typedef enum {
    DELIVERY_ALONE,       /* the transfer is all of its delivery */
    DELIVERY_BEGUN,       /* it is the first of several */
    DELIVERY_CONTINUED,   /* it belongs to the delivery, and more have to come */
    DELIVERY_COMPLETE,    /* it belongs to the delivery, and is its last */
    DELIVERY_IGNORED,     /* it belongs to a delivery that was discarded */
    DELIVERY_DROPPED,     /* the delivery was aborted: its payload is no message */
    DELIVERY_CUT,         /* no transfer will complete the delivery */
    DELIVERY_OTHER_INSIDE /* a fault: the transfer names another delivery */
} DeliveryOutcome;

/* event, then (next state, outcome) in the states IDLE, OPEN, SKIPS. OTHER_...: what the transfer says of its delivery
 * (id, tag, format) is not what the first one said. Where `aborted` is set, `more` says nothing. */
#define DELIVERY_GRAMMAR(EVENT)                                                     \
    EVENT(LAST, (IDLE, ALONE), (IDLE, COMPLETE), (IDLE, IGNORED))                   \
    EVENT(MORE, (OPEN, BEGUN), (OPEN, CONTINUED), (SKIPS, IGNORED))                 \
    EVENT(ABORTED, (IDLE, DROPPED), (IDLE, DROPPED), (IDLE, DROPPED))               \
    EVENT(OTHER_LAST, (IDLE, ALONE), (IDLE, OTHER_INSIDE), (IDLE, IGNORED))         \
    EVENT(OTHER_MORE, (OPEN, BEGUN), (SKIPS, OTHER_INSIDE), (SKIPS, IGNORED))       \
    EVENT(OTHER_ABORTED, (IDLE, DROPPED), (IDLE, OTHER_INSIDE), (IDLE, DROPPED))    \
    /* the link, its session or the connection ends, or the input does */           \
    EVENT(ENDED, (IDLE, IGNORED), (IDLE, CUT), (IDLE, IGNORED))                     \
    /* the user refuses a transfer, or gives the delivery up */                     \
    EVENT(DISCARD, (SKIPS, IGNORED), (SKIPS, IGNORED), (SKIPS, IGNORED))

#define DELIVERY_EVENT(event, idle, open, skips) DELIVERY_ON_##event,
typedef enum { DELIVERY_GRAMMAR(DELIVERY_EVENT) } DeliveryEvent;
#undef DELIVERY_EVENT

typedef struct {
    uint8_t next, outcome;
} DeliveryStep;

#define DELIVERY_CELL(next, outcome) {DELIVERY_##next, DELIVERY_##outcome}
#define DELIVERY_EVENT(event, idle, open, skips) {DELIVERY_CELL idle, DELIVERY_CELL open, DELIVERY_CELL skips},
static const DeliveryStep DELIVERY_STEPS[][3] = {DELIVERY_GRAMMAR(DELIVERY_EVENT)};
#undef DELIVERY_EVENT
#undef DELIVERY_CELL

/* The event of a transfer. other: it names another delivery than the one that is open. */
AMQP_INLINE DeliveryEvent delivery_event(int more, int aborted, int other) {
    if (aborted) return other ? DELIVERY_ON_OTHER_ABORTED : DELIVERY_ON_ABORTED;
    if (more) return other ? DELIVERY_ON_OTHER_MORE : DELIVERY_ON_MORE;
    return other ? DELIVERY_ON_OTHER_LAST : DELIVERY_ON_LAST;
}

AMQP_INLINE DeliveryOutcome delivery_step(DeliveryState *state, DeliveryEvent event) {
    DeliveryStep step = DELIVERY_STEPS[event][*state];
    *state = (DeliveryState)step.next;
    return (DeliveryOutcome)step.outcome;
}

/* What is wrong, or NULL where nothing is. */
AMQP_INLINE const char *delivery_fault(DeliveryOutcome outcome) {
    return outcome == DELIVERY_OTHER_INSIDE ? "another delivery begins inside of one" : NULL;
}

#endif
