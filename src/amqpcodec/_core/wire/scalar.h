/* One scalar value of any protocol: what readers of values make and all outputs take.
 *
 * An output (objects, JSON text, Variants, typed columns, ...) is one `if`/`elif` chain over all kinds: Cython writes
 * a `switch` for it, and a kind that the chain does not name ends the compilation. So name every kind, and test some
 * of them alone by ranges (KIND_FLOAT <= kind <= KIND_DOUBLE) or one at a time. */
#ifndef AMQPCODEC_SCALAR_H
#define AMQPCODEC_SCALAR_H

#include <stdint.h>

#if defined(__GNUC__)
#pragma GCC diagnostic error "-Wswitch-enum"
#pragma GCC diagnostic error "-Wimplicit-function-declaration"
#endif

/* What a value is, and where its parts are. */
typedef enum {
    KIND_VOID,         /* no value */
    KIND_BOOLEAN,      /* u: 0, or true */
    KIND_SIGNED,       /* u: as int64 */
    KIND_UNSIGNED,     /* u */
    KIND_FLOAT,        /* u: bits of IEEE 754 binary32 */
    KIND_DOUBLE,       /* u: bits of IEEE 754 binary64 */
    KIND_DECIMAL,      /* u: the unscaled value as int64, n: digits after the point */
    KIND_BID32,        /* u: bits of IEEE 754 decimal32 */
    KIND_BID64,        /* u: bits of IEEE 754 decimal64 */
    KIND_BID128,       /* p: 16 bytes of IEEE 754 decimal128 */
    KIND_SECONDS,      /* u: since 1970 */
    KIND_MILLISECONDS, /* u: since 1970, as int64 */
    KIND_CHAR,         /* u: a Unicode character */
    KIND_UUID,         /* p: 16 bytes */
    KIND_BYTES,        /* p, n */
    KIND_LONGSTR,      /* p, n: text where that is UTF-8, else bytes */
    KIND_SHORTSTR,     /* p, n: text, which was not checked */
    KIND_STRING,       /* p, n: UTF-8, which was checked */
    KIND_SYMBOL        /* p, n: ASCII, which was checked */
} ScalarKind;

typedef struct {
    uint64_t u;
    const uint8_t *p;
    uint32_t n;
    ScalarKind kind;
} Scalar;

#endif
