/* A field table as a dict. In C, since from CPython 3.12 on a reference that is added (32 bits are written)
 * and dropped at once (64 are read) makes the processor wait: what is new here is never counted up. */
#ifndef AMQPCODEC_TABLE_H
#define AMQPCODEC_TABLE_H

#include "wire/text.h"

/* One tag and its value, as a new reference; moves *at after it. NULL: an exception is set. */
typedef PyObject *(*ValueReader)(const uint8_t **at, uintptr_t mode, TextCache *cache);

/* Text where the bytes are UTF-8, else the bytes: a new reference. */
AMQP_INLINE PyObject *table_text(const uint8_t *s, Py_ssize_t n, TextCache *cache) {
    PyObject *o = text_of_utf8(n <= SHORT_VALUE ? cache : NULL, s, n);
    return o || PyErr_Occurred() ? o : PyBytes_FromStringAndSize((const char *)s, n);
}

/* Names in the order of their first appearance; of duplicates the last value counts. */
AMQP_INLINE PyObject *table_read(const uint8_t *p, uint32_t n, uintptr_t mode, int typed, TextCache *cache,
                                 ValueReader read) {
    const uint8_t *end = p + n;
    PyObject *table = PyDict_New();
    while (table && p < end) {
        const uint8_t *name_at = p;
        p += 1 + p[0];
        PyObject *value;
        if (p[0] == 'S' && !typed) { /* the most frequent type: without a call */
            uint32_t size = load32(p + 1);
            value = table_text(p + 5, size, cache);
            p += 5 + (size_t)size;
        } else {
            value = read(&p, mode, cache);
        }
        if (!value) {
            Py_CLEAR(table);
            break;
        }
        PyObject **entry, *kept = NULL;
        PyObject *name = text_find(cache, name_at + 1, name_at[0], &entry);
        if (!name) name = kept = text_keep(entry, name_at + 1, name_at[0]);
        if (!name || PyDict_SetItem(table, name, value) < 0) Py_CLEAR(table);
        Py_XDECREF(kept);
        Py_DECREF(value);
    }
    return table;
}

#endif
