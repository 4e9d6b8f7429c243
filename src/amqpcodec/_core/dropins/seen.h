/* What a dict gave for a key when it was looked at last: it need not be asked again while it is as it
 * was. CPython 3.11 numbers all states of all dicts (PEP 509); other versions ask each time. */
#ifndef AMQPCODEC_SEEN_H
#define AMQPCODEC_SEEN_H

#include <Python.h>
#include "dropins/bound.h"
#include "wire/text.h"
#include "wire/wire.h"

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000 && !defined(PYPY_VERSION)
#define SEEN_STATE(d) (((PyDictObject *)(d))->ma_version_tag)
#endif

/* Of one key, in whichever dict it is asked of. The value is the dict's, which holds it in this state. */
typedef struct {
    uint64_t state; /* no dict's while it is 0 */
    PyObject *value;
} Seen;

/* As bound_item. */
AMQP_INLINE PyObject *seen_item(Seen *s, PyObject *d, PyObject *key) {
#ifdef SEEN_STATE
    if (AMQP_LIKELY(SEEN_STATE(d) == s->state)) return s->value;
    uint64_t state = SEEN_STATE(d); /* before a key's own __eq__, which may change the dict */
    s->value = bound_item(d, key);
    s->state = state;
    return s->value;
#else
    return bound_item(d, key);
#endif
}

/* d[key] += 1; 0 where that is left to the caller, -1 with an exception. */
static int seen_count(Seen *s, PyObject *d, PyObject *key) {
    uint64_t n;
    PyObject *value = seen_item(s, d, key);
    if (!value || !PyLong_CheckExact(value)) return 0;
#ifdef SEEN_STATE
    /* Nobody but the dict has this int: it becomes the next one, as text that nobody else has grows
     * in its place. Who reads it holds it, and has an int that stays as it is. */
    if (AMQP_LIKELY(Py_REFCNT(value) == 1 && Py_SIZE(value) == 1)) {
        digit *low = ((PyLongObject *)value)->ob_digit;
        if (AMQP_LIKELY(*low < PyLong_MASK)) {
            ++*low;
            return 1;
        }
    }
#endif
    if (!exact_u64(value, &n) || n + 1 == 0) return 0;
    PyObject *next = PyLong_FromUnsignedLongLong(n + 1);
    if (!next) return -1;
    int bad = PyDict_SetItem(d, key, next);
#ifdef SEEN_STATE
    if (!bad) {
        s->value = next;
        s->state = SEEN_STATE(d);
    }
#endif
    Py_DECREF(next);
    return bad ? -1 : 1;
}

#endif
