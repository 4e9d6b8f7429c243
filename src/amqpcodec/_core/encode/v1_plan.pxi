# Which column of the input is what for AMQP 1.0: found once for a schema.

cdef dict V1E_SECTIONS = {
    "delivery_annotations": SEC_DELIVERY_ANNOTATIONS, "message_annotations": SEC_MESSAGE_ANNOTATIONS,
    "application_properties": SEC_APPLICATION_PROPERTIES, "footer": SEC_FOOTER}


@cython.final
cdef class V1EncodePlan(ColumnPlan):
    """Of AMQP 1.0."""

    cdef V1Core protocol            # owns the descriptors
    cdef V1Encode state
    cdef V1Fields* all_fields
    cdef V1Column* columns
    cdef HeaderSource* property_

    def __cinit__(self, SourceTree tree not None, V1Core protocol not None):
        cdef const V1Types* types = &protocol.descs.types
        cdef size_t most = <size_t>tree.root.n_children + 1
        self.tree = tree
        self.protocol = protocol
        self.state.types = types
        self.all_fields = <V1Fields*>calloc(<size_t>types.count, sizeof(V1Fields))
        self.argument = <const Source**>calloc(most * (<size_t>types.count + 2), sizeof(Source*))
        self.property_ = <HeaderSource*>calloc(most, sizeof(HeaderSource))
        if self.all_fields == NULL or self.argument == NULL or self.property_ == NULL:
            raise MemoryError
        self.state.content = self.argument + most
        self.state.property_ = self.property_
        self.make_fields()
        self.place_columns()
        if self.state.n_properties and self.state.section[SEC_APPLICATION_PROPERTIES] != NULL:
            raise ValueError("application properties come as application_properties or as columns "
                             "application_properties.x, not both")
        self.find_foreign(self.argument + 2 * most, most)

    def __dealloc__(self):
        free(self.all_fields)
        free(self.columns)
        free(self.property_)

    cdef int make_fields(self) except -1:
        """Places for the columns of every performative, of header and of properties."""
        cdef const V1Types* types = self.state.types
        cdef const V1Desc* d
        cdef V1Fields* f
        cdef size_t n = 0
        cdef int i
        for i in range(types.count):
            n += 2 * <size_t>types.desc[i].n
        self.columns = <V1Column*>calloc(n, sizeof(V1Column))
        if self.columns == NULL:
            raise MemoryError
        n = 0
        for i in range(types.count):
            d = &types.desc[i]
            if d.frame == V1_NO_FRAME and not (d.section and d.composite):
                continue
            f = &self.all_fields[i]
            f.desc = d
            f.named = self.columns + n
            f.plain = f.named + d.n
            n += 2 * <size_t>d.n
            self.state.fields[d.code] = f
        return 0

    cdef bint place_column(self, Source* s, str name) except *:
        cdef V1Encode* m = &self.state
        cdef int k
        if name == "performative" or name == "method" and m.performative == NULL:
            m.performative = s
        elif name == "method":
            pass                    # decode's other name of the same
        elif name == "header" or name == "properties":
            if self.place_struct(s, name, "field"):
                if name == "header":
                    m.header = self.content(s)
                else:
                    m.properties = self.content(s)
        elif name.startswith(("header.", "properties.")):
            head, _, field = name.partition(".")
            return self.place_member(s, NULL, head, field)
        elif name.startswith("application_properties.") and len(name) > 23:
            self.place_header(&self.property_[m.n_properties], s, name[23:])
            m.n_properties += 1
            self.content(s)
        elif name in V1E_SECTIONS:
            k = V1E_SECTIONS[name]
            m.section[k] = self.content(s)
        elif name == "body_kind":
            m.body_form = self.content(s)
        elif name == "body":
            self.body = self.content(s)
        elif name == "value":
            m.value = self.content(s)
        elif name == "message":
            m.message = self.content(s)
        elif name == "payload":
            m.payload = self.content(s)
        elif self.place_argument(s):
            self.argument[self.n_arguments] = s
            self.n_arguments += 1
        else:
            return False
        return True

    cdef const Source* content(self, const Source* s) noexcept:
        """A column of messages."""
        self.state.content[self.state.n_content] = s
        self.state.n_content += 1
        return s

    cdef bint place_member(self, const Source* s, const Source* parent, str struct_, str name) except *:
        cdef V1Fields* f = self.state.fields[SEC_FIRST_CODE + (SEC_HEADER if struct_ == "header" else SEC_PROPERTIES)]
        cdef bytes field = name.encode("utf-8", "replace")
        cdef int k
        for k in range(f.desc.n):
            if strcmp(f.desc.field[k], PyBytes_AS_STRING(field)) == 0:
                if f.plain[k].source != NULL:
                    raise ValueError(f"{struct_}.{name} is there twice, as a column and as a member of {struct_}")
                f.plain[k].source = s
                f.plain[k].parent = parent
                f.plain[k].column = self.tree.text(f"{struct_}.{name}")
                f.n = max(f.n, k + 1)
                if parent == NULL:
                    f.singles = True
                    self.content(s)
                return True
        return False

    cdef bint place_argument(self, const Source* s) except *:
        """`handle`, of whatever performative has it, or `attach.name`."""
        cdef V1Fields* f
        cdef V1Column* c
        cdef size_t n
        cdef bint found = False
        cdef int i, k
        for i in range(self.state.types.count):
            f = &self.all_fields[i]
            if f.desc == NULL or f.desc.frame == V1_NO_FRAME:
                continue
            n = strlen(f.desc.name)
            for k in range(f.desc.n):
                if strcmp(f.desc.field[k], s.name) == 0:
                    c = &f.plain[k]
                elif strlen(s.name) > n and memcmp(f.desc.name, s.name, n) == 0 and s.name[n] == c'.' \
                        and strcmp(f.desc.field[k], s.name + n + 1) == 0:
                    c = &f.named[k]
                else:
                    continue
                c.source = s
                c.column = s.name
                f.n = max(f.n, k + 1)
                found = True
        return found

    cdef int find_foreign(self, const Source** room, size_t most) noexcept:
        """For every performative, the columns of fields that it does not have."""
        cdef V1Fields* f
        cdef bint found
        cdef int i, j, k
        for i in range(self.state.types.count):
            f = &self.all_fields[i]
            if f.desc == NULL or f.desc.frame == V1_NO_FRAME:
                continue
            f.foreign = room + <size_t>i * most
            for j in range(self.n_arguments):
                found = False
                for k in range(f.n):
                    found = found or f.plain[k].source == self.argument[j] or f.named[k].source == self.argument[j]
                if not found:
                    f.foreign[f.n_foreign] = self.argument[j]
                    f.n_foreign += 1
        return 0

    cdef str hint(self, list unknown):
        for section in ("Properties", "Header"):
            for name in self.protocol.classes[section].FIELDS:
                if name in unknown:
                    section = section.lower()
                    return f" (a field of {section} is a member of {section}, or a column {section}.{name})"
        return ""


cdef int v1e_begin(Encoder* e, V1EncodePlan plan) except -1:
    """What AMQP 1.0 adds to an encoder that was begun."""
    e.sources.root = &plan.tree.root
    e.sources.channel = plan.channel
    e.sources.arguments = plan.arguments
    e.sources.body = plan.body
    e.sources.error = plan.error
    e.v1 = &plan.state
    e.default_channel = 0
    if e.frame_max and e.frame_max < V1_MIN_MAX_FRAME:
        raise EncodeError(f"takes 0 (no limit) or at least {V1_MIN_MAX_FRAME} bytes, not {e.frame_max}",
                          method="transfer", field="frame_max")
    return 0
