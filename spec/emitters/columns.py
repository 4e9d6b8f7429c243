"""Readers of fields to columns: the messages of a run, each value to the memory of its column.

Code is written for the signatures of the methods that carry a content of class basic, and of that
class's properties, whatever protocol has them (see emitters/fast.py for what a signature is). What
a value of one wire type takes is in `_core/columns/run_fields.pxi`.
"""

from __future__ import annotations

from amqpcodec.spec.lower import lower
from amqpcodec.spec.model import Protocol
from emitters.fast import PROPERTIES, Writer, emit_letters, signature

_CALLS = {
    "s": "run_text({out}, run.spare, row, at, buffer, piece)",
    "T": "run_table(s, {out}, row, at, stop, buffer, piece)",
    "L": "run_longstr({out}, row, at, stop, buffer, piece)",
    "t": "run_timestamp({out}, row, at)",
    "q": "run_longlong({out}, row, at)",
    "l": "run_long({out}, row, at)",
    "h": "run_short({out}, row, at)",
    "o": "run_octet({out}, row, at)",
}


def emit_columns(protocols: list[Protocol]) -> str:
    """Source of ``_gen/columns.pxi``."""
    methods: dict[str, str] = {}
    properties: dict[str, str] = {}
    for protocol in protocols:
        for cls in lower(protocol, "")["classes"]:
            if cls["name"] not in PROPERTIES:
                continue
            sig = signature(cls["properties"]).replace("S", "s")
            properties.setdefault(sig, cls["name"])
            for method in cls["methods"]:
                if method["content"]:
                    sig = signature(method["fields"]).replace("S", "s")
                    methods.setdefault(sig, f"{cls['name']}.{method['name']}")
    w = Writer([])
    emit_letters(w)
    _table(w, "RUN_METHODS", methods)
    w()
    _table(w, "RUN_PROPERTIES", properties)
    w()
    w()
    _function(w, "run_arguments", "int method", list(methods), "method", flags=False)
    w()
    w()
    _function(w, "run_properties", "uint32_t flags", list(properties), "run.list", flags=True)
    return "\n".join(w.lines) + "\n"


def _table(w: Writer, name: str, signatures: dict[str, str]) -> None:
    """The signatures by number."""
    for sig, owner in signatures.items():
        w(f"# {sig}: {owner}")
    listed = ", ".join(f'b"{sig}"' for sig in signatures)
    w(f"cdef const char** {name} = [{listed}]")
    w("cdef enum:")
    w(f"    {name}_N = {len(signatures)}")


def _function(
    w: Writer, name: str, argument: str, signatures: list[str], choice: str, *, flags: bool
) -> None:
    head = f"cdef inline const uint8_t* {name}("
    w(f"{head}Sink* s, Run* run, {argument}, int64_t row, const uint8_t* at,")
    w(" " * len(head) + "const uint8_t* stop, uint32_t buffer,")
    w(" " * len(head) + "const uint8_t* piece) noexcept nogil:")
    w.depth += 1
    w('"""After the fields, or NULL where something is unusual; at may be NULL, too."""')
    if any("B" in sig for sig in signatures):
        w("cdef uint8_t bits")
    for number, sig in enumerate(signatures):
        if len(signatures) > 1:
            w(f"if {choice} == {number}:")
            w.depth += 1
        _fields(w, sig, "property" if flags else "argument", flags=flags)
        w("return at")
        if len(signatures) > 1:
            w.depth -= 1
    if len(signatures) > 1:
        w("return NULL")
    w.depth -= 1


def _fields(w: Writer, sig: str, outs: str, *, flags: bool) -> None:
    bit = 0  # of its byte
    for number, letter in enumerate(sig):
        out = f"run.{outs}[{number}]"
        if letter == "B":
            if flags:
                raise ValueError(f"{sig}: bits among properties are not read by runs")
            if bit == 0:
                w("if AMQP_UNLIKELY(at == NULL):")
                w("    return NULL")
                w("bits = at[0]")
                w("at += 1")
            w(f"run_bit({out}, row, bits >> {bit})")
            bit = (bit + 1) % 8
            continue
        bit = 0
        call = _CALLS[letter].format(out=out)
        if flags:
            w(f"if flags & 0x{0x8000 >> number:04X}:")
            w(f"    at = {call}")
        else:
            w(f"at = {call}")
