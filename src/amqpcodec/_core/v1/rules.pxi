# The rules that validate() checks: what Parts 2 to 5 of AMQP 1.0 demand beyond types.

cdef object v1_pairs(object value):
    return value.items() if isinstance(value, (dict, V1Map)) else ()


cdef bint v1_is_symbol(object value) except -1:
    return isinstance(value, V1Symbol)


cdef bint v1_is_ulong(object value) except -1:
    """A ulong, as far as the value says: plain ints may have come as one."""
    value = from_numpy(value, V1_NUMPY_CLASSES)
    return isinstance(value, int) and not isinstance(value, bool) and (
        type(value) is int or isinstance(value, _v1.ULong))


cdef bint v1_is_string(object value) except -1:
    return isinstance(value, str) and not isinstance(value, (V1Symbol, V1Char))


cdef bint v1_provides(object value, str archetype) except -1:
    """Whether a value provides an archetype. A described value that is not known may."""
    if isinstance(value, V1Described):
        return True
    k = class_of(value) != NULL and class_of(value).what == CLASS_V1_DESCRIBED
    return k and archetype in type(value).PROVIDES


cdef int v1_symbol_keys(object obj, str field, object value) except -1:
    for key, _ in v1_pairs(value):
        if not v1_is_symbol(key):
            v1_invalid(obj, field, f"keys are symbols, not {type(key).__name__}")
    return 0


cdef int v1_address(object obj, str field, object value) except -1:
    if value is not None and not v1_is_string(value) and not isinstance(value, V1Described):
        v1_invalid(obj, field, f"an address is a string, not {type(value).__name__}")
    return 0


cdef int v1_message_id(object obj, str field, object value) except -1:
    if value is None or isinstance(value, (UUID, bytes, bytearray, memoryview, V1Described)):
        return 0
    if v1_is_numpy_int(value):      # it is written as a ulong
        value = int(value)
    if v1_is_string(value) or (v1_is_ulong(value) and value >= 0):
        return 0
    shown = value if type(value) is int else type(value).__name__
    return v1_invalid(obj, field, f"a message id is ulong, uuid, binary or string, not {shown}")


cdef int v1_must_provide(object obj, str field, str archetype) except -1:
    value = getattr(obj, field)
    if value is not None and not v1_provides(value, archetype):
        v1_invalid(obj, field, f"takes a type that provides {archetype}, not {type(value).__name__}")
    return 0


cdef int v1_node(object obj) except -1:
    """What source and target share."""
    properties = obj.dynamic_node_properties
    v1_address(obj, "address", obj.address)
    if properties is None:
        return 0
    if not obj.dynamic:
        v1_invalid(obj, "dynamic_node_properties", "only where dynamic is true")
    v1_symbol_keys(obj, "dynamic_node_properties", properties)
    for key, value in v1_pairs(properties):
        if key == "lifetime-policy" and not v1_provides(value, "lifetime-policy"):
            v1_invalid(obj, "dynamic_node_properties",
                       f"lifetime-policy takes a type that provides it, not {type(value).__name__}")
        if key == "supported-dist-modes":
            modes = value.items if isinstance(value, V1Array) else [value]
            if not modes or not all([v1_is_symbol(mode) for mode in modes]):
                v1_invalid(obj, "dynamic_node_properties", "supported-dist-modes takes one symbol or more")
    return 0


def v1_rule_source(obj):
    v1_node(obj)
    v1_symbol_keys(obj, "filter", obj.filter)
    for _, value in v1_pairs(obj.filter):
        if value is not None and not isinstance(value, V1Described) and class_of(value) == NULL:
            v1_invalid(obj, "filter", f"values are described types or null, not {type(value).__name__}")
    v1_must_provide(obj, "default_outcome", "outcome")
    for outcome in v1_several(obj.outcomes):
        known = [cls for cls in V1_FAMILY.TYPES.values() if cls.SYMBOL == outcome]
        if known and "outcome" not in known[0].PROVIDES:
            v1_invalid(obj, "outcomes", f"{outcome} is no outcome")


cdef object v1_several(object value):
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else value


def v1_rule_target(obj):
    v1_node(obj)


def v1_rule_attach(obj):
    """Addresses go with dynamic: who asks for a node has none, who made one says it."""
    v1_must_provide(obj, "source", "source")
    v1_must_provide(obj, "target", "target")
    receiver = bool(obj.role)
    for field, asks in (("source", receiver), ("target", not receiver)):
        node = getattr(obj, field)
        if node is None or class_of(node) == NULL or not hasattr(node, "dynamic") or not node.dynamic:
            continue
        if asks and node.address is not None:
            v1_invalid(obj, field, "an address where a node is asked for")
        if not asks and node.address is None:
            v1_invalid(obj, field, "no address for the node that was made")
    if not receiver and obj.initial_delivery_count is None:
        v1_invalid(obj, "initial_delivery_count", "is mandatory for a sender")
    for key, value in v1_pairs(obj.unsettled):
        if not isinstance(key, (bytes, bytearray, memoryview)):
            v1_invalid(obj, "unsettled", f"keys are delivery tags, not {type(key).__name__}")
        if value is not None and not v1_provides(value, "delivery-state"):
            v1_invalid(obj, "unsettled", f"values are delivery states or null, not {type(value).__name__}")
    v1_symbol_keys(obj, "properties", obj.properties)


def v1_rule_properties_field(obj):
    v1_symbol_keys(obj, "properties", obj.properties)


def v1_rule_transfer(obj):
    v1_must_provide(obj, "state", "delivery-state")
    if obj.delivery_tag is not None and len(obj.delivery_tag) > 32:
        v1_invalid(obj, "delivery_tag", f"at most 32 bytes, not {len(obj.delivery_tag)}")


def v1_rule_disposition(obj):
    v1_must_provide(obj, "state", "delivery-state")


def v1_rule_flow(obj):
    v1_symbol_keys(obj, "properties", obj.properties)
    if obj.handle is None:
        for field in ("delivery_count", "link_credit", "available"):
            if obj.is_set(field):
                v1_invalid(obj, field, "only with a handle")


def v1_rule_error(obj):
    v1_symbol_keys(obj, "info", obj.info)


def v1_rule_modified(obj):
    v1_symbol_keys(obj, "message_annotations", obj.message_annotations)


def v1_rule_transactional(obj):
    v1_must_provide(obj, "outcome", "outcome")


def v1_rule_message_properties(obj):
    v1_message_id(obj, "message_id", obj.message_id)
    v1_message_id(obj, "correlation_id", obj.correlation_id)
    v1_address(obj, "to", obj.to)
    v1_address(obj, "reply_to", obj.reply_to)
    if obj.content_encoding == "identity":
        v1_invalid(obj, "content_encoding", "is never identity: leave it out")


# Sections that are maps: what each rule finds wrong in the map, or None. A section of a message is
# the map itself; the class of a section, such as Footer, holds it as its value.

cdef object v1_wrong_annotations(object pairs):
    for key, _ in v1_pairs(pairs):
        if not v1_is_symbol(key) and not v1_is_ulong(key):
            return f"keys are symbols or ulongs, not {type(key).__name__}"
    return None


cdef object v1_wrong_delivery_annotations(object pairs):
    for key, value in v1_pairs(pairs):
        if key == "rejected" and type(value).__name__ != "Error":
            return f"rejected takes an Error, not {type(value).__name__}"
    return v1_wrong_annotations(pairs)


cdef object v1_wrong_application_properties(object pairs):
    for key, value in v1_pairs(pairs):
        if not v1_is_string(key):
            return f"keys are strings, not {type(key).__name__}"
        if isinstance(value, (dict, list, tuple, V1Map, V1Array)):
            return "values are no maps, lists or arrays"
    return None


cdef dict V1_MAP_RULES = {      # attribute of Message, the class's name with underscores -> rule
    "delivery_annotations": v1_wrong_delivery_annotations,
    "message_annotations": v1_wrong_annotations,
    "application_properties": v1_wrong_application_properties,
    "footer": v1_wrong_annotations,
}


def v1_rule_map_section(obj):
    wrong = V1_MAP_RULES[type(obj).NAME.replace("-", "_")](obj.value)
    if wrong is not None:
        v1_invalid(obj, "value", wrong)


cdef int v1_wrong(str field, str text) except -1:
    raise ValidationError(f"message.{field}: {text}", method="message", field=field)


def v1_rule_message(message):
    """Keys and values of maps, and a body of exactly one kind."""
    cdef list kinds
    for field, rule in V1_MAP_RULES.items():
        wrong = rule(getattr(message, field))
        if wrong is not None:
            v1_wrong(field, wrong)
    kinds = [kind for kind, there in (
        ("data", message.data), ("amqp-sequence", message.sequences),
        ("amqp-value", message.value is not ABSENT)) if there]
    if len(kinds) != 1:
        v1_wrong("body", f"is of one kind, not {' and '.join(kinds) or 'absent'}")
    if (kinds != ["data"] and message.properties is not None
            and message.properties.content_encoding is not None):
        v1_wrong("body", "only data sections have a content encoding")


V1_RULES.update({
    "open": v1_rule_properties_field, "begin": v1_rule_properties_field, "attach": v1_rule_attach,
    "flow": v1_rule_flow, "transfer": v1_rule_transfer, "disposition": v1_rule_disposition,
    "error": v1_rule_error, "modified": v1_rule_modified, "source": v1_rule_source,
    "target": v1_rule_target, "transactional-state": v1_rule_transactional,
    "properties": v1_rule_message_properties, "message": v1_rule_message,
    "delivery-annotations": v1_rule_map_section, "message-annotations": v1_rule_map_section,
    "application-properties": v1_rule_map_section, "footer": v1_rule_map_section,
})


def required_annotations(annotations):
    """The keys of annotations that a receiver must understand, or else detach the link with
    amqp:not-implemented: all but those that begin with "x-opt-".

    Args:
        annotations: a Message, for the keys of its delivery annotations, message annotations and
            footer, in this order; or one of these sections; None for one that is absent.

    The key "rejected" of delivery annotations, whose meaning the specification gives, is listed
    like any other. A key such as "x-optional" is listed too: the specification has the receiver
    ignore what begins with "x-opt-".

    Raises:
        DecodeError: a section of the message cannot be decoded.

    Spec: 1.0 Part 3 §3.2.10.
    """
    if isinstance(annotations, Message):
        return [key for section in (annotations.delivery_annotations,
                                    annotations.message_annotations, annotations.footer)
                for key in required_annotations(section)]
    if annotations is not None and not isinstance(annotations, (dict, V1Map)):
        raise TypeError("required_annotations() takes a Message or a section of annotations, not "
                        f"{type(annotations).__name__}")
    return [key for key, _ in v1_pairs(annotations)
            if not (isinstance(key, str) and key.startswith("x-opt-"))]
