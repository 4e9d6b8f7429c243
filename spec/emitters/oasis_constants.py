"""Numbers and tables of AMQP 1.0 as a C header, and the same for Cython."""

from __future__ import annotations

from collections.abc import Iterator

from amqpcodec.spec.oasis import ANY, Composite, Encoding, Primitive, Protocol
from amqpcodec.spec.oasis_lower import (
    FIELD_CACHED,
    FIELD_MANDATORY,
    FIELD_MULTIPLE,
    FIELD_SECRET,
    FIELD_ULONG,
    TYPE_NUMBERS,
)

HEADER = "v1_constants.h"

#: Values in C -> what an error calls them; those that the XML has no primitive type for.
OTHER_TYPES = {ANY: "value", "composite": "composite"}
#: What a constructor can stand for beside the types of TYPE_NUMBERS.
DESCRIBED, UNKNOWN = 26, 27

FLAGS = {
    "MANDATORY": FIELD_MANDATORY,
    "MULTIPLE": FIELD_MULTIPLE,
    "CACHED": FIELD_CACHED,
    "SECRET": FIELD_SECRET,
    "ULONG": FIELD_ULONG,
}

#: Types whose compact forms are numbers without a sign, or say all by the constructor.
_UNSIGNED = ("null", "boolean", "ubyte", "ushort", "uint", "ulong", "timestamp")
#: What each scalar type is to all outputs (_core/wire/scalar.h).
KINDS = {
    "null": "VOID",
    "boolean": "BOOLEAN",
    "ubyte": "UNSIGNED",
    "ushort": "UNSIGNED",
    "uint": "UNSIGNED",
    "ulong": "UNSIGNED",
    "byte": "SIGNED",
    "short": "SIGNED",
    "int": "SIGNED",
    "long": "SIGNED",
    "float": "FLOAT",
    "double": "DOUBLE",
    "decimal32": "BID32",
    "decimal64": "BID64",
    "decimal128": "BID128",
    "char": "CHAR",
    "timestamp": "MILLISECONDS",
    "uuid": "UUID",
    "binary": "BYTES",
    "string": "STRING",
    "symbol": "SYMBOL",
}
#: Types that a plain Python value is written as.
PLAIN = {
    "null",
    "boolean",
    "long",
    "double",
    "timestamp",
    "uuid",
    "binary",
    "string",
    "symbol",
    "list",
    "map",
}
LAYOUTS = {"LAYOUT_WIDEST": 8, "LAYOUT_TEXT": 16, "LAYOUT_OTHER": 255}

Values = dict[str, int]

#: Enums that have a name in C: the compiler refuses a chain over one that leaves a name out
#: (_core/wire/scalar.h).
TYPE_ENUM, CATEGORY_ENUM = "V1Type", "V1Category"


def _upper(name: str) -> str:
    return name.upper().replace("-", "_")


def _primitives(protocol: Protocol) -> list[Primitive]:
    return [item for item in protocol.types() if isinstance(item, Primitive)]


def encodings(protocol: Protocol) -> Iterator[tuple[Primitive, Encoding]]:
    """Every constructor of a primitive type, in the order of the files."""
    for item in _primitives(protocol):
        for encoding in item.encodings:
            yield item, encoding


def _types(protocol: Protocol) -> Values:
    names = {"V1_ANY" if key == ANY else f"V1_{_upper(key)}": n for key, n in TYPE_NUMBERS.items()}
    return {**names, "V1_DESCRIBED": DESCRIBED, "V1_UNKNOWN": UNKNOWN}


def constructor_name(item: Primitive, encoding: Encoding) -> str:
    """By the encoding's name; by the type's where it is the only one, or has none."""
    return "CTOR_" + _upper(item.name if len(item.encodings) == 1 else encoding.name or item.name)


def _constructors(protocol: Protocol) -> Values:
    constructors: Values = {"CTOR_DESCRIBED": 0}
    for item, encoding in encodings(protocol):
        constructors[constructor_name(item, encoding)] = encoding.code
    assert len(set(constructors.values())) == len(constructors)
    return constructors


def _categories(protocol: Protocol) -> Values:
    categories: Values = {}
    for _, encoding in encodings(protocol):
        name = f"CATEGORY_{_upper(encoding.category)}{encoding.width}"
        assert categories.setdefault(name, encoding.code >> 4) == encoding.code >> 4
    return dict(sorted(categories.items(), key=lambda item: item[1]))


def _descriptors(protocol: Protocol) -> Values:
    descriptors: Values = {}
    for item in protocol.types():
        if not isinstance(item, Primitive) and item.descriptor is not None:
            descriptors[f"DESC_{_upper(item.name)}"] = item.descriptor.code
    return descriptors


def _sections(protocol: Protocol) -> Values:
    """Sections of a message from 0 on; their descriptors follow each other."""
    codes = {
        item.name: item.descriptor.code
        for item in protocol.types()
        if not isinstance(item, Primitive)
        and item.descriptor is not None
        and "section" in item.provides
    }
    first = min(codes.values())
    assert sorted(codes.values()) == list(range(first, first + len(codes)))
    sections = {f"SEC_{_upper(name)}": code - first for name, code in codes.items()}
    return {**sections, "SEC_COUNT": len(codes), "SEC_FIRST_CODE": first}


#: Composites beside frames and sections of which the core reads fields by their place.
_READ_BY_EVENTS = (
    *("source", "target", "error", "transactional-state"),
    *("sasl-init", "sasl-outcome"),
)


def _fields(item: Composite) -> Values:
    name = _upper(item.name)
    numbers = {f"{name}_{_upper(entry.name)}": i for i, entry in enumerate(item.fields)}
    return {**numbers, f"{name}_FIELDS": len(item.fields)}


def _groups(protocol: Protocol) -> list[tuple[str, str, Values]]:
    """(comment, name or "", names and numbers) of each enum."""
    limits = {item.name: item.value for item in protocol.definitions()}
    groups = [
        (
            "Types of values; V1_ANY and V1_COMPOSITE are those of fields.",
            TYPE_ENUM,
            _types(protocol),
        ),
        (
            "Flags of a field in the lowered table.",
            "",
            {f"V1_FIELD_{k}": v for k, v in FLAGS.items()},
        ),
        ("Constructors, by the names of their encodings.", "", _constructors(protocol)),
        (
            "A described value whose descriptor is a smallulong, as the number that its first two\n"
            "bytes are.",
            "",
            {"CTOR_DESCRIBED_SMALLULONG": _constructors(protocol)["CTOR_SMALLULONG"]},
        ),
        (
            "The upper half of a constructor: category, and bytes of the content or of its size.",
            CATEGORY_ENUM,
            _categories(protocol),
        ),
        ("Codes of descriptors.", "", _descriptors(protocol)),
        ("Sections of a message by number.", "", _sections(protocol)),
        (
            "The least max-frame-size, and the limit before open.",
            "",
            {"V1_MIN_MAX_FRAME": limits["MIN-MAX-FRAME-SIZE"]},
        ),
        (
            "CTOR_LAYOUT: up to the first, bytes of a number without a sign (0: the constructor\n"
            "says all); a byte with the length and so many bytes; anything else.",
            "",
            LAYOUTS,
        ),
    ]
    for item in protocol.types():
        if isinstance(item, Composite) and (
            {"frame", "section"} & set(item.provides) or item.name in _READ_BY_EVENTS
        ):
            groups.append((f"Fields of {item.name} by their place.", "", _fields(item)))
    return groups


def _layout(item: Primitive, encoding: Encoding) -> int:
    """How the content of a compact value is read in one step, if it can be."""
    if encoding.category == "variable" and encoding.width == 1:
        return LAYOUTS["LAYOUT_TEXT"]
    # A boolean's own byte may hold what is neither 0 nor 1.
    checked = item.name == "boolean" and encoding.width
    if item.name in _UNSIGNED and encoding.category == "fixed" and not checked:
        return encoding.width
    return LAYOUTS["LAYOUT_OTHER"]


def _tables(protocol: Protocol) -> list[tuple[str, str, list[str]]]:
    """(comment, name, cells) of each table of bytes."""
    names = {code: name for name, code in _constructors(protocol).items()}
    wire_type, width, layout = [UNKNOWN] * 256, [0] * 256, [LAYOUTS["LAYOUT_OTHER"]] * 256
    wire_type[0] = DESCRIBED
    for item, encoding in encodings(protocol):
        wire_type[encoding.code] = TYPE_NUMBERS[item.name]
        width[encoding.code] = encoding.width
        layout[encoding.code] = _layout(item, encoding)
    plain, wide, narrow = [], [], []
    scalars = [name for name, number in TYPE_NUMBERS.items() if number < TYPE_NUMBERS["list"]]
    for item in sorted(_primitives(protocol), key=lambda item: TYPE_NUMBERS[item.name]):
        widest = max(item.encodings, key=lambda encoding: encoding.width)
        byte = [e.code for e in item.encodings if e.width == 1 and e is not widest]
        plain.append(str(int(item.name in PLAIN)))
        wide.append(names[widest.code])
        narrow.append(names[byte[0]] if byte else "0")
    return [
        ("Type of each constructor.", "CTOR_WIRE_TYPE", list(map(str, wire_type))),
        (
            "Bytes of each constructor's content, or of its size (and count).",
            "CTOR_WIDTH",
            list(map(str, width)),
        ),
        (
            "How the content of each constructor is read in one step.",
            "CTOR_LAYOUT",
            list(map(str, layout)),
        ),
        ("Kind of each scalar type.", "V1_KIND", [f"KIND_{KINDS[name]}" for name in scalars]),
        (
            "Whether a plain Python value is written as this type.",
            "V1_PLAIN",
            plain,
        ),
        ("Widest constructor of each type.", "CTOR_WIDE", wide),
        (
            "The constructor of each type whose number or size takes one byte, where there is a\n"
            "wider one.",
            "CTOR_NARROW",
            narrow,
        ),
    ]


def _names() -> list[str]:
    """What errors call each type."""
    names = [OTHER_TYPES.get(name, name) for name in TYPE_NUMBERS]
    return [*names, "described value", "unknown"]


def _rows(cells: list[str]) -> list[str]:
    """Sixteen numbers a row, as categories of constructors go; or four names."""
    n = 16 if len(cells) == 256 else 4
    return [f"    {', '.join(cells[i : i + n])}," for i in range(0, len(cells), n)]


def _number(name: str, value: int) -> str:
    return f"0x{value:02X}" if name.startswith(("CTOR", "DESC", "SEC_FIRST")) else str(value)


def emit_oasis_header(protocol: Protocol) -> str:
    """Source of ``_gen/v1_constants.h``."""
    lines = ["#ifndef AMQPCODEC_V1_CONSTANTS_H", "#define AMQPCODEC_V1_CONSTANTS_H", ""]
    lines += ["#include <stdint.h>", '#include "wire/scalar.h"', ""]
    for comment, enum, values in _groups(protocol):
        lines += ["/* " + comment.replace("\n", "\n * ") + " */"]
        lines += ["typedef enum {" if enum else "enum {"]
        lines += [f"    {name} = {_number(name, value)}," for name, value in values.items()]
        lines += [f"}} {enum};" if enum else "};", ""]
    for comment, name, cells in _tables(protocol):
        lines += ["/* " + comment.replace("\n", "\n * ") + " */"]
        lines += [f"static const uint8_t {name}[{len(cells)}] = {{", *_rows(cells), "};", ""]
    names = [f'"{name}"' for name in _names()]
    lines += ["/* Names of types, for errors. */"]
    lines += [f"static const char *const V1_NAMES[{len(names)}] = {{", *_rows(names), "};", ""]
    return "\n".join([*lines, "#endif", ""])


def emit_oasis_declarations(protocol: Protocol) -> str:
    """Source of ``_gen/v1_constants.pxd``."""
    lines = ["from libc.stdint cimport uint8_t", "", f'cdef extern from "{HEADER}" nogil:']
    for comment, enum, values in _groups(protocol):
        lines += [f"    # {line}" for line in comment.split("\n")]
        lines += [f"    ctypedef enum {enum}:" if enum else "    enum:"]
        lines += [*(f"        {name}" for name in values), ""]
    for comment, name, cells in _tables(protocol):
        lines += [f"    # {line}" for line in comment.split("\n")]
        lines += [f"    const uint8_t {name}[{len(cells)}]"]
    lines += ["    # Names of types, for errors."]
    return "\n".join([*lines, f"    const char* V1_NAMES[{len(_names())}]", ""])
