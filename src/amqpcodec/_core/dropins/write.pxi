# Drop-ins, field tables: values to the bytes that a client would have written for them.
# Exact built-in types only, whose methods nobody can have changed; all else falls back.

from cpython.datetime cimport datetime_microsecond
from libc.stdint cimport INT64_MAX, INT64_MIN
from decimal import getcontext as _getcontext
from sys import modules as _modules

cdef object Timezone = _datetime.timezone

cdef enum:
    EXACT_DIGITS = 10       # a context with fewer may round what fits 32 bits


cdef int put_int_of(Buffer* b, ClientProfile t, int64_t n, int width) except -1:
    """With the first of the profile's tags of at least this width that holds the number."""
    cdef const IntTag* tag
    cdef int k
    for k in range(t.n_ints):
        tag = &t.ints[k]
        if tag.low <= n <= tag.high and tag.width >= width:
            return put_int(b, tag.tag, <uint64_t>n, tag.width)
    not_ours("unusual value")


cdef int profile_int(Buffer* b, ClientProfile t, object v) except -1:
    cdef int overflow = 0
    cdef long long n = PyLong_AsLongLongAndOverflow(v, &overflow)
    if overflow or (-128 <= n < 0 and not t.negative_bytes):
        not_ours("unusual value")
    return put_int_of(b, t, n, 1)


# Ints of one width, without a tag.
cdef enum:
    RANGE_U8
    RANGE_I16
    RANGE_U16
    RANGE_I32
    RANGE_U32
    RANGE_I64               # all that a long long holds
    RANGES                  # how many there are

cdef int* RANGE_WIDTH = [1, 2, 2, 4, 4, 8]
cdef int64_t* RANGE_LOW = [0, -32768, 0, -2147483648, 0, INT64_MIN]
cdef int64_t* RANGE_HIGH = [255, 32767, 65535, 2147483647, 4294967295, INT64_MAX]


cdef int put_ranged(Buffer* b, int range, object value) except -1:
    """An exact int that is in the range; falls back on any other."""
    cdef int overflow = 0
    cdef int32_t small
    cdef long long n
    if AMQP_LIKELY(exact_small(<PyObject*>value, &small)):
        n = small
    else:
        if type(value) is not int:
            not_ours("unusual value")
        n = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow or n < RANGE_LOW[range] or n > RANGE_HIGH[range]:
        not_ours("unusual value")
    store_uint(buffer_extend(b, <size_t>RANGE_WIDTH[range]), <uint64_t>n, RANGE_WIDTH[range])
    return 0


cdef int profile_decimal(Buffer* b, ClientProfile t, object v) except -1:
    """Scale and digits, where both fit."""
    cdef str text
    cdef Py_ssize_t i, n
    cdef int64_t digits = 0, exponent = 0
    cdef bint negative = False, point = False
    cdef Py_UCS4 c
    if t.decimals == DECIMAL_CLIENT or _getcontext().prec < EXACT_DIGITS:
        not_ours("unusual value")
    if t.decimals == DECIMAL_NORMAL:
        v = v.normalize()
    text = str(v)
    n = len(text)
    for i in range(n):
        c = text[i]
        if u'0' <= c <= u'9':
            digits = digits * 10 + (<int64_t>c - 48)
            if point:
                exponent -= 1
            if digits > 2147483648:
                not_ours("unusual value")
        elif c == u'-':
            negative = True
        elif c == u'.':
            point = True
        elif (c == u'E' or c == u'e') and t.decimals != DECIMAL_PLAIN:
            exponent += int(text[i + 1:])
            break
        else:
            not_ours("unusual value")       # NaN, Infinity
    if exponent > 0:
        if t.decimals == DECIMAL_DIGITS:
            not_ours("unusual value")
        while exponent > 0 and 0 < digits <= 2147483648:
            digits *= 10
            exponent -= 1
        exponent = 0
    if digits > 2147483647 + <int64_t>negative or exponent < -255:
        not_ours("unusual value")
    return put_tagged(b, FORM_decimal, 0, <uint64_t>(-digits if negative else digits), <uint32_t>-exponent)


cdef int profile_seconds(object v, uint64_t* out) except -1:
    """Seconds since 1970 of a datetime; one without a zone is in UTC."""
    cdef object zone = datetime_tzinfo(v)
    cdef object seconds
    if zone is not None and zone is not UTC:
        # Other zones have code of their own, which could do anything to the table it stands in.
        zones = _modules.get("zoneinfo")
        if type(zone) is not Timezone and (zones is None or type(zone) is not zones.ZoneInfo):
            not_ours("unusual value")
        seconds = (v - EPOCH) // SECOND
        if not 0 <= seconds <= LAST_SECOND:
            not_ours("unusual value")
        out[0] = seconds
        return check_rounding(v, out[0])
    if datetime_year(v) < 1970:
        not_ours("unusual value")
    out[0] = <uint64_t>seconds_of_datetime(v)
    return check_rounding(v, out[0])


cdef inline int check_rounding(object v, uint64_t seconds) except -1:
    """From 2242 on a float of seconds, which pamqp takes, may round a fraction up."""
    if datetime_microsecond(v) and seconds >> 33:
        not_ours("unusual value")
    return 0


cdef int profile_bytes(Buffer* b, uint8_t tag, const void* p, Py_ssize_t n) except -1:
    """tag, u32 length, bytes."""
    cdef uint8_t* w
    if tag == 0 or <uint64_t>n > MAX_U32:
        not_ours("unusual value")
    w = buffer_extend(b, 5 + <size_t>n)
    w[0] = tag
    store32(w + 1, <uint32_t>n)
    memcpy(w + 5, p, <size_t>n)
    return 0


cdef int put_profile_value(Buffer* b, ClientProfile t, object v, int depth) except -1:
    """The tag that the client chooses for the value's type, and the value."""
    cdef type cls = type(v)
    cdef Py_ssize_t n = 0
    cdef const uint8_t* p = NULL
    cdef uint64_t seconds = 0
    cdef double d
    if cls is str:
        if not utf8_bytes(<PyObject*>v, &p, &n):
            not_ours("unusual value")
        return profile_bytes(b, tag_of(FORM_text32, 0), p, n)
    if cls is int:
        return profile_int(b, t, v)
    if cls is bool:
        return put_tagged(b, FORM_boolean, 0, v is True, 0)
    if v is None:
        return put_tagged(b, FORM_void, 0, 0, 0)
    if cls is float:
        d = PyFloat_AS_DOUBLE(v)
        if t.float_tag == tag_of(FORM_double, 0):
            return put_tagged(b, FORM_double, 0, double_to_bits(d), 0)
        # struct refuses what becomes infinite by it
        if t.float_tag != tag_of(FORM_float, 0) or (d - d == 0 and <double><float>d - <double><float>d != 0):
            not_ours("unusual value")
        return put_tagged(b, FORM_float, 0, float_to_bits(<float>d), 0)
    if cls is dict or cls is list or cls is tuple and t.tuples:
        return put_profile_nested(b, t, v, cls is dict, depth)
    if cls is bytes:
        return profile_bytes(b, t.bytes_tag, PyBytes_AS_STRING(v), PyBytes_GET_SIZE(v))
    if cls is bytearray:
        return profile_bytes(b, t.bytearray_tag, PyByteArray_AS_STRING(v), len(<bytearray>v))
    if cls is Datetime and t.datetimes:
        profile_seconds(v, &seconds)
        return put_tagged(b, FORM_timestamp, 0, seconds, 0)
    if cls is Decimal:
        return profile_decimal(b, t, v)
    if cls is _RawValue and v.tag is not None:
        put_bytes(b, PyBytes_AS_STRING(<bytes>v.tag.encode("latin-1")), 1)
        return put_bytes(b, PyBytes_AS_STRING(<bytes>v.octets), <size_t>PyBytes_GET_SIZE(v.octets))
    if cls is t.int_class and t.n_ints:
        return put_int_of(b, t, <int64_t>v, 8)
    if (plain_u64(<PyObject*>v, &seconds)
            and (t.int_class is None or not isinstance(v, t.int_class))):
        return profile_int(b, t, int(v))
    if plain_text(<PyObject*>v, &p, &n):
        return profile_bytes(b, tag_of(FORM_text32, 0), p, n)
    not_ours("unusual value")


cdef int put_profile_nested(Buffer* b, ClientProfile t, object v, bint pairs, int depth) except -1:
    """A table or an array, its length patched in when it is known."""
    cdef size_t start
    cdef uint64_t n
    cdef Py_ssize_t i
    if depth >= DEPTH_LIMIT:
        not_ours("unusual value")
    buffer_extend(b, 5)[0] = TAG_TABLE if pairs else TAG_ARRAY
    start = buffer_size(b)
    if pairs:
        put_profile_pairs(b, t, <dict>v, depth + 1)
    elif type(v) is list:
        i = 0
        while i < len(<list>v):
            put_profile_value(b, t, (<list>v)[i], depth + 1)
            i += 1
    else:
        for item in <tuple>v:
            put_profile_value(b, t, item, depth + 1)
    n = buffer_size(b) - start
    if n > MAX_U32:
        not_ours("unusual value")
    store32(b.start + start - 4, <uint32_t>n)
    return 0


cdef inline int put_profile_pair(Buffer* b, ClientProfile t, PyObject* name, PyObject* value,
                                 int depth) except -1:
    cdef Py_ssize_t n = 0, m = 0
    cdef const uint8_t* p = NULL
    cdef uint8_t* w
    cdef int32_t small
    if not utf8_bytes(name, &p, &n):
        if not t.bytes_names or type(<object>name) is not bytes:
            not_ours("unusual value")
        p = <const uint8_t*>PyBytes_AS_STRING(<object>name)
        n = PyBytes_GET_SIZE(<object>name)
    if n > t.longest_name:
        not_ours("unusual value")
    w = buffer_extend(b, 1 + <size_t>n)
    w[0] = <uint8_t>n
    copy_bytes(w + 1, p, <size_t>n)
    # The frequent values here, all others by put_profile_value.
    if utf8_bytes(value, &p, &m) and <uint64_t>m <= MAX_U32:
        w = buffer_extend(b, 5 + <size_t>m)
        w[0] = tag_of(FORM_text32, 0)
        store32(w + 1, <uint32_t>m)
        copy_bytes(w + 5, p, <size_t>m)
        return 0
    if t.ints[0].width == 4 and exact_small(value, &small) and small >= t.ints[0].low:
        return put_int(b, t.ints[0].tag, <uint64_t>small, 4)
    return put_profile_value(b, t, <object>value, depth)


cdef enum:
    SORT_ROOM = 24          # tables up to this size are sorted here, larger ones by Python


cdef int put_profile_pairs(Buffer* b, ClientProfile t, dict table, int depth) except -1:
    """Names and values of a table, without its length."""
    cdef PyObject* name
    cdef PyObject* value
    cdef Py_ssize_t i = 0
    cdef Py_ssize_t size = PyDict_GET_SIZE(table)
    if t.in_order and size > 1:
        return put_sorted_pairs(b, t, table, size, depth)
    # No code of others runs below, so the table stays as it is.
    while PyDict_Next(table, &i, &name, &value):
        put_profile_pair(b, t, name, value, depth)
    return 0


cdef inline int name_order(PyObject* a, PyObject* b) noexcept:
    """Of two ASCII str, as their bytes are ordered."""
    cdef Py_ssize_t n = 0, m = 0
    cdef const uint8_t* p = NULL
    cdef const uint8_t* q = NULL
    cdef int c
    ascii_bytes(a, &p, &n)
    ascii_bytes(b, &q, &m)
    c = memcmp(p, q, <size_t>min(n, m))
    return c if c else (n > m) - (n < m)


cdef int put_sorted_pairs(Buffer* b, ClientProfile t, dict table, Py_ssize_t size, int depth) except -1:
    """The same in the order of the names."""
    cdef PyObject* names[SORT_ROOM]
    cdef PyObject* values[SORT_ROOM]
    cdef PyObject* name
    cdef PyObject* value
    cdef Py_ssize_t i = 0, n = 0, k, raw = 0
    cdef const uint8_t* p = NULL
    if size > SORT_ROOM:
        return put_many_sorted(b, t, table, depth)
    while PyDict_Next(table, &i, &name, &value):
        if not ascii_bytes(name, &p, &raw):
            return put_many_sorted(b, t, table, depth)
        k = n
        while k > 0 and name_order(names[k - 1], name) > 0:
            names[k] = names[k - 1]
            values[k] = values[k - 1]
            k -= 1
        names[k] = name
        values[k] = value
        n += 1
    for k in range(n):
        put_profile_pair(b, t, names[k], values[k], depth)
    return 0


cdef int put_many_sorted(Buffer* b, ClientProfile t, dict table, int depth) except -1:
    cdef list names = list(table)
    for name in names:
        if type(name) is not str:
            not_ours("unusual value")
    names.sort()
    for name in names:
        value = table[name]
        put_profile_pair(b, t, <PyObject*>name, <PyObject*>value, depth)
    return 0
