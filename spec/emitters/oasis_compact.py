"""The switch that makes objects of AMQP 1.0's compact values, as C."""

from __future__ import annotations

from collections.abc import Iterator

from amqpcodec.spec.oasis import Encoding, Primitive, Protocol

from .oasis_constants import constructor_name, encodings

#: Type -> the new reference for its content, by functions of v1/compact.h. {u}: the content as a
#: number without a sign, {i}: with one; {text}: where a content with a length is, and how long.
#: Types that are not here need a check of their content that the plain way makes.
MAKERS = {
    "null": "Py_NewRef(Py_None)",
    "ubyte": "v1_number({u})",
    "ushort": "v1_number({u})",
    "uint": "v1_number({u})",
    "ulong": "v1_number({u})",
    "byte": "v1_signed({i})",
    "short": "v1_signed({i})",
    "int": "v1_signed({i})",
    "long": "v1_signed({i})",
    "float": "PyFloat_FromDouble(bits_to_float((uint32_t){u}))",
    "double": "PyFloat_FromDouble(bits_to_double({u}))",
    "timestamp": "v1_same_moment(cache, {u})",
    "binary": "PyBytes_FromStringAndSize((const char *){text})",
    "string": "v1_ascii(cache, {text}, longest)",
    "symbol": "v1_symbol(cache, v1_symbol_class, {text})",
}
#: Encoding that says all -> its object.
ALONE = {"true": "Py_NewRef(Py_True)", "false": "Py_NewRef(Py_False)"}

_UNSIGNED = ("ubyte", "ushort", "uint", "ulong")
_LOAD = {1: "p[1]", 2: "load16(p + 1)", 4: "load32(p + 1)", 8: "load64(p + 1)"}

_HEAD = """
/* A value before `end` that is the same object in plain mode as in a field of its type; and the end
 * of its bytes. NULL, and no exception, where it takes more than this to make one or to fail:
 * another type, a number that its type has a shorter encoding for, too few bytes. longest: text up
 * to there comes from the cache. */
AMQP_INLINE const uint8_t *v1_compact(V1Cache *cache, const uint8_t *p, const uint8_t *end,
                                      Py_ssize_t longest, PyObject **made) {
    PyObject *o;
    switch (*p) {
"""
_TAIL = """    default:
        return NULL;
    }
    if (AMQP_UNLIKELY(!o)) {
        PyErr_Clear();
        return NULL;
    }
    *made = o;
    return p;
}
"""


def _least(item: Primitive, encoding: Encoding) -> int:
    """The least number that no shorter encoding of its type holds."""
    shorter = [other.width for other in item.encodings if other.width < encoding.width]
    return 1 << (8 * max(shorter)) if shorter and item.name in _UNSIGNED else 0


def _fixed(item: Primitive, encoding: Encoding) -> Iterator[str]:
    width = encoding.width
    if not width:
        expression = ALONE.get(encoding.name or "") or MAKERS[item.name].format(u="0", i="0")
        yield f"o = {expression};"
        yield "p++;"
        return
    least = _least(item, encoding)
    short = f"end - p < {1 + width}"
    if least:
        short += f" || {_LOAD[width]} < {least}"
    yield f"if (AMQP_UNLIKELY({short})) return NULL;"
    signed = f"(int{8 * width}_t){_LOAD[width]}"
    yield f"o = {MAKERS[item.name].format(u=_LOAD[width], i=signed)};"
    yield f"p += {1 + width};"


def _variable(item: Primitive) -> Iterator[str]:
    yield "if (AMQP_UNLIKELY(end - p < 2 || end - p - 2 < p[1])) return NULL;"
    yield f"o = {MAKERS[item.name].format(text='p + 2, p[1]')};"
    yield "p += 2 + p[1];"


def _case(item: Primitive, encoding: Encoding) -> list[str] | None:
    if encoding.category == "variable":
        return list(_variable(item)) if encoding.width == 1 else None
    if encoding.category != "fixed" or encoding.width > 8:
        return None
    if encoding.name in ALONE or item.name in MAKERS:
        return list(_fixed(item, encoding))
    return None


def emit_oasis_compact(protocol: Protocol) -> str:
    """Source of ``_gen/v1_compact.h``."""
    lines = ["#ifndef AMQPCODEC_V1_COMPACT_CASES_H", "#define AMQPCODEC_V1_COMPACT_CASES_H"]
    body = []
    for item, encoding in encodings(protocol):
        case = _case(item, encoding)
        if case is not None:
            body.append(f"    case {constructor_name(item, encoding)}:")
            body += [f"        {line}" for line in [*case, "break;"]]
    return "\n".join([*lines, _HEAD + "\n".join(body) + "\n" + _TAIL, "#endif", ""])
