# Columns of 0-x: what decoding its frames to them needs, made of a protocol's table.

cdef enum:
    NO_CHILD = COL_ROW      # a property of another version; captures do not have that column


cdef void plan_op(FieldPlan* f, const Op* op) noexcept:
    cdef int wire_type = op.wire_type
    f.op = FAST_NEVER
    if f.reserved:
        # Empty by default, and then not in the JSON text.
        f.zeros = 1 if wire_type == W_SHORTSTR or wire_type == W_OCTET else 2 if wire_type == W_SHORT else 0
        if f.zeros:
            f.op = FAST_ZEROS
    elif wire_type == W_SHORTSTR:
        f.op = FAST_TEXT
    elif wire_type == W_BIT:
        f.op = FAST_FIRST_BIT if op.run else FAST_BIT
    elif wire_type == W_LONGLONG:
        f.op = FAST_64
    elif wire_type == W_LONG:
        f.op = FAST_32
    elif wire_type == W_SHORT:
        f.op = FAST_16
    elif wire_type == W_OCTET:
        f.op = FAST_8
    elif wire_type == W_LONGSTR:
        f.op = FAST_LONG_TEXT
    elif wire_type == W_TABLE:
        f.op = FAST_TABLE


cdef int child_in(FramePlan schema, str name, str format_):
    """The column of a property of another version: of that name or its alias, and of that format."""
    cdef int i
    for i, (known, wire_type, _) in enumerate(schema.children):
        if wire_type == format_ and (known == name or PROPERTY_ALIASES.get(name) == known):
            return N_COLUMNS + i
    return NO_CHILD


cdef FramePlan make_frame_plan(Protocol protocol, FramePlan schema=None):
    """schema: whose columns they are, if not the protocol's own."""
    cdef FramePlan plan = FramePlan.__new__(FramePlan)
    cdef DescTable descs = protocol.descs
    cdef Desc* d
    cdef FieldPlan* f
    cdef int i, k, quoted, n = 0
    cdef bytes key
    plan.keep = [protocol.name.encode()]
    plan.wanted = "headers."
    plan.formats = WIRE_FORMATS
    plan.type_names = WIRE_NAMES
    for i in range(descs.count):
        n += descs.desc[i].n
    begin_plan(plan, COLUMNS_0X, protocol.table["property_columns"], descs.count, n)
    plan.picks = N_COLUMNS + <int>len(plan.children if schema is None else schema.children)
    child_of = {}
    for i, (name, format_, sources) in enumerate(plan.children):
        k = N_COLUMNS + i
        if schema is not None:
            k = child_in(schema, name, format_)
        for source in sources:
            child_of[source] = k
    if schema is not None:
        plan.columns = schema.columns
        plan.children = schema.children
    plan.structs = (("properties", COL_PROPERTIES, N_COLUMNS, plan.children),)
    reserved = {}
    for cls in protocol.table["classes"]:
        for method in cls["methods"]:
            for i, field in enumerate(method["fields"]):
                if field[2] & FIELD_RESERVED:
                    reserved[cls["index"], method["index"], i] = True
    n = 0
    for i in range(descs.count):
        d = &descs.desc[i]
        key = (<bytes>d.name) + bytes(2 * COPY_SLACK)
        plan.keep.append(key)
        plan.method[i].name = PyBytes_AS_STRING(key)
        plan.method[i].name_n = <uint32_t>len(key) - 2 * COPY_SLACK
        plan.method[i].field = &plan.field[n]
        plan.method[i].n = d.n
        plan.method[i].first = n
        plan.method[i].has_content = d.has_content
        quoted = 0
        for k in range(d.n):
            # Quotes of text around it, and padded, so that it can be copied by whole words.
            key = b'","' + (<bytes>d.field[k]) + b'":"' + bytes(2 * COPY_SLACK)
            plan.keep.append(key)
            f = &plan.field[n]
            f.key = PyBytes_AS_STRING(key) + 1
            f.key_n = <uint32_t>len(key) - 2 * COPY_SLACK - 2
            f.wire_type = d.op[k].wire_type
            f.bit = d.op[k].bit
            f.reserved = (d.class_id, d.method_id, k) in reserved
            if d.method_id == 0:
                f.child = child_of[d.class_id, k]
                f.headers = f.wire_type == W_TABLE and <bytes>d.field[k] == b"headers"
            else:
                name = (<bytes>d.field[k]).decode()
                full = f"{(<bytes>d.name).decode()}.{name}"
                plan.qualified[full] = (n, f.wire_type)
                if not f.reserved:
                    plan.arguments.setdefault(name, []).append((n, f.wire_type, full))
            plan_op(f, &d.op[k])
            f.piece = f.key - quoted
            f.piece_n = f.key_n + <uint32_t>quoted + (f.op == FAST_TEXT)
            if f.op != FAST_ZEROS:
                quoted = f.op == FAST_TEXT
            plan.method[i].room += f.key_n
            n += 1
        plan.method[i].quoted = quoted
        plan.method[i].room += 24 * <uint32_t>d.n + 3 * COPY_SLACK
    return plan


cdef FramePlan related_plan(FramePlan schema, Protocol protocol):
    """How a protocol's frames go to the columns of another one."""
    if protocol not in schema.related:
        schema.related[protocol] = make_frame_plan(protocol, schema)
    return <FramePlan>schema.related[protocol]
