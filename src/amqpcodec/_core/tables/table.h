/* A field table as a dict. In C, since from CPython 3.12 on a reference that is added (32 bits are written)
 * and dropped at once (64 are read) makes the processor wait: what is new here is never counted up. */
#ifndef AMQPCODEC_TABLE_H
#define AMQPCODEC_TABLE_H

#include "wire/text.h"

/* One tag and its value, as a new reference; moves *at after it. NULL: an exception is set. */
typedef PyObject *(*ValueReader)(const uint8_t **at, uintptr_t mode, TextCache *cache);

/* Text where the bytes are UTF-8, else the bytes: a new reference. */
AMQP_INLINE PyObject *table_text(const uint8_t *s, Py_ssize_t n, TextCache *cache) {
    PyObject *o = n <= SHORT_VALUE        ? text_of_utf8(cache, s, n)
                  : is_ascii(s, (size_t)n) ? text_ascii(s, n)
                                           : text_utf8(s, n);
    return o || PyErr_Occurred() ? o : PyBytes_FromStringAndSize((const char *)s, n);
}

/* Names in the order of their first appearance; of duplicates the last value counts. */
AMQP_INLINE PyObject *table_read(const uint8_t *p, uint32_t n, uintptr_t mode, int typed, TextCache *cache,
                                 ValueReader read) {
    const uint8_t *end = p + n;
    PyObject *table = PyDict_New();
    if (!table) return NULL;
    while (p < end) {
        const uint8_t *name_at = p;
        p += 1 + p[0];
        PyObject **entry, *kept = NULL, *name, *value;
        if (p[0] == 'S' && !typed) { /* the most frequent type: without a call */
            uint32_t size = load32(p + 1);
            const uint8_t *text = p + 5;
            p = text + size;
            value = size <= SHORT_VALUE ? text_find(cache, text, size, &entry) : NULL;
            if (value && (name = text_find(cache, name_at + 1, name_at[0], &entry))) {
                /* Both are borrowed, since nothing was put into the cache. */
                if (AMQP_UNLIKELY(PyDict_SetItem(table, name, value) < 0)) goto failed;
                continue;
            }
            value = value ? Py_NewRef(value) : table_text(text, size, cache);
        } else {
            value = read(&p, mode, cache);
        }
        if (!value) goto failed;
        name = text_find(cache, name_at + 1, name_at[0], &entry);
        if (!name) name = kept = text_keep(entry, name_at + 1, name_at[0]);
        int status = name ? PyDict_SetItem(table, name, value) : -1;
        Py_XDECREF(kept);
        Py_DECREF(value);
        if (AMQP_UNLIKELY(status < 0)) goto failed;
    }
    return table;
failed:
    Py_DECREF(table);
    return NULL;
}

#endif
