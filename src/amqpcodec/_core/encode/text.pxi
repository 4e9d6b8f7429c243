# JSON text that is read, strictly and without the GIL: its strings and numbers, and why it is refused.
# The text was found to be UTF-8 before.

cdef extern from "Python.h":
    uint64_t TENTH_OF_U64 "(UINT64_MAX / 10)"
    uint64_t EXACT_IN_DOUBLE "((uint64_t)1 << 53)"
    uint64_t MAX_I32 "((uint64_t)INT32_MAX)"
    double PyOS_string_to_double(const char* s, char** end, PyObject* overflow) except? -1.0

cdef enum:
    REFUSED = 3             # of one row: the fault says why


cdef int refuse(Fault* f, const char* text, const char* what, uint64_t n) noexcept nogil:
    """Note why a row cannot be encoded; the newest reason counts. text: a format, see Fault."""
    f.code = BAD_VALUE
    f.text = text
    f.what = what
    f.need = n
    return REFUSED


# JSON text that is read.
cdef struct Json:
    const uint8_t* p
    const uint8_t* end
    const uint8_t* start
    Fault* fault


cdef inline void json_skip(Json* j) noexcept nogil:
    """White space."""
    while j.p < j.end and (j.p[0] == c' ' or j.p[0] == c'\n' or j.p[0] == c'\t' or j.p[0] == c'\r'):
        j.p += 1


cdef int json_refuse(Json* j, const char* text) noexcept nogil:
    """text: a format for the offset."""
    return refuse(j.fault, text, NULL, <uint64_t>(j.p - j.start))


cdef int json_expected(Json* j, const char* what) noexcept nogil:
    return refuse(j.fault, b"JSON: %s expected (byte %llu of the text)", what,
                  <uint64_t>(j.p - j.start))


cdef inline int json_require(Json* j, uint8_t c, const char* what) noexcept nogil:
    """This character, with white space around it."""
    json_skip(j)
    if AMQP_UNLIKELY(j.p == j.end or j.p[0] != c):
        return json_expected(j, what)
    j.p += 1
    json_skip(j)
    return 0


cdef bint json_opens(Json* j, const char* key) noexcept nogil:
    """Step over the start of an object with this key, if it is one."""
    cdef Json k = j[0]
    if not json_at(&k, c'{'):
        return False
    k.p += 1
    json_skip(&k)
    if <size_t>(k.end - k.p) < strlen(key) or memcmp(k.p, key, strlen(key)) != 0:
        return False
    k.p += strlen(key)
    json_skip(&k)
    if not json_at(&k, c':'):
        return False
    j.p = k.p + 1
    json_skip(j)
    return True


cdef inline bint json_at(const Json* j, uint8_t c) noexcept nogil:
    return j.p < j.end and j.p[0] == c


cdef inline bint json_word(Json* j, const char* word, size_t n) noexcept nogil:
    """Step over a word, if it stands there."""
    if <size_t>(j.end - j.p) < n or memcmp(j.p, word, n) != 0:
        return False
    j.p += n
    return True


# ---- arrays and objects ----

cdef inline int json_first(Json* j, uint8_t begin, uint8_t end, const char* what, bint* more) noexcept nogil:
    """The start of an array or object; whether anything is in it."""
    cdef int status = json_require(j, begin, what)
    if status != 0:
        return status
    more[0] = not json_at(j, end)
    if not more[0]:
        j.p += 1
    return 0


cdef inline int json_next(Json* j, uint8_t end, bint* more) noexcept nogil:
    """After an item: its comma, or the end of the array or object."""
    json_skip(j)
    more[0] = not json_at(j, end)
    if AMQP_LIKELY(more[0]):
        return json_require(j, c',', b"a comma or the end of an array" if end == c']'
                            else b"a comma or the end of an object")
    j.p += 1
    return 0


# ---- text ----

cdef int json_hex4(Json* j, uint32_t* out) noexcept nogil:
    """The four digits after \\u."""
    cdef int i
    cdef uint8_t c
    out[0] = 0
    if j.end - j.p < 4:
        return json_expected(j, b"four hexadecimal digits")
    for i in range(4):
        c = j.p[i]
        if c'0' <= c <= c'9':
            c -= c'0'
        elif c'a' <= c <= c'f':
            c -= c'a' - 10
        elif c'A' <= c <= c'F':
            c -= c'A' - 10
        else:
            return json_expected(j, b"four hexadecimal digits")
        out[0] = out[0] << 4 | c
    j.p += 4
    return 0


cdef int json_escape(uint8_t** out, Json* j) noexcept nogil:
    """Store what stands after a backslash, at most four bytes; `out` moves after them."""
    cdef uint8_t* w = out[0]
    cdef uint32_t x, low
    cdef uint8_t c
    cdef int status
    if j.p == j.end:
        return json_expected(j, b"an escape")
    c = j.p[0]
    j.p += 1
    if c == c'u':
        status = json_hex4(j, &x)
        if status != 0:
            return status
        if 0xD800 <= x < 0xDC00 and j.end - j.p >= 6 and j.p[0] == c'\\' and j.p[1] == c'u':
            j.p += 2
            status = json_hex4(j, &low)
            if status != 0:
                return status
            if not 0xDC00 <= low < 0xE000:
                return json_refuse(j, b"JSON: a lone surrogate (byte %llu of the text)")
            x = 0x10000 + ((x - 0xD800) << 10) + (low - 0xDC00)
        elif 0xD800 <= x < 0xE000:
            return json_refuse(j, b"JSON: a lone surrogate (byte %llu of the text)")
        out[0] = store_utf8(w, x)
        return 0
    if c == c'n':
        c = c'\n'
    elif c == c'r':
        c = c'\r'
    elif c == c't':
        c = c'\t'
    elif c == c'b':
        c = c'\b'
    elif c == c'f':
        c = c'\f'
    elif c != c'"' and c != c'\\' and c != c'/':
        j.p -= 1
        return json_expected(j, b"an escape")
    w[0] = c
    out[0] = w + 1
    return 0


cdef int json_parse_text(Buffer* b, Json* j) noexcept nogil:
    """A string, written without its escapes."""
    cdef uint8_t* w
    cdef size_t n
    cdef int status
    if not json_at(j, c'"'):
        return json_expected(j, b"a string")
    j.p += 1
    # It cannot be longer than what is left.
    if buffer_ensure(b, <size_t>(j.end - j.p) + COPY_SLACK) < 0:
        return NO_MEMORY
    w = b.p
    while True:
        n = copy_json_run(w, j.p, <size_t>(j.end - j.p))
        w += n
        j.p += n
        if AMQP_UNLIKELY(j.p == j.end):
            return json_expected(j, b"the end of a string")
        if AMQP_LIKELY(j.p[0] == c'"'):
            j.p += 1
            buffer_commit(b, w)
            return 0
        if j.p[0] != c'\\':
            return json_refuse(j, b"JSON: a control character (byte %llu of the text)")
        j.p += 1
        status = json_escape(&w, j)
        if status != 0:
            return status


# ---- numbers ----

# A number as it was written: an integer that fits 64 bits, or else a double.
cdef struct JsonNumber:
    bint whole              # no point, no exponent
    bint negative
    bint large              # whole, but more than 64 bits
    uint64_t n              # the absolute value
    double d


cdef double* TENS = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14,
                     1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22]


cdef int json_slow_double(Json* j, const uint8_t* p, JsonNumber* out) noexcept nogil:
    """The nearest double of what ends at j.p, by the interpreter, for many digits or far exponents."""
    cdef size_t n = <size_t>(j.p - p)
    cdef char* text = <char*>malloc(n + 1)
    cdef bint no_memory = False, no_number = False
    if text == NULL:
        return NO_MEMORY
    memcpy(text, p, n)
    text[n] = 0
    with gil:
        try:
            out.d = PyOS_string_to_double(text, NULL, NULL)
        except MemoryError:
            no_memory = True
        except ValueError:      # somebody wrote to the text since it was read
            no_number = True
    free(text)
    if no_memory:
        return NO_MEMORY
    if no_number:
        return json_expected(j, b"a number before it")
    if out.d - out.d != 0:
        return json_refuse(j, b"JSON: a number beyond what a double holds (before byte %llu)")
    return 0


cdef int json_parse_number(Json* j, JsonNumber* out) noexcept nogil:
    cdef const uint8_t* p = j.p
    cdef const uint8_t* first
    cdef uint64_t n = 0, digit
    cdef int64_t exponent = 0, far
    cdef int kept = 0       # digits in n, zeros in front not counted
    cdef bint minus
    memset(out, 0, sizeof(JsonNumber))
    out.whole = True
    if json_at(j, c'-'):
        out.negative = True
        j.p += 1
    first = j.p
    while j.p < j.end and c'0' <= j.p[0] <= c'9':
        digit = j.p[0] - c'0'
        if n > TENTH_OF_U64 or (n == TENTH_OF_U64 and digit > 5):
            out.large = True
        n = n * 10 + digit
        kept += n != 0
        j.p += 1
    if j.p == first:
        return json_expected(j, b"a value")
    if first[0] == c'0' and j.p - first > 1:
        j.p = first + 1
        return json_refuse(j, b"JSON: a number with a zero in front (byte %llu of the text)")
    out.n = n
    if not (json_at(j, c'.') or json_at(j, c'e') or json_at(j, c'E')):
        return 0
    out.whole = False
    if json_at(j, c'.'):
        j.p += 1
        first = j.p
        while j.p < j.end and c'0' <= j.p[0] <= c'9':
            if kept < 20:
                n = n * 10 + (j.p[0] - c'0')
                kept += n != 0
                exponent -= 1
            else:
                out.large = True
            j.p += 1
        if j.p == first:
            return json_expected(j, b"a digit")
    if json_at(j, c'e') or json_at(j, c'E'):
        j.p += 1
        minus = json_at(j, c'-')
        if minus or json_at(j, c'+'):
            j.p += 1
        first = j.p
        far = 0
        while j.p < j.end and c'0' <= j.p[0] <= c'9':
            far = min(far * 10 + (j.p[0] - c'0'), <int64_t>1000000)
            j.p += 1
        if j.p == first:
            return json_expected(j, b"a digit")
        exponent += -far if minus else far
    # Both numbers are exact and one rounding gives the nearest double.
    if not out.large and kept < 17 and n <= EXACT_IN_DOUBLE and -22 <= exponent <= 22:
        out.d = <double>n / TENS[-exponent] if exponent < 0 else <double>n * TENS[exponent]
        if out.negative:
            out.d = -out.d
        return 0
    return json_slow_double(j, p, out)
