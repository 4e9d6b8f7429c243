/* No store without its own reservation: how a build watches every growing buffer.
 *
 * A writer reserves, and the reservation is a promise of how many bytes follow. A plain build keeps no record
 * of it. A build with AMQPCODEC_CHECKED_WRITES (an environment variable of setup.py) remembers in `promised`
 * where the newest reservation ends. At the next one, and when the bytes are taken, it ends the process with
 * file and line where a store went further. Under AddressSanitizer the bytes after the reservation cannot be
 * accessed, so the store itself ends the process; elsewhere they hold a pattern, which has to be there still. */
#ifndef AMQPCODEC_PROMISE_H
#define AMQPCODEC_PROMISE_H

#include <stddef.h>
#include <stdint.h>
#include "wire/wire.h"

#if defined(AMQPCODEC_CHECKED_WRITES)

#include <stdio.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define PROMISE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PROMISE_ASAN 1
#endif
#endif
#if defined(PROMISE_ASAN)
#include <sanitizer/asan_interface.h>
#endif

#define PROMISE_PATTERN 0xA7
#define PROMISE_WATCHED 16 /* bytes after a promise that hold the pattern */

AMQP_COLD static void promise_broken(const char *what, size_t n, const char *file, int line, const char *function) {
    fprintf(stderr, "amqpcodec: %s:%d: %s: a writer stored %s reserved (%zu bytes at least)\n", file, line, function,
            what, n);
    fflush(stderr);
    abort();
}

/* Forbid the bytes from `from` to `to`. */
static inline void promise_close(uint8_t *from, uint8_t *to) {
    if (from >= to) return;
#if defined(PROMISE_ASAN)
    __asan_poison_memory_region(from, (size_t)(to - from));
#else
    memset(from, PROMISE_PATTERN, to - from < PROMISE_WATCHED ? (size_t)(to - from) : PROMISE_WATCHED);
#endif
}

/* Stop if a store went past the newest promise. at: where the next bytes go. */
static inline void promise_check_(const uint8_t *promised, const uint8_t *at, const uint8_t *end, const char *file,
                                  int line, const char *function) {
    if (promised == NULL) return;
    if (at > promised) promise_broken("more than it", (size_t)(at - promised), file, line, function);
#if !defined(PROMISE_ASAN)
    for (size_t i = 0; i < PROMISE_WATCHED && promised + i < end; i++)
        if (promised[i] != PROMISE_PATTERN) promise_broken("past what it", i + 1, file, line, function);
#else
    (void)end;
#endif
}

/* Memory that nobody has reserved of yet, from `at` to `end`. */
static inline void promise_begin(uint8_t **promised, uint8_t *at, uint8_t *end) {
    *promised = at;
    promise_close(at, end);
}

/* The n bytes from `at` are reserved now, and none after them; nothing was promised before if *promised is NULL. */
static inline void promise_make_(uint8_t **promised, uint8_t *at, size_t n, uint8_t *end, const char *file, int line,
                                 const char *function) {
    uint8_t *before = *promised;
    promise_check_(before, at, end, file, line, function);
    if (n > (size_t)(end - at)) promise_broken("where nothing was", n, file, line, function);
#if defined(PROMISE_ASAN)
    __asan_unpoison_memory_region(at, n);
    promise_close(at + n, before == NULL ? end : before);
#else
    promise_close(at + n, end);
#endif
    *promised = at + n;
}

/* The bytes before `at` are taken: the memory is free for anybody again, up to `end`. */
static inline void promise_end_(uint8_t **promised, uint8_t *at, uint8_t *end, const char *file, int line,
                                const char *function) {
    promise_check_(*promised, at, end, file, line, function);
#if defined(PROMISE_ASAN)
    if (*promised != NULL) __asan_unpoison_memory_region(at, (size_t)(end - at));
#endif
    *promised = NULL;
}

#define promise_check(promised, at, end) promise_check_(promised, at, end, __FILE__, __LINE__, __func__)
#define promise_make(promised, at, n, end) promise_make_(promised, at, n, end, __FILE__, __LINE__, __func__)
#define promise_end(promised, at, end) promise_end_(promised, at, end, __FILE__, __LINE__, __func__)

#else

#define promise_begin(promised, at, end) ((void)0)
#define promise_check(promised, at, end) ((void)0)
#define promise_make(promised, at, n, end) ((void)0)
#define promise_end(promised, at, end) ((void)0)

#endif
#endif
