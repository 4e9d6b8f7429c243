/* The structs of the Arrow C Data and C Stream Interfaces, and what columns without a value consist of. */
#ifndef AMQPCODEC_ARROW_H
#define AMQPCODEC_ARROW_H

#include <stddef.h>
#include <stdint.h>

/* A stable ABI, which every Arrow library declares for itself, under this guard. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

/*
 * Arrow arrays of others may lie in memory that a thread or another process writes to. What says where
 * something is (an offset, a length, an index) is read once, and what was read is checked and used.
 */
static inline int32_t read_once_32(const void *p) { return *(const volatile int32_t *)p; }
static inline int64_t read_once_64(const void *p) { return *(const volatile int64_t *)p; }

/* What columns without a value consist of, up to a size: all decodes share it, and nobody writes to it. */
#define NO_VALUES_ROOM ((size_t)1 << 18)
static uint64_t no_values[NO_VALUES_ROOM / 8];
#define NO_VALUES ((uint8_t *)no_values)

#endif
