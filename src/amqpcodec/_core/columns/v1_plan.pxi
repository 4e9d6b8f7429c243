# Columns of AMQP 1.0: which there are, by their names, numbers and types.

# The children of structs, together.
cdef enum:
    V1_PROPERTIES_CHILDREN = V1_N_COLUMNS
    V1_HEADER_CHILDREN = V1_PROPERTIES_CHILDREN + PROPERTIES_FIELDS
    V1_PICKS = V1_HEADER_CHILDREN + HEADER_FIELDS

cdef enum:
    V1_NAME_ROOM = 32       # bytes that a performative's name is copied as; none is longer

cdef tuple COLUMNS_V1 = columns_of(True)

# What is no scalar is JSON text; of properties an id or address of any type is a text of its own.
cdef dict V1_FORMATS = {
    V1_BOOLEAN: "b", V1_UBYTE: "i", V1_USHORT: "i", V1_UINT: "l", V1_ULONG: "l", V1_BYTE: "i",
    V1_SHORT: "i", V1_INT: "i", V1_LONG: "l", V1_FLOAT: "g", V1_DOUBLE: "g", V1_DECIMAL32: "u",
    V1_DECIMAL64: "u", V1_DECIMAL128: "u", V1_CHAR: "u", V1_TIMESTAMP: "tsu:UTC", V1_UUID: "u",
    V1_BINARY: "z", V1_STRING: "u", V1_SYMBOL: "u", V1_LIST: "u", V1_MAP: "u", V1_ARRAY: "u",
    V1_ANY: "u", V1_COMPOSITE: "u",
}


cdef int v1_column_type(const V1Op* op) noexcept nogil:
    """The type that says what a field's column is: one value of many is JSON text, too."""
    return V1_ARRAY if op.multiple else op.wire_type


cdef tuple v1_struct_columns(const V1Desc* d):
    """(name, format) of each field of a section."""
    return tuple([(d.field[i].decode(), V1_FORMATS[v1_column_type(&d.op[i])]) for i in range(d.n)])


cdef V1Step v1_step(const V1Op* op, uint8_t arrow_type, int column) noexcept:
    """A field's way into a column of this kind."""
    cdef V1Step step
    step.wire_type = V1_UNKNOWN
    if v1_is_number(op.wire_type) or v1_is_variable(op.wire_type) or op.wire_type == V1_ANY:
        step.wire_type = op.wire_type
    # Choices: of a boolean both, of others only the slow path knows.
    if op.named != NULL or (op.choices and not (op.wire_type == V1_BOOLEAN and op.choices == 2
                                                and op.choice[0] != NULL)):
        step.wire_type = V1_UNKNOWN
    step.column = <uint16_t>column
    step.offset = <uint32_t>(<size_t>column * sizeof(Column))
    step.write = V1_TO_OTHER
    step.compact = CTOR_NULL
    if op.multiple:
        step.wire_type = V1_UNKNOWN
        return step
    if arrow_type == AS_BOOL:
        step.write = V1_TO_BOOL
    elif arrow_type == AS_INT32:
        step.write = V1_TO_32
    elif op.wire_type == V1_TIMESTAMP:
        step.write = V1_TO_TIME
    elif v1_is_number(op.wire_type):
        step.write = V1_TO_64
    elif v1_is_variable(op.wire_type):
        step.write = V1_TO_TEXT
    return step


cdef uint8_t v1_compact_text(const V1Step* step, uint8_t arrow_type) noexcept:
    """V1Step.compact, for a column of this Arrow type."""
    if arrow_type == AS_TEXT and step.write == V1_TO_ID:
        return CTOR_STR8_UTF8
    if arrow_type == AS_TEXT and step.write == V1_TO_TEXT and v1_is_variable(step.wire_type):
        return CTOR_NARROW[step.wire_type]
    return CTOR_NULL


cdef int plan_v1_steps(FramePlan plan, const uint16_t* targets, const Target* target, const uint8_t* arrow_type,
                       const uint8_t* asked, V1Step* out) except -1:
    """The step of each field. target and targets: of performatives; arrow_type and asked: of the columns."""
    cdef const V1Desc* d
    cdef const Target* to
    cdef V1Step* step
    cdef int i, k, first
    for i in range(plan.count):
        d = &plan.v1.desc[i]
        first = (V1_HEADER_CHILDREN if d.code == DESC_HEADER else
                 V1_PROPERTIES_CHILDREN if d.code == DESC_PROPERTIES else 0)
        for k in range(d.n):
            step = &out[plan.method[i].first + k]
            to = &target[targets[plan.method[i].first + k]]
            if first:
                step[0] = v1_step(&d.op[k], arrow_type[first + k], first + k)
                if d.op[k].wire_type == V1_ANY:
                    step.write = V1_TO_ID
                if not asked[first + k]:
                    step.write = V1_TO_NOTHING
            else:
                step[0] = v1_step(&d.op[k], arrow_type[to.column], to.column)
                if to == target:
                    step.write = V1_TO_NOTHING
                elif to.next:
                    step.write = V1_TO_SEVERAL
                    step.column = targets[plan.method[i].first + k]
            step.compact = v1_compact_text(step, arrow_type[first + k if first else to.column])
    return 0


cdef FramePlan make_v1_plan(V1Core protocol):
    cdef FramePlan plan = FramePlan.__new__(FramePlan)
    cdef V1Types* types = &protocol.descs.types
    cdef V1Desc* d
    cdef MethodPlan* m
    cdef FieldPlan* f
    cdef int i, k, n = 0
    cdef bytes key
    plan.keep = [protocol.name.encode(), protocol.descs]
    plan.wanted = "application_properties."
    plan.formats = V1_FORMATS
    plan.type_names = <const char**>V1_NAMES
    plan.picks = V1_PICKS
    plan.v1 = types
    plan.structs = (
        ("properties", COL_PROPERTIES, V1_PROPERTIES_CHILDREN, v1_struct_columns(types.by_code[DESC_PROPERTIES])),
        ("header", V1_COL_HEADER, V1_HEADER_CHILDREN, v1_struct_columns(types.by_code[DESC_HEADER])),
    )
    for i in range(types.count):
        n += types.desc[i].n
    begin_plan(plan, COLUMNS_V1, (), types.count, n)
    n = 0
    for i in range(types.count):
        d = &types.desc[i]
        m = &plan.method[i]
        # Padded, so that it can be copied by whole words.
        key = (<bytes>d.name) + bytes(V1_NAME_ROOM)
        plan.keep.append(key)
        m.name = PyBytes_AS_STRING(key)
        m.name_n = <uint32_t>len(key) - V1_NAME_ROOM
        m.field = &plan.field[n]
        m.n = d.n
        m.first = n
        for k in range(d.n):
            key = b',"' + (<bytes>d.field[k]) + b'":' + bytes(2 * COPY_SLACK)
            plan.keep.append(key)
            f = &plan.field[n]
            f.key = PyBytes_AS_STRING(key)
            f.key_n = <uint32_t>len(key) - 2 * COPY_SLACK
            f.wire_type = <uint8_t>v1_column_type(&d.op[k])
            m.room += f.key_n
            if d.frame != V1_NO_FRAME:
                name = (<bytes>d.field[k]).decode()
                full = f"{(<bytes>d.name).decode()}.{name}"
                plan.qualified[full] = (n, f.wire_type)
                plan.arguments.setdefault(name, []).append((n, f.wire_type, full))
            n += 1
        # Of a list of up to 255 bytes, as v1_json_fields writes it.
        m.room += 64 * <uint32_t>d.n + 2 * 256 + 4 * COPY_SLACK
    return plan
