# Drop-ins for AMQP 1.0: any value, compounds, performatives and messages to bytes.

# ---- any value ----

cdef int azure_put(AzureWriting w, Buffer* b, object v, V1Encoding encoding) except -1:
    """A value with its type's name, or one whose Python type says what it is."""
    cdef PyObject* name
    cdef PyObject* value
    if type(v) is dict:
        name = PyDict_GetItem(v, AZURE_TYPE)
        if name != NULL:
            value = PyDict_GetItem(v, AZURE_VALUE)
            if value == NULL:
                not_ours("unusual value")
            if name != Py_None:
                return azure_put_typed(w, b, <object>value, azure_type(w, <object>name), encoding)
            v = <object>value
    return azure_put_unknown(w, b, v, encoding)


cdef uint8_t azure_type(AzureWriting w, object name) except? 0xFF:
    cdef object found = w.types.get(name) if type(name) is str else None
    if found is None:
        not_ours("unusual value")
    return found


cdef int azure_put_unknown(AzureWriting w, Buffer* b, object v, V1Encoding encoding) except -1:
    cdef type t = type(v)
    cdef uint8_t wire_type = V1_NULL
    cdef int32_t small = 0
    if t is str:
        wire_type = V1_STRING
    elif t is bytes or t is bytearray:
        wire_type = V1_BINARY
    elif t is bool:
        wire_type = V1_BOOLEAN
    elif t is int:
        wire_type = V1_INT
        if w.wide_ints and not exact_small(<PyObject*>v, &small) and not -(2**31) <= v < 2**31:
            wire_type = V1_LONG
    elif t is float:
        wire_type = V1_DOUBLE
    elif t is dict:
        wire_type = V1_MAP
    elif t is list:
        wire_type = V1_LIST
    elif t is tuple:
        wire_type = V1_DESCRIBED
    elif t is UUID:
        wire_type = V1_UUID
    elif t is Datetime:
        wire_type = V1_TIMESTAMP
    elif t is Decimal:
        wire_type = V1_DECIMAL128
    elif v is not None:
        not_ours("unusual value")
    return azure_put_typed(w, b, v, wire_type, encoding)


cdef int azure_put_typed(AzureWriting w, Buffer* b, object v, uint8_t wire_type, V1Encoding encoding) except -1:
    cdef V1Type named = <V1Type>wire_type
    cdef uint8_t[4] bits
    cdef uint64_t u = 0
    if named == V1_STRING or named == V1_SYMBOL or named == V1_BINARY:
        return azure_put_text(b, v, wire_type, encoding)
    elif named == V1_LIST or named == V1_MAP or named == V1_ARRAY or named == V1_DESCRIBED:
        azure_deeper()
        try:
            return azure_put_compound(w, b, v, wire_type, encoding)
        finally:
            azure_leave()
    elif named == V1_NULL:
        return put_byte(b, CTOR_NULL)
    elif named == V1_BOOLEAN:
        if v is not True and v is not False and v is not None and not plain_u64(<PyObject*>v, &u):
            not_ours("unusual value")
        if encoding != V1_BARE:
            return put_int(b, CTOR_BOOLEAN, 1 if v else 0, 1)
        return put_byte(b, CTOR_TRUE if v else CTOR_FALSE)
    elif named == V1_FLOAT or named == V1_DOUBLE:
        if type(v) is not float and type(v) is not int:
            not_ours("unusual value")
        if wire_type == V1_FLOAT:
            PyFloat_Pack4(v, <char*>bits, 0)
            u = load32(bits)
        else:
            u = double_to_bits(v)
        return azure_put_number(b, wire_type, u, encoding)
    elif named == V1_DECIMAL128:
        return azure_put_decimal(w, b, v, encoding)
    elif named == V1_TIMESTAMP or named == V1_LONG:
        return azure_put_moment(b, v, encoding, wire_type)
    elif named == V1_UUID:
        return azure_put_uuid(b, v, encoding)
    elif (named == V1_UBYTE or named == V1_USHORT or named == V1_UINT or named == V1_ULONG
            or named == V1_BYTE or named == V1_SHORT or named == V1_INT):
        return azure_put_int(b, v, wire_type, encoding)
    elif (named == V1_DECIMAL32 or named == V1_DECIMAL64 or named == V1_CHAR or named == V1_ANY
            or named == V1_COMPOSITE or named == V1_UNKNOWN):
        pass        # azure_writes() says so
    return not_ours("unusual value")


# ---- compounds ----

cdef int azure_close(Buffer* b, size_t start, uint8_t wire_type, uint64_t count, V1Encoding encoding) except -1:
    if not v1_store_head(b, start, wire_type, count, encoding):
        not_ours("unusual value")
    return 0


cdef int azure_put_compound(AzureWriting w, Buffer* b, object v, uint8_t wire_type, V1Encoding encoding) except -1:
    cdef size_t start
    cdef bint pairs = type(v) is dict
    if type(v) is not list and type(v) is not tuple and not (pairs and wire_type == V1_MAP):
        not_ours("unusual value")
    if wire_type == V1_DESCRIBED:
        if len(v) < 2:
            not_ours("unusual value")
        put_byte(b, 0)
        azure_put(w, b, v[0], encoding)
        return azure_put(w, b, v[1], encoding)
    v1_open(b, &start)
    if wire_type == V1_ARRAY:
        azure_put_items(w, b, v)
    elif wire_type == V1_LIST:
        for item in v:
            azure_put(w, b, item, V1_SMALLEST)
    elif pairs:
        for key, item in (<dict>v).items():
            azure_put(w, b, key, V1_SMALLEST)
            azure_put(w, b, item, V1_SMALLEST)
    else:
        for pair in v:
            if (type(pair) is not tuple and type(pair) is not list) or len(pair) != 2:
                not_ours("unusual value")
            azure_put(w, b, pair[0], V1_SMALLEST)
            azure_put(w, b, pair[1], V1_SMALLEST)
    return azure_close(b, start, wire_type, <uint64_t>len(v) * (2 if wire_type == V1_MAP else 1), encoding)


cdef int azure_put_items(AzureWriting w, Buffer* b, object items) except -1:
    """The items of an array: of one type name, or of one Python type; the first has a constructor."""
    cdef object of = None, its
    cdef V1Encoding encoding = V1_WIDEST
    for item in items:
        its = type(item)
        if its is dict:
            its = (<dict>item).get(AZURE_TYPE)
            if type(its) is not str or not its:
                not_ours("unusual value")
        elif item is None:
            not_ours("unusual value")
        if of is None:
            of = its
        elif of is not its and of != its:
            not_ours("unusual value")
        azure_put(w, b, item, encoding)
        encoding = V1_BARE
    return 0


cdef int azure_put_fields(AzureWriting w, Buffer* b, object v, AzureWay way) except -1:
    """A map whose keys are symbols (of annotations ulongs, too) or, of application properties,
    strings. Nothing for an empty one but null."""
    cdef size_t start
    cdef uint8_t keys = V1_STRING if way == AZURE_APPLICATION else V1_SYMBOL
    if type(v) is not dict:
        not_ours("unusual value")
    if not v:
        return put_byte(b, CTOR_NULL)
    v1_open(b, &start)
    if way != AZURE_NODE:
        for key, value in (<dict>v).items():
            if way == AZURE_ANNOTATIONS and isinstance(key, int):
                azure_put_int(b, key, V1_ULONG, V1_SMALLEST)
            else:
                azure_put_text(b, key, keys, V1_SMALLEST)
            if way == AZURE_FILTERS:
                azure_put_filter(w, b, value)
            else:
                azure_put(w, b, value, V1_SMALLEST)
        return azure_close(b, start, V1_MAP, <uint64_t>len(v) * 2, V1_SMALLEST)
    return azure_close(b, start, V1_MAP, 0, V1_SMALLEST)


cdef int azure_put_filter(AzureWriting w, Buffer* b, object v) except -1:
    if v is None or type(v) is str or type(v) is bytes:
        return azure_put_unknown(w, b, v, V1_SMALLEST)
    if (type(v) is not tuple and type(v) is not list) or len(v) != 2:
        not_ours("unusual value")
    put_byte(b, 0)
    azure_put_text(b, v[0], V1_SYMBOL, V1_SMALLEST)
    return azure_put(w, b, v[1], V1_SMALLEST)


# ---- performatives and messages ----

cdef int azure_put_described(AzureWriting w, Buffer* b, object o) except -1:
    """A NamedTuple with a definition: a performative, a state, a terminus, a section."""
    cdef AzureDefinition d = w.definition(o)
    cdef const uint8_t* ways = <const uint8_t*>PyBytes_AS_STRING(d.ways)
    cdef Py_ssize_t i, n = azure_tuple_size(o)
    cdef uint64_t count = 0
    cdef size_t start
    cdef uint8_t way
    cdef object v
    if n > PyBytes_GET_SIZE(d.ways):
        not_ours("unusual value")
    put_byte(b, 0)
    v1_put_number(b, V1_ULONG, <uint64_t>d.code)
    v1_open(b, &start)
    for i in range(n):
        v = <object>PyTuple_GET_ITEM(o, i)
        way = ways[i]
        if v is None:
            put_byte(b, CTOR_NULL)
        elif way == AZURE_ABSENT:
            continue
        else:
            azure_put_field(w, b, v, way)
        count += 1
    return azure_close(b, start, V1_LIST, count, V1_SMALLEST)


cdef int azure_put_field(AzureWriting w, Buffer* b, object v, uint8_t way) except -1:
    cdef size_t start
    cdef V1Encoding encoding = V1_WIDEST
    cdef AzureWay other
    if way < AZURE_FIELDS:
        return azure_put_typed(w, b, v, way, V1_SMALLEST)
    if way >= AZURE_MULTIPLE:
        if type(v) is not list and type(v) is not tuple:
            not_ours("unusual value")
        v1_open(b, &start)
        for item in v:
            azure_put_typed(w, b, item, way - AZURE_MULTIPLE, encoding)
            encoding = V1_BARE
        return azure_close(b, start, V1_ARRAY, <uint64_t>len(v), V1_SMALLEST)
    other = <AzureWay>way
    if (other == AZURE_FIELDS or other == AZURE_ANNOTATIONS or other == AZURE_APPLICATION or other == AZURE_FILTERS
            or other == AZURE_NODE):
        return azure_put_fields(w, b, v, other)
    elif other == AZURE_OBJECT:
        azure_deeper()
        try:
            return azure_put_described(w, b, v)
        finally:
            azure_leave()
    elif other == AZURE_UNKNOWN:
        return azure_put_unknown(w, b, v, V1_SMALLEST)
    elif other == AZURE_MESSAGE_ID:
        return azure_put_typed(w, b, v, azure_message_id(v), V1_SMALLEST)
    elif other == AZURE_ABSENT or other == AZURE_LEFT or other == AZURE_MULTIPLE:
        pass
    return not_ours("unusual value")


cdef uint8_t azure_message_id(object v) except? 0xFF:
    cdef type t = type(v)
    if t is str:
        return V1_STRING
    if t is bytes:
        return V1_BINARY
    if t is UUID:
        return V1_UUID
    if t is not int and t is not bool:
        not_ours("unusual value")
    return V1_ULONG


cdef int azure_put_section(AzureWriting w, Buffer* b, uint8_t code, object v, uint8_t way) except -1:
    v1_put_small_descriptor(b, code)
    return azure_put_field(w, b, v, way)


cdef int azure_put_message(AzureWriting w, Buffer* b, object message) except -1:
    """The sections that hold something, the delivery annotations last."""
    cdef object v
    cdef int i
    if not azure_plain_tuple(message) or azure_tuple_size(message) < 9:
        not_ours("unusual value")
    for i in (0, 2, 3, 4, 5, 6, 7, 8, 1):
        v = <object>PyTuple_GET_ITEM(message, i)
        if v is None:
            continue
        if i == 0 or i == 3:
            if not azure_plain_tuple(v):
                not_ours("unusual value")
            if azure_tuple_size(v):
                azure_put_described(w, b, v)
        elif i == 7:
            # Nothing is run to learn whether there is a value.
            if type(v) not in AZURE_JUDGED:
                not_ours("unusual value")
            if v:
                azure_put_section(w, b, DESC_AMQP_VALUE, v, AZURE_UNKNOWN)
        elif i == 6 or (i == 5 and w.joins_data):
            if type(v) is not list and type(v) is not tuple:
                not_ours("unusual value")
            for item in v:
                azure_put_section(w, b, SEC_FIRST_CODE + i, item,
                                  <uint8_t>V1_BINARY if i == 5 else <uint8_t>AZURE_UNKNOWN)
        elif i == 5:
            if type(v) is not bytes and type(v) is not bytearray:
                not_ours("unusual value")
            if v:
                azure_put_section(w, b, DESC_DATA, v, V1_BINARY)
        else:
            if type(v) is not dict:
                not_ours("unusual value")
            if v:
                azure_put_section(w, b, SEC_FIRST_CODE + i, v,
                                  AZURE_APPLICATION if i == 4 else AZURE_ANNOTATIONS)
    return 0

cdef frozenset AZURE_JUDGED = frozenset((
    bool, int, str, bytes, bytearray, float, list, tuple, dict, UUID, Datetime, Decimal))
