# Drop-ins: what a client makes of the values of field tables, as data (compat/ holds it).
# The fast paths of a drop-in do what they are sure of and fall back on the rest, which is then left
# to the client's own function: unusual input ends as it does without the drop-in.

class FallBack(Exception):
    """Not ours: the client's own code does this; its argument is the reason."""


cdef object not_ours(str reason):
    raise FallBack(reason)


cdef class Fallbacks:
    """How often a drop-in was entered and left the work to the client's own code, by reason.

    raises: an error that is our own is raised, as in tests; else it is counted, and served by the
    client's code.
    """

    def __cinit__(self):
        self.reasons = {}

    @property
    def fallbacks(self):
        """How many calls were left to it."""
        return sum(self.reasons.values())

    cdef object remember(self, object error):
        """Remember until `fell_back` why the client's code does it: not ours, what Python refuses, or our mistake."""
        if isinstance(error, FallBack):
            self.reason = error.args[0]
            return
        if isinstance(error, MemoryError):
            raise error
        if isinstance(error, (ArithmeticError, UnicodeError, RecursionError)):
            self.reason = "refused by Python"
            return
        if self.raises:
            raise error
        self.reason = f"error: {type(error).__name__}"

    def fell_back(self):
        """Count one, for the reason that was remembered."""
        reason = "unusual arguments" if self.reason is None else self.reason
        self.reason = None
        self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def forget_calls(self):
        """Count from nothing again: what was called until now was a comparison."""
        self.calls = 0
        self.reasons = {}

# What a value of a tag becomes, by names in CONVERSIONS.
# The one chain over these (read.pxi) names all of them, or the C compiler refuses it.
ctypedef enum Conversion:
    READ_NOTHING            # the client does not know the tag
    READ_PLAIN              # as our own objects have it
    READ_CLASS              # an integer as the client's own subclass of int
    READ_CUT                # a float cut to an integer
    READ_PRODUCT            # Decimal(n) * Decimal(10) ** -scale: the scale is kept
    READ_UNSIGNED_PRODUCT   # the same of a number without a sign
    READ_QUOTIENT           # Decimal(n) / Decimal(10 ** scale): the scale is not kept
    READ_TEXT
    READ_SHORT_TEXT         # UTF-8 only
    READ_BYTEARRAY
    READ_TABLE
    READ_ARRAY
    READ_AWARE              # datetime in UTC
    READ_AWARE_MS           # the same, milliseconds where seconds would be past 2106
    READ_NAIVE              # datetime in UTC that does not say so

# name -> (conversion, how its bytes are read); those of a table or an array are length and bytes.
cdef dict CONVERSIONS = {
    "bool": (READ_PLAIN, FORM_boolean), "int8": (READ_PLAIN, FORM_int8), "uint8": (READ_PLAIN, FORM_uint8),
    "int16": (READ_PLAIN, FORM_int16), "uint16": (READ_PLAIN, FORM_uint16), "int32": (READ_PLAIN, FORM_int32),
    "uint32": (READ_PLAIN, FORM_uint32), "int64": (READ_PLAIN, FORM_int64), "uint64": (READ_PLAIN, FORM_uint64),
    "long": (READ_CLASS, FORM_int64), "unsigned long": (READ_CLASS, FORM_uint64),
    "float": (READ_PLAIN, FORM_float), "double": (READ_PLAIN, FORM_double),
    "float cut": (READ_CUT, FORM_float), "double cut": (READ_CUT, FORM_double),
    "decimal product": (READ_PRODUCT, FORM_decimal),
    "unsigned decimal product": (READ_UNSIGNED_PRODUCT, FORM_decimal),
    "decimal quotient": (READ_QUOTIENT, FORM_decimal), "text": (READ_TEXT, FORM_text32),
    "short text": (READ_SHORT_TEXT, FORM_text8), "bytes": (READ_PLAIN, FORM_bytes32),
    "bytearray": (READ_BYTEARRAY, FORM_bytes32), "table": (READ_TABLE, FORM_bytes32),
    "array": (READ_ARRAY, FORM_bytes32), "aware": (READ_AWARE, FORM_timestamp),
    "aware or ms": (READ_AWARE_MS, FORM_timestamp), "naive": (READ_NAIVE, FORM_timestamp),
    "void": (READ_PLAIN, FORM_void),
}


cdef int8_t shape_of(Conversion conversion, Form form) noexcept nogil:
    if conversion == READ_TABLE:
        return SHAPE_TABLE
    return SHAPE_ARRAY if conversion == READ_ARRAY else FORMS[form].shape


# How ints are written: with the first of these tags that holds them, which is from the number beside it on, or from
# the lowest of its form.
cdef dict INT_POLICIES = {
    "I l": (("I", None), ("l", None)), "I L symmetric": (("I", -2**31 + 1), ("L", None)),
    "I l L": (("I", None), ("l", 0), ("L", None)), "smallest": tuple([(tag, None) for tag in "bsuIil"]),
    "smallest signed": tuple([(tag, None) for tag in "bsIl"]), "client": (),
}

cdef struct IntTag:
    uint8_t tag
    int width
    int64_t low
    int64_t high

# How decimals are written. Names in DECIMAL_POLICIES.
cdef enum:
    DECIMAL_NORMAL = 0      # trailing zeros dropped first
    DECIMAL_DIGITS          # its digits; no exponent above 0
    DECIMAL_SCALED          # its digits, an exponent above 0 multiplied out
    DECIMAL_PLAIN           # the same where `str` has no E, else left to the client
    DECIMAL_CLIENT          # left to the client

cdef dict DECIMAL_POLICIES = {
    "normal": DECIMAL_NORMAL, "digits": DECIMAL_DIGITS, "scaled": DECIMAL_SCALED,
    "plain": DECIMAL_PLAIN, "client": DECIMAL_CLIENT,
}


# What arguments and properties become beside their tables.
cdef enum:
    LONGSTR_BYTES = 0
    LONGSTR_TEXT            # UTF-8 only
    LONGSTR_TEXT_OR_BYTES

cdef dict LONGSTR_POLICIES = {
    "bytes": LONGSTR_BYTES, "text": LONGSTR_TEXT, "text or bytes": LONGSTR_TEXT_OR_BYTES,
}

cdef dict TIMES = {"int": READ_PLAIN, "aware": READ_AWARE, "aware or ms": READ_AWARE_MS, "naive": READ_NAIVE}


cdef dict PROFILE_DEFAULTS = {"int_class": None, "surrogates": False, "negative_bytes": True, "datetimes": True}

cdef frozenset PROFILE_OPTIONS = frozenset({
    *PROFILE_DEFAULTS, "bad_names", "bad_text", "longstr", "signed", "timestamp", "ints", "decimals", "float_tag",
    "bytes_tag", "bytearray_tag", "tuples", "longest_name", "bytes_names", "in_order", "bytes_text", "none_text",
    "any_bits", "empty_absent",
})


cdef uint8_t tag_option(str tag) except? 255:
    """A tag as a number; 0 for None."""
    return ord(tag) if tag else 0


@cython.final
cdef class ClientProfile:
    """How one client reads and writes values: field tables, arguments, properties.

    read: tag -> name of CONVERSIONS. Options for reading:
        bad_names, bad_text: what a table's name, or a shortstr, that is not UTF-8 becomes:
            "bytes" or "refused".
        longstr: of LONGSTR_POLICIES. signed: longlong is signed.
        timestamp: of the property, one of TIMES.
        surrogates: text that is not UTF-8 only for its lone surrogates is text.
        int_class: that of "long" values; it is also written, with tag l or as `ints` says of 64
            bits.
    Options for writing:
        ints, decimals: names of their policies; "client" leaves them to the client.
        negative_bytes: whether -128 to -1 are written as one byte, or left to the client.
        datetimes: whether they are written, or left to the client.
        float_tag, bytes_tag, bytearray_tag: what that type is in a table, or None where the client
            refuses it.
        tuples: whether a tuple is an array.
        longest_name: bytes; a longer name is left to the client.
        bytes_names: whether names may be bytes. in_order: names sorted, not as the table has them.
        bytes_text: text may be bytes. none_text: or None, which is empty.
        any_bits: a bit may be None or any int, else bool, 0 or 1. empty_absent: properties that
            are empty text are written as absent.
    """

    cdef int8_t shapes[512]         # as SHAPES
    cdef uint8_t conversion[256]
    cdef object int_class
    cdef bint bytes_for_bad_names, bytes_for_bad_text
    cdef int longstr
    cdef bint signed, surrogates
    cdef Conversion timestamp
    cdef IntTag ints[6]
    cdef int n_ints
    cdef bint negative_bytes, datetimes
    cdef int decimals
    cdef uint8_t float_tag, bytes_tag, bytearray_tag
    cdef bint tuples, bytes_names, in_order, bytes_text, none_text, any_bits, empty_absent
    cdef Py_ssize_t longest_name

    def __cinit__(self, dict read not None, **options):
        options = PROFILE_DEFAULTS | options
        if options.keys() != PROFILE_OPTIONS:
            raise TypeError("missing or unknown options of a profile: "
                            + ", ".join(sorted(options.keys() ^ PROFILE_OPTIONS)))
        cdef Conversion conversion
        cdef Form form
        memset(self.shapes, SHAPE_UNKNOWN, 256)
        memset(self.conversion, READ_NOTHING, 256)
        for tag, name in read.items():
            conversion, form = CONVERSIONS[name]
            self.conversion[<uint8_t>ord(tag)] = conversion
            self.shapes[<uint8_t>ord(tag)] = shape_of(conversion, form)
            self.shapes[256 + <uint8_t>ord(tag)] = form
        self.set_reading(options)
        self.set_writing(options)

    cdef int set_reading(self, dict options) except -1:
        self.int_class = options["int_class"]
        self.bytes_for_bad_names = options["bad_names"] == "bytes"
        self.bytes_for_bad_text = options["bad_text"] == "bytes"
        self.longstr = LONGSTR_POLICIES[options["longstr"]]
        self.signed = options["signed"]
        self.surrogates = options["surrogates"]
        self.timestamp = TIMES[options["timestamp"]]
        return 0

    cdef int set_writing(self, dict options) except -1:
        cdef IntTag* t
        cdef Form form
        for tag, low in INT_POLICIES[options["ints"]]:
            t = &self.ints[self.n_ints]
            t.tag = ord(tag)
            form = form_of(SHAPES[0], t.tag)
            t.width = FORMS[form].shape
            t.high = <int64_t>(~<uint64_t>0 >> (65 - 8 * t.width))
            t.low = -t.high - 1
            if FORMS[form].kind == KIND_UNSIGNED:
                t.low, t.high = 0, 2 * t.high + 1
            if low is not None:
                t.low = low
            self.n_ints += 1
        self.negative_bytes = options["negative_bytes"]
        self.datetimes = options["datetimes"]
        self.decimals = DECIMAL_POLICIES[options["decimals"]]
        self.float_tag = tag_option(options["float_tag"])
        self.bytes_tag = tag_option(options["bytes_tag"])
        self.bytearray_tag = tag_option(options["bytearray_tag"])
        self.tuples = options["tuples"]
        self.longest_name = options["longest_name"]
        self.bytes_names = options["bytes_names"]
        self.in_order = options["in_order"]
        self.bytes_text = options["bytes_text"]
        self.none_text = options["none_text"]
        self.any_bits = options["any_bits"]
        self.empty_absent = options["empty_absent"]
        return 0
