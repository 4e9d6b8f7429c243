# The keys of keyed.h, drawn when the module is loaded.

from os import urandom

cdef extern from "wire/keyed.h" nogil:
    uint64_t[4] hash_keys
    uint64_t keyed_pair(uint64_t a, uint64_t b, int k)
    uint32_t keyed_hash(const uint8_t* p, size_t n)


cdef void draw_keys() except *:
    cdef bytes drawn = urandom(sizeof(hash_keys))
    memcpy(hash_keys, <const uint8_t*>PyBytes_AS_STRING(drawn), sizeof(hash_keys))


draw_keys()
