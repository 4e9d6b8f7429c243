# What AMQP 1.0 demands beyond types: the rules of Parts 2 to 5, asked for by validate().

cdef dict V1_RULES = {}     # name of a type -> function(instance), filled by v1/rules.pxi


cdef MessageClass* v1_described_class(object self) except NULL:
    cdef MessageClass* k = class_of(self)
    if k == NULL or k.what != CLASS_V1_DESCRIBED:
        raise TypeError(f"takes a described type of AMQP 1.0, not {type(self).__name__}")
    return k


@cython.binding(True)
def v1_validate(self):
    """Check what the specification demands of the values beyond their types.

    Encoding by itself refuses only what cannot be encoded, and decoding keeps what came.

    Raises:
        ValidationError: names the type and the field.
        EncodeError: a value cannot be encoded at all.
    """
    v1_described_class(self)
    v1_canonical(self)
    v1_check_rules(self)


cdef int v1_invalid(object obj, str field, str text) except -1:
    method = type(obj).NAME
    raise ValidationError(f"{method}.{field}: {text}", method=method, field=field)


cdef int v1_check_rules(object obj) except -1:
    """The rules of one instance, then of those in its fields."""
    for name in type(obj).MANDATORY:
        if not obj.is_set(name):
            v1_invalid(obj, name, "is mandatory")
    rule = V1_RULES.get(type(obj).NAME)
    if rule is not None:
        rule(obj)
    for name in type(obj).FIELDS:
        value = getattr(obj, name)
        if class_of(value) != NULL and class_of(value).what == CLASS_V1_DESCRIBED:
            v1_check_rules(value)
    return 0


cdef int v1_check_message(object message) except -1:
    """Rules of a whole message, and of its sections."""
    rule = V1_RULES.get("message")
    if rule is not None:
        rule(message)
    for section in (message.header, message.properties):
        if section is not None:
            v1_check_rules(section)
    return 0
