"""A slow, plain second opinion on AMQP 0-9-1, 0-9 and 0-8 bytes.

Driven by facts-0-9-1.json and its like (class, method, field, wire type) and by nothing of the
package under test: no import of amqpcodec, no generated table. It works on a neutral form:

* a method is ``Method("basic.publish", {"exchange": b"orders", ...})`` with the spec's spelling,
  short and long strings as bytes, bits as 0 or 1, timestamps as seconds, 0-9's content as
  (0 for inline or 1 for a reference, bytes);
* a table is a list of ``(key bytes, (tag, value))``: order, duplicates and tags are explicit.

``plain`` says which Python value the package should give for such a value.
"""

from tests.reference.errors import Malformed
from tests.reference.facts import FACTS, VERSIONS, Facts, MethodFact, load_facts
from tests.reference.frames import (
    Body,
    Frame,
    Header,
    Heartbeat,
    Method,
    ProtocolHeader,
    decode_frame,
    decode_stream,
    encode_frame,
)
from tests.reference.plain import from_plain, table_from_plain, table_to_plain, to_plain, to_python
from tests.reference.tables import (
    DIALECTS,
    MAX_DEPTH,
    TAGS,
    Table,
    Tagged,
    decode_table,
    encode_table,
    encode_value,
    f32,
    f64,
)

__all__ = [
    "DIALECTS",
    "FACTS",
    "MAX_DEPTH",
    "TAGS",
    "VERSIONS",
    "Body",
    "Facts",
    "Frame",
    "Header",
    "Heartbeat",
    "Malformed",
    "Method",
    "MethodFact",
    "ProtocolHeader",
    "Table",
    "Tagged",
    "decode_frame",
    "decode_stream",
    "decode_table",
    "encode_frame",
    "encode_table",
    "encode_value",
    "f32",
    "f64",
    "from_plain",
    "load_facts",
    "table_from_plain",
    "table_to_plain",
    "to_plain",
    "to_python",
]
