# What a caller asked for: names of columns to their numbers, formats and sources.

cdef enum:
    REQUESTS_KEPT = 64

cdef dict LEVELS = {"frame": LEVEL_FRAME, "message": LEVEL_MESSAGE}

cdef dict WANTED_TYPES = {
    "json": (AS_WANTED_JSON, "u"), "string": (AS_WANTED_STRING, "u"),
    "long": (AS_WANTED_LONG, "l"), "double": (AS_WANTED_DOUBLE, "g"),
    "boolean": (AS_WANTED_BOOLEAN, "b"), "timestamp": (AS_WANTED_TIMESTAMP, "tsu:UTC"),
    "binary": (AS_WANTED_BINARY, "z"),
}

# Short forms.
cdef dict WANTED_ALIASES = {"int": "long", "bool": "boolean"}


cdef tuple wanted_type(str text):
    """(type, Arrow format, precision, scale) of a type's name, or None where there is no such type.

    Raises ValueError where a decimal has more digits than Arrow holds, or more after the point than it has."""
    cdef str low = text.strip().lower()
    found = WANTED_TYPES.get(WANTED_ALIASES.get(low, low))
    if found is not None:
        return *found, 0, 0
    digits = low.removeprefix("decimal").strip()
    if digits == low or not digits.startswith("(") or not digits.endswith(")"):
        return None
    numbers = [number.strip() for number in digits.removeprefix("(").removesuffix(")").split(",")]
    if len(numbers) != 2 or not all([number.isascii() and number.isdecimal() for number in numbers]):
        return None
    precision, scale = [int(number) if len(number) < 5 else 9999 for number in numbers]
    if not 1 <= precision <= WIDE_DECIMAL_MAX_DIGITS or scale > precision:
        raise ValueError(f"a decimal has 1 to {WIDE_DECIMAL_MAX_DIGITS} digits, and no more of them after the point; "
                         f"there is no {text!r}")
    return (AS_WANTED_DECIMAL, f"d:{precision},{scale}" + (",256" if precision > DECIMAL_MAX_DIGITS else ""),
            precision, scale)


cdef int column_kind(str format_) except -1:
    """How a column of an Arrow format lies in memory."""
    if format_.startswith("d:"):
        return AS_WIDE_DECIMAL if format_.endswith(",256") else AS_DECIMAL
    return COLUMN_KINDS[format_]


@cython.final
cdef class Request:
    """Columns of a protocol that were asked for. Made once and kept; nothing in it changes."""

    def __dealloc__(self):
        free(self.arrow_type)
        free(self.sizes)
        free(self.form)
        free(self.first)
        free(self.asked)
        free(self.order)
        free(self.targets)
        free(self.target)
        free(self.picked)
        free(self.masks)
        free(self.v1_steps)
        free(self.wanted)

cdef FramePlan frame_plan(object protocol):
    """protocol: a Protocol or V1Core."""
    if isinstance(protocol, V1Core):
        if (<V1Core>protocol).frame_plan is None:
            (<V1Core>protocol).frame_plan = make_v1_plan(<V1Core>protocol)
        return <FramePlan>(<V1Core>protocol).frame_plan
    if (<Protocol?>protocol).frame_plan is None:
        (<Protocol>protocol).frame_plan = make_frame_plan(<Protocol>protocol)
    return <FramePlan>(<Protocol>protocol).frame_plan


cdef Request find_request(object protocol, str level, object fields, str layout,
                          str field_tables="json"):
    """The request, from those kept or made anew."""
    cdef FramePlan plan = frame_plan(protocol)
    cdef Request request
    if level not in LEVELS:
        raise ValueError(f'level is "frame", "message" or "event", not {level!r}')
    if layout not in ("plain", "view"):
        raise ValueError(f'layout is "plain" or "view", not {layout!r}')
    if field_tables not in TABLE_FORMS:
        raise ValueError(f'field_tables is "json", "variant" or "map", not {field_tables!r}')
    if fields is not None:
        if isinstance(fields, (str, bytes)):
            raise TypeError(f"fields takes names of columns in a list, not {type(fields).__name__}")
        fields = tuple(fields)
        for name in fields:
            if not isinstance(name, str):
                raise TypeError(f"fields takes names of columns, not {type(name).__name__}")
            if type(name) is not str:
                fields = tuple(map(as_text, fields))
    key = level, fields, layout, field_tables
    found = plan.requests.get(key)
    if found is None:
        found = make_request(plan, LEVELS[level], fields, layout == "view", TABLE_FORMS[field_tables])
        if len(plan.requests) >= REQUESTS_KEPT:
            plan.requests.clear()
        plan.requests[key] = found
    return <Request>found


cdef Request related_request(Request base, object protocol):
    """The same columns, filled with the frames of another protocol. Of AMQP 1.0 in columns of 0-x
    only those that have a number of their own, such as method and arguments."""
    if protocol not in base.related:
        names = tuple([column[0] for column in base.schema])
        if isinstance(protocol, V1Core):
            base.related[protocol] = make_request(frame_plan(protocol), base.level, (), base.views, FORM_JSON)
        else:
            plan = related_plan(base.plan, <Protocol?>protocol)
            base.related[protocol] = make_request(plan, base.level, names, base.views, base.tables, base)
    return <Request>base.related[protocol]


cdef tuple related_sources(FramePlan plan, str name, str format_):
    """(format, numbers of the fields) of an argument of another protocol. There may be none."""
    cdef set fits = {format_, "i"} if format_ == "l" else {format_}
    found = plan.qualified.get(name)
    if name.count(".") == 2 and found is None:
        method, _, field = name.rpartition(".")
        found = plan.qualified.get(f"{method.replace('_', '-')}.{field}")
    sources = plan.arguments.get(name, ()) if found is None else (found,)
    # A Variant or a map takes tables and nothing else.
    return format_, tuple([
        source[0] for source in sources
        if (source[1] == W_TABLE if format_ in ("+s", "+m") else WIRE_FORMATS[source[1]] in fits)])


# ---- names ----

@cython.final
@cython.internal
cdef class ParsedNames:
    """What names of columns stand for, in order. The number of a header's column is below 0 until it is known
    how many arguments there are: -1 for the first."""

    cdef FramePlan plan
    cdef int level
    cdef int form               # of tables
    cdef set tables             # numbers of the columns that hold tables, which then have that form
    cdef dict below             # of each struct: its children as they go out
    cdef dict nested            # "properties.message_id" -> (format, children, number of the column)
    cdef list columns           # (name, format, children, number of the column)
    cdef list arguments         # (format, numbers of the fields)
    cdef list headers           # see wanted_header


cdef ParsedNames parse_names(FramePlan plan, int level, object fields, int form, Request base):
    """fields: names, or None for the columns that there are without. base: see make_request."""
    cdef ParsedNames p = ParsedNames.__new__(ParsedNames)
    cdef int i, first
    p.plan = plan
    p.level = level
    p.form = form
    if base is not None:
        p.tables = set([i for i in range(N_COLUMNS, base.picks) if base.form[i]])
    else:
        p.tables = table_columns(plan) if form else set()
    p.below = {}
    p.nested = {}
    p.columns = []
    p.arguments = []
    p.headers = []
    for name, _, first, children in plan.structs:
        p.below[name] = tuple([
            (child[0], *FORM_SCHEMAS[form]) if first + i in p.tables else (child[0], child[1], ())
            for i, child in enumerate(children)])
        if name not in plan.not_at_level[level]:
            for i, child in enumerate(p.below[name]):
                p.nested[f"{name}.{child[0]}"] = (child[1], child[2], first + i)
    seen = set()
    for name, format_ in requested_names(plan, level, fields, base):
        if name in seen:
            raise ValueError(f"fields names {name!r} twice")
        seen.add(name)
        parse_name(p, name, format_, base is not None)
    return p


cdef object requested_names(FramePlan plan, int level, object fields, Request base):
    """(name, format that the column has to have or None)"""
    if base is not None:
        plain = {view: format_ for format_, view in VIEW_FORMATS.items()}
        return [(name, plain.get(format_, format_)) for name, format_, _ in base.schema]
    if fields is not None:
        return [(name, None) for name in fields]
    if level == LEVEL_FRAME:
        return [(name, format_) for name, format_, _ in plan.columns]
    return plan.message_columns


cdef int parse_name(ParsedNames p, str name, object format_, bint related) except -1:
    """related: of another protocol's columns, of which this one may have none."""
    cdef FramePlan plan = p.plan
    cdef int number
    if name in plan.fixed and name not in plan.not_at_level[p.level]:
        number = plan.numbers[name]
        if number in p.tables:
            p.columns.append((name, *FORM_SCHEMAS[p.form], number))
        else:
            p.columns.append((name, plan.fixed[name], p.below.get(name, ()), number))
    elif name in p.nested:
        p.columns.append((name, *p.nested[name]))
    elif name.startswith(plan.wanted) and len(name) > len(plan.wanted) and (
            plan.v1 == NULL or p.level == LEVEL_MESSAGE):
        header = wanted_header(plan, name)
        p.headers.append(header)
        p.columns.append((name, header[1], (), -<int>len(p.headers)))
    else:
        parse_argument(p, name, format_, related)
    return 0


cdef int parse_argument(ParsedNames p, str name, object format_, bint related) except -1:
    cdef FramePlan plan = p.plan
    cdef int field
    children = ()
    if related:
        source = related_sources(plan, name, format_)
        children = FORM_SCHEMAS[p.form][1] if format_ in ("+s", "+m") else ()
    else:
        source = argument_sources(plan, p.level, name, format_)
        if p.form and source[1] and plan.v1 == NULL and all(
                [plan.field[<int>field].wire_type == W_TABLE for field in source[1]]):
            source = FORM_SCHEMAS[p.form][0], source[1]
            children = FORM_SCHEMAS[p.form][1]
    p.columns.append((name, source[0], children, plan.picks + <int>len(p.arguments)))
    p.arguments.append(source)
    return 0


# ---- the request that is built of them ----

cdef Request make_request(FramePlan plan, int level, object fields, bint views, int form,
                          Request base=None):
    """base: the request whose columns are to be filled with this protocol's frames; fields are its names then."""
    cdef ParsedNames names = parse_names(plan, level, fields, form, base)
    cdef Request r = Request.__new__(Request)
    cdef list formats           # of each column of the table
    cdef int i
    r.plan = plan
    r.structs = plan.structs
    r.related = {}
    r.level = level
    r.views = views
    r.tables = form
    r.picks = plan.picks
    r.wants = r.picks + <int>len(names.arguments)
    r.made = r.wants + <int>len(names.headers)
    r.n = r.made
    if form == FORM_VARIANT:
        r.n += 2 * (len(names.tables) + len(names.arguments))
    if r.n > 0x7FFF:
        raise ValueError(f"{len(names.arguments) + len(names.headers)} arguments and headers are too many")
    r.n_wanted = <int>len(names.headers)
    r.n_out = <int>len(names.columns)
    r.schema = tuple([(name, format_, children) for name, format_, children, _ in names.columns])
    if views:
        r.schema = as_views(r.schema)
    allocate_request(r, sum([len(sources) for _, sources in names.arguments]))
    formats = place_columns(r, names)
    place_tables(r, formats)
    for i in range(r.n):
        r.arrow_type[i] = column_kind(VIEW_FORMATS.get(formats[i], formats[i]) if views else formats[i])
    find_uses(r)
    place_arguments(r, names.arguments)
    place_headers(r, names.headers)
    return r


cdef int allocate_request(Request r, size_t n_targets) except -1:
    """The arrays of a request whose numbers are set."""
    cdef size_t n = <size_t>r.n
    cdef size_t n_methods = <size_t>max(r.plan.count, 1)
    r.arrow_type = <uint8_t*>calloc(n, 1)
    r.asked = <uint8_t*>calloc(n, 1)
    r.form = <uint8_t*>calloc(n, 1)
    r.sizes = <Atomic*>calloc(n, sizeof(Atomic))
    r.first = <int*>calloc(n, sizeof(int))
    r.order = <int*>calloc(<size_t>max(r.n_out, 1), sizeof(int))
    r.targets = <uint16_t*>calloc(<size_t>max(r.plan.n_fields, 1), sizeof(uint16_t))
    r.target = <Target*>calloc(n_targets + 1, sizeof(Target))
    r.picked = <uint8_t*>calloc(n_methods, 1)
    r.masks = <uint32_t*>calloc(n_methods, sizeof(uint32_t))
    r.wanted = <Wanted*>calloc(<size_t>max(r.n_wanted, 1), sizeof(Wanted))
    if (r.arrow_type == NULL or r.sizes == NULL or r.asked == NULL or r.order == NULL or r.targets == NULL
            or r.target == NULL or r.picked == NULL or r.wanted == NULL or r.form == NULL or r.first == NULL
            or r.masks == NULL):
        raise MemoryError
    return 0


cdef list place_columns(Request r, ParsedNames names):
    """Say which columns of the table go out, in which order; return the format of each in the table."""
    cdef list formats = [None] * r.n
    cdef int i, k, number, first
    for number, _, _, format_, *_ in NAMED_COLUMNS:
        if number < N_COLUMNS or r.plan.v1 != NULL:
            formats[number] = format_
    r.names = [None] * r.n
    for name, _, first, _ in r.structs:
        for k, child in enumerate(names.below[name]):
            formats[first + k] = child[1]
            r.names[first + k] = f"{name}.{child[0]}"
    for i in range(r.n_out):
        name, format_, _, number = names.columns[i]
        if number < 0:
            number = r.wants - 1 - number
        formats[number] = format_
        r.names[number] = name
        r.order[i] = number
        r.asked[number] = 1
        if name in names.below:
            for struct, _, first, children in r.structs:
                if struct == name:
                    memset(r.asked + first, 1, len(children))
    return formats


cdef int place_tables(Request r, list formats) except -1:
    """Give tables their form, and each Variant its two columns from `made` on."""
    cdef int i, k, at = r.made
    cdef set structs = {column for _, column, _, _ in r.structs}
    for i in range(N_COLUMNS, r.made):
        if formats[i] not in ("+s", "+m") or i in structs:
            continue
        r.form[i] = <uint8_t>r.tables
        if r.tables == FORM_VARIANT:
            r.first[i] = at
            for k in range(at, at + 2):
                formats[k] = "!z"
                r.asked[k] = r.asked[i]
                r.names[k] = r.names[i]
            at += 2
    if r.tables == FORM_VARIANT:
        r.n = at
    return 0


cdef int find_uses(Request r) except -1:
    """Whether anything of property lists is asked for, and anything that runs do not write."""
    cdef int i
    r.any_property = r.asked[COL_PROPERTIES_JSON] or r.asked[COL_RAW_HEADERS] or r.n_wanted
    r.texts = r.tables or r.n_wanted
    for i in range(N_COLUMNS, r.picks):
        if r.asked[i]:
            r.any_property = True
            if r.names[i] == "properties.headers":
                r.texts = True
    for i in range(N_COLUMNS):
        if r.asked[i] and not IN_RUNS[i]:
            r.texts = True
    return 0


cdef int place_arguments(Request r, list arguments) except -1:
    """arguments: (format, numbers of the fields)."""
    cdef FramePlan plan = r.plan
    cdef int i, k, field, n = 0
    # from the last column on, so that a list of targets has them in order
    for i in range(<int>len(arguments) - 1, -1, -1):
        for field in arguments[i][1]:
            n += 1
            r.target[n].column = <uint16_t>(r.picks + i)
            r.target[n].next = r.targets[field]
            r.targets[field] = <uint16_t>n
    if n > 0xFFFF:
        raise ValueError("too many arguments are asked for")
    for i in range(plan.count):
        for k in range(plan.method[i].n):
            if r.targets[plan.method[i].first + k]:
                r.picked[i] = 1
                r.masks[i] |= <uint32_t>1 << (k & 31)
    if plan.v1 != NULL:
        r.v1_steps = <V1Step*>calloc(<size_t>plan.n_fields, sizeof(V1Step))
        if r.v1_steps == NULL:
            raise MemoryError
        plan_v1_steps(plan, r.targets, r.target, r.arrow_type, r.asked, r.v1_steps)
    return 0


cdef int place_headers(Request r, list headers) except -1:
    """headers: see wanted_header."""
    cdef bytes raw
    cdef Wanted* w
    cdef int i
    r.keep = []
    for i in range(r.n_wanted):
        w = &r.wanted[i]
        type_, _, raw, precision, scale = headers[i]
        r.keep.append(raw)
        w.name = <const uint8_t*>PyBytes_AS_STRING(raw)
        w.name_n = <uint32_t>len(raw)
        w.type = <uint8_t>type_
        w.precision = <uint8_t>precision
        w.scale = <uint8_t>scale
        w.column = <uint16_t>(r.wants + i)
    return 0


cdef dict VIEW_FORMATS = {"u": "vu", "z": "vz"}


cdef tuple as_views(tuple columns):
    """Columns whose text and bytes are views."""
    return tuple([(name, VIEW_FORMATS.get(format_, format_), as_views(below))
                  for name, format_, below in columns])


cdef set table_columns(FramePlan plan):
    """Columns that hold tables: of the properties those that are tables in every class."""
    cdef FieldPlan* f
    cdef int i, k
    tables = set()
    others = set()
    if plan.v1 != NULL:
        return {plan.numbers["application_properties"]}
    for i in range(plan.count):
        for k in range(plan.method[i].n):
            f = &plan.method[i].field[k]
            if f.child >= N_COLUMNS:
                (tables if f.wire_type == W_TABLE else others).add(<int>f.child)
    return tables - others


cdef tuple wanted_header(FramePlan plan, str name):
    """(type, format, bytes, precision, scale) of `headers.NAME` or `headers.NAME:TYPE`.

    What stands after the last colon is a type."""
    cdef str key = name[len(plan.wanted):]
    before, colon, after = key.rpartition(":")
    type_ = wanted_type("json")
    if colon and before:
        try:
            type_ = wanted_type(after)
        except ValueError as error:
            raise ValueError(f"{name!r}: {error}") from None
        if type_ is None:
            raise ValueError(f"{name!r}: no type {after!r}; there is {', '.join(WANTED_TYPES)}, int, bool and "
                             f"decimal(p,s), such as decimal(18,4). For a header of that name ask for "
                             f"{name + ':json'!r}")
        key = before
    try:
        raw = key.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name!r}: the name of a header is UTF-8") from error
    if len(raw) > 255 and plan.v1 == NULL:
        raise ValueError(f"{name!r}: the name of a header has at most 255 bytes")
    return type_[0], type_[1], raw, type_[2], type_[3]


cdef tuple argument_sources(FramePlan plan, int level, str name, object format_):
    """(format, numbers of the fields) of an argument. format_: what it has to be, or None: then all
    fields of that name have to agree."""
    if name.count(".") == (2 if plan.v1 == NULL else 1):
        method, _, field = name.rpartition(".")
        found = plan.qualified.get(name) or plan.qualified.get(f"{method.replace('_', '-')}.{field}")
        if found is not None:
            return plan.formats[found[1]], (found[0],)
    sources = None if name in plan.fixed else plan.arguments.get(name)
    if format_ is not None:
        fits = {format_, "i"} if format_ == "l" else {format_}
        return format_, tuple([k for k, wire_type, _ in sources or () if plan.formats[wire_type] in fits])
    if sources is None:
        raise unknown_column(plan, level, name)
    formats = {plan.formats[wire_type] for _, wire_type, _ in sources}
    if formats == {"i", "l"}:
        formats = {"l"}
    if len(formats) > 1 or ("u" in formats and len({wire_type for _, wire_type, _ in sources}) > 1):
        choice = ", ".join([f"{full} ({plan.type_names[<int>wire_type].decode()})" for _, wire_type, full in sources])
        raise ValueError(f"arguments named {name!r} have more than one type: ask for {choice}")
    return formats.pop(), tuple([k for k, _, _ in sources])


cdef object unknown_column(FramePlan plan, int level, str name, tuple own=None):
    """The ValueError for a name that nothing has. own: columns of captures, which have no `row`."""
    from difflib import get_close_matches
    names = [known for known in plan.fixed if known not in plan.not_at_level[level]]
    if own is not None:
        names = [*own, *[known for known in names if known != "row"]]
    known = names + [known for known in plan.arguments if known not in plan.fixed]
    known += list(plan.qualified)
    for struct, _, _, children in plan.structs:
        if struct in names:
            known += [f"{struct}.{child[0]}" for child in children]
    level_name = "message" if level == LEVEL_MESSAGE else "frame"
    close = get_close_matches(name, known, 1)
    hint = f"did you mean {close[0]!r}? There is" if close else "there is"
    if plan.v1 == NULL:
        more = ("and arguments ('queue', 'basic.consume.no_ack'), properties ('properties.message_id') and "
                "headers ('headers.n', 'headers.n:long')")
    elif level == LEVEL_FRAME:
        more = "and fields of performatives ('handle', 'attach.source')"
    else:
        more = ("and fields of performatives ('handle', 'attach.source'), of header and properties "
                "('properties.message_id') and application properties ('application_properties.n:long')")
    return ValueError(f"no column {name!r} at {level_name} level; {hint} {', '.join(names)}, {more}")
