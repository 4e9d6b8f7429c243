"""Fast readers and writers: the two halves of the codec fused, for the few signatures that matter.

A signature is the string of wire types of a method's arguments, or of a property list. Code is
written for a signature, not for a method: whatever method of whatever protocol has it is bound to
it when its table is loaded. Each function makes the checks of the table path; where anything is
unusual it falls back (NULL, -1 or 0): the table path does the work or names the fault.
"""

from __future__ import annotations

from dataclasses import dataclass

from amqpcodec.spec.lower import FIELD_CACHED, WIRE_NUMBERS, lower
from amqpcodec.spec.model import Protocol

#: Whose signatures are fast: those that go with every message.
METHODS = (
    "basic.publish",
    "basic.deliver",
    "basic.get-ok",
    "basic.return",
    "basic.ack",
    "basic.nack",
)
PROPERTIES = ("basic",)

#: Letters of a signature.
LETTERS = {
    "bit": "B",
    "octet": "o",
    "short": "h",
    "long": "l",
    "longlong": "q",
    "shortstr": "s",
    "longstr": "L",
    "timestamp": "t",
    "table": "T",
    "content": "C",
}
_LETTER_OF = {WIRE_NUMBERS[name]: letter for name, letter in LETTERS.items()}
_WIDTH = {"o": 1, "h": 2, "l": 4, "q": 8, "t": 8}
_LOAD = {"o": "{p}[0]", "h": "load16({p})", "l": "load32({p})", "q": "load64({p})"}
_STORE = {
    "o": "w[0] = <uint8_t>u",
    "h": "store16(w, <uint16_t>u)",
    "l": "store32(w, <uint32_t>u)",
    "q": "store64(w, u)",
}
_LIMIT = {"o": "0xFF", "h": "0xFFFF", "l": "MAX_U32", "q": None}


def signature(fields: tuple[tuple, ...]) -> str:
    """Letters of the wire types; S for text that is cached."""
    return "".join(
        "S" if kind == WIRE_NUMBERS["shortstr"] and flags & FIELD_CACHED else _LETTER_OF[kind]
        for _, kind, flags, _, _ in fields
    )


def fast_signatures(protocol: Protocol) -> tuple[list[str], list[str]]:
    """Signatures of the fast methods and of the fast property lists, each once."""
    methods: list[str] = []
    properties: list[str] = []
    for cls in lower(protocol, "")["classes"]:
        if cls["name"] in PROPERTIES:
            properties.append(signature(cls["properties"]))
        for method in cls["methods"]:
            if f"{cls['name']}.{method['name']}" in METHODS:
                methods.append(signature(method["fields"]))
    return list(dict.fromkeys(methods)), list(dict.fromkeys(properties))


@dataclass
class Writer:
    """Lines with indentation."""

    lines: list[str]
    depth: int = 0

    def __call__(self, text: str = "") -> None:
        """Add a line at the depth that holds."""
        self.lines.append("    " * self.depth + text if text else "")


def emit_letters(w: Writer) -> None:
    """The letters as a constant of the core."""
    letters = "".join(_LETTER_OF[number] for number in sorted(_LETTER_OF))
    w("# Letters of a signature, by wire type.")
    w(f'cdef const char* SIGNATURE_LETTERS = b"{letters}"')
    w()


def emit_fast(protocols: list[Protocol]) -> str:
    """Source of ``_gen/fast.pxi``."""
    methods: dict[str, None] = {}
    properties: dict[str, None] = {}
    for protocol in protocols:
        some_methods, some_properties = fast_signatures(protocol)
        methods.update(dict.fromkeys(some_methods))
        properties.update(dict.fromkeys(some_properties))
    w = Writer([])
    emit_letters(w)
    w("cdef enum:")
    room = max(map(_longest, methods))
    w(f"    FAST_ROOM = {room}     # bytes that a fast writer stores at most")
    w()
    w()
    for sig in methods:
        _method_reader(w, sig)
        _method_writer(w, sig)
    for sig in properties:
        _properties_reader(w, sig)
        _properties_writer(w, sig)
    _lookup(w, list(methods), list(properties))
    return "\n".join(w.lines).rstrip("\n") + "\n"


def _lookup(w: Writer, methods: list[str], properties: list[str]) -> None:
    w("cdef int bind_fast(Desc* d, bytes signature, bint properties) noexcept:")
    w.depth += 1
    w('"""Give a descriptor the functions of its signature, if it is a fast one."""')
    for sig in methods:
        w(f'if not properties and signature == b"{sig}":')
        w(f"    d.read_fast = read_{sig}")
        w(f"    d.write_fast = write_{sig}")
    for sig in properties:
        w(f'if properties and signature == b"{sig}":')
        w(f"    d.read_fast = read_properties_{sig}")
        w(f"    d.write_fast_properties = write_properties_{sig}")
    w("return 0")
    w.depth -= 1


# ---- methods ----


def _longest(sig: str) -> int:
    """Bytes that the arguments of a signature take at most."""
    return len(_bit_runs(sig)) + sum(
        256 if letter in "Ss" else _WIDTH.get(letter, 0) for letter in sig
    )


def _bit_runs(sig: str) -> dict[int, int]:
    """First bit of each run of neighbouring bits (at most eight) -> its length."""
    runs: dict[int, int] = {}
    first = -1
    for i, letter in enumerate(sig):
        if letter != "B":
            first = -1
        elif first < 0 or runs[first] == 8:
            first = i
            runs[first] = 1
        else:
            runs[first] += 1
    return runs


def _method_reader(w: Writer, sig: str) -> None:
    """Bounds first, in one pass without objects; then the object."""
    if "t" in sig:
        raise ValueError(f"a frequent method with a timestamp, which nothing here reads: {sig}")
    runs = _bit_runs(sig)
    w(f"cdef PyObject* read_{sig}(Desc* d, const uint8_t* p, const uint8_t* end, uintptr_t mode,")
    w("        TextCache* cache) noexcept:")
    w.depth += 1
    for i, letter in enumerate(sig):
        if letter in "Ss" or letter in _WIDTH or i in runs:
            w(f"cdef const uint8_t* p{i}")
    w("cdef MessageObject* o")
    steps: list[tuple[str, int]] = []  # ("fixed", bytes) or ("text", field)
    fixed = 0
    # Bytes that must be there before each length can be read, gathered over fixed fields.
    for i, letter in enumerate(sig):
        if letter in "Ss":
            w(f"if <size_t>(end - p) < {fixed + 1}:")
            w("    return NULL")
            _fixed_pointers(w, sig, runs, steps)
            steps = []
            w(f"p{i} = p + {fixed}")
            w(f"p += {fixed + 1}")
            w(f"if <size_t>(end - p) < p{i}[0]:")
            w("    return NULL")
            w(f"p += p{i}[0]")
            fixed = 0
        elif letter in _WIDTH:
            steps.append((f"p{i}", fixed))
            fixed += _WIDTH[letter]
        elif i in runs:
            steps.append((f"p{i}", fixed))
            fixed += 1
    w(f"if <size_t>(end - p) != {fixed}:")
    w("    return NULL")
    _fixed_pointers(w, sig, runs, steps)
    for first, length in runs.items():
        if length < 8:
            w(f"if p{first}[0] >> {length}:")
            w("    return NULL          # unused bits are kept by the table path")
    w("o = class_new(<PyTypeObject*>d.cls)")
    w("if o == NULL:")
    w("    return fall_back(o)")
    w("o.mode = <uint32_t>mode")
    checks = []
    for i, letter in enumerate(sig):
        if letter == "B":
            first = max(k for k in runs if k <= i)
            bit = f"p{first}[0] & {1 << (i - first)}"
            w(f"o.field[{i}] = Py_NewRef(Py_True if {bit} else Py_False)")
        elif letter in "Ss":
            cached = f"text_cached_(cache, p{i} + 1, p{i}[0])"
            w(f"o.field[{i}] = " + (cached if letter == "S" else f"text_new_(p{i} + 1, p{i}[0])"))
            checks.append(f"o.field[{i}] == NULL")
        else:
            w(f"o.field[{i}] = int_new({_LOAD[letter].format(p=f'p{i}')})")
            checks.append(f"o.field[{i}] == NULL")
    w(f"if AMQP_UNLIKELY({' or '.join(checks)}):")
    w("    return fall_back(o)")
    w("return <PyObject*>o")
    w.depth -= 1
    w()
    w()


def _fixed_pointers(
    w: Writer, sig: str, runs: dict[int, int], steps: list[tuple[str, int]]
) -> None:
    for name, offset in steps:
        w(f"{name} = p + {offset}")


def _put_text(w: Writer, i: int, fail: str) -> None:
    w(f"if not utf8_bytes(o.field[{i}], &s, &n) or <size_t>n > 255:")
    w(f"    {fail}")


def _method_writer(w: Writer, sig: str) -> None:
    runs = _bit_runs(sig)
    w(f"cdef Py_ssize_t write_{sig}(MessageObject* o, uint8_t* w) noexcept:")
    w.depth += 1
    w("cdef uint8_t* start = w")
    if any(letter in "Ss" for letter in sig):
        w("cdef const uint8_t* s = NULL")
        w("cdef Py_ssize_t n = 0")
    if any(letter in _STORE for letter in sig):
        w("cdef uint64_t u = 0")
    for i, letter in enumerate(sig):
        if letter in "Ss":
            _put_text(w, i, "return -1")
            w("w[0] = <uint8_t>n")
            w("copy_bytes(w + 1, s, <size_t>n)")
            w("w += 1 + n")
        elif letter in _STORE:
            test = f"not exact_u64(o.field[{i}], &u)"
            if _LIMIT[letter]:
                test += f" or u > {_LIMIT[letter]}"
            w(f"if {test}:")
            w("    return -1")
            w(_STORE[letter])
            w(f"w += {_WIDTH[letter]}")
        elif letter == "B":
            first = max(k for k in runs if k <= i)
            if i == first:
                w("w[0] = 0")
            w(f"if o.field[{i}] == Py_True:")
            w(f"    w[0] |= {1 << (i - first)}")
            w(f"elif o.field[{i}] != Py_False:")
            w("    return -1")
            if i == first + runs[first] - 1:
                w("w += 1")
    w("return w - start")
    w.depth -= 1
    w()
    w()


# ---- property lists ----


def _places(sig: str) -> tuple[dict[int, int], dict[int, int], int]:
    """Table -> slot of its bytes, timestamp -> number of its word, and how many slots there are."""
    tables = [i for i, letter in enumerate(sig) if letter == "T"]
    times = [i for i, letter in enumerate(sig) if letter == "t"]
    slots = {field: len(sig) + number for number, field in enumerate(tables)}
    words = {field: number for number, field in enumerate(times)}
    return slots, words, len(sig) + len(tables)


def _properties_reader(w: Writer, sig: str) -> None:
    """One pass: a property's bytes are looked at only where its flag is set.

    The object comes with None in every field; class_fill replaces it.
    """
    used = sum(0x8000 >> i for i in range(len(sig)))
    table, words, slots = _places(sig)
    w(f"cdef PyObject* read_properties_{sig}(Desc* d, const uint8_t* p, const uint8_t* end,")
    w("        uintptr_t mode, TextCache* cache) noexcept:")
    w.depth += 1
    w("cdef MessageObject* o")
    w("cdef uint32_t n")
    w("cdef uint16_t flags")
    w("cdef PyObject* value")
    if table:
        w("cdef Cursor c")
        w("cdef Fault fault")
    w("if <size_t>(end - p) < 2:")
    w("    return NULL")
    w("flags = load16(p)")
    w(f"if flags & {0xFFFF & ~used:#06x}:")
    w("    return NULL              # a second flag word, or flags that mean nothing")
    w("p += 2")
    w("o = class_new(<PyTypeObject*>d.cls)")
    w("if o == NULL:")
    w("    return fall_back(o)")
    w("o.mode = <uint32_t>mode")
    for i, letter in enumerate(sig):
        w(f"if flags & {0x8000 >> i:#06x}:")
        w.depth += 1
        if letter in "Ss":
            w("if p == end or <size_t>(end - p) - 1 < p[0]:")
            w("    return fall_back(o)")
            call = "text_cached_(cache, p + 1, p[0])" if letter == "S" else "text_new_(p + 1, p[0])"
            w(f"value = {call}")
            w("if value == NULL:")
            w("    return fall_back(o)")
            w("p += 1 + p[0]")
        elif letter == "T":
            w("if <size_t>(end - p) < 4 or <size_t>(end - p) - 4 < load32(p):")
            w("    return fall_back(o)")
            w("n = load32(p)")
            w("p += 4")
            w("fault.code = OK")
            w("c.p = c.base = p")
            w("c.end = p + n")
            w("c.base_at = 0")
            w("c.fault = &fault")
            w("if check_pairs(&c, SHAPES[mode & MODE_LETTER], 1) < 0:")
            w("    return fall_back(o)")
            w(f"if class_put_bytes(o, {table[i]}, p, n) < 0:")
            w("    return fall_back(o)")
            w("value = NULL             # made from the bytes when it is read")
            w("p += n")
        elif letter == "t":
            w("if <size_t>(end - p) < 8:")
            w("    return fall_back(o)")
            w(f"class_words(o, {slots})[{words[i]}] = load64(p)")
            w("value = NULL             # made from the word when it is read")
            w("p += 8")
        else:
            w(f"if <size_t>(end - p) < {_WIDTH[letter]}:")
            w("    return fall_back(o)")
            w(f"value = int_new({_LOAD[letter].format(p='p')})")
            w("if value == NULL:")
            w("    return fall_back(o)")
            w(f"p += {_WIDTH[letter]}")
        w(f"class_fill(o, {i}, value)")
        w.depth -= 1
    w("if p != end:")
    w("    return fall_back(o)")
    w("return <PyObject*>o")
    w.depth -= 1
    w()
    w()


def _properties_writer(w: Writer, sig: str) -> None:
    table, words, slots = _places(sig)
    w(f"cdef int write_properties_{sig}(Buffer* b, Desc* d, MessageObject* o,")
    w("        uintptr_t mode) except -1:")
    w.depth += 1
    w('"""1, or 0 with nothing written where the table path must do it."""')
    w("cdef size_t start = buffer_size(b)")
    w("cdef uint8_t* w")
    w("cdef uint16_t flags = 0")
    w("cdef uint64_t u = 0")
    w("cdef const uint8_t* s = NULL")
    w("cdef Py_ssize_t n = 0")
    w("buffer_extend(b, 2)")
    for i, letter in enumerate(sig):
        if letter == "T":
            condition = f"o.field[{i}] != NULL or class_bytes(o, {table[i]}) != NULL"
            w(f"if o.field[{i}] != Py_None and ({condition}):")
            w.depth += 1
            w(f"if not put_table_fast(b, d, o, {i}, {table[i]}, mode):")
            w("    return drop_written(b, start)")
            w(f"flags |= {0x8000 >> i:#06x}")
            w.depth -= 1
            continue
        w(f"if o.field[{i}] != Py_None:")
        w.depth += 1
        if letter in "Ss":
            _put_text(w, i, "return drop_written(b, start)")
            w("w = buffer_extend(b, 1 + <size_t>n)")
            w("w[0] = <uint8_t>n")
            w("copy_bytes(w + 1, s, <size_t>n)")
        elif letter == "t":
            w(f"if o.field[{i}] == NULL:")
            w(f"    u = class_words(o, {slots})[{words[i]}]")
            w(f"elif not seconds_fast(o.field[{i}], &u):")
            w("    return drop_written(b, start)")
            w("store64(buffer_extend(b, 8), u)")
        else:
            test = f"not exact_u64(o.field[{i}], &u)"
            if _LIMIT[letter]:
                test += f" or u > {_LIMIT[letter]}"
            w(f"if {test}:")
            w("    return drop_written(b, start)")
            w(f"w = buffer_extend(b, {_WIDTH[letter]})")
            w(_STORE[letter])
        w(f"flags |= {0x8000 >> i:#06x}")
        w.depth -= 1
    w("store16(b.start + start, flags)")
    w("return 1")
    w.depth -= 1
    w()
    w()
