"""Rows that a filler in the row before moves over the end of every column's memory.

Text of a column lies in one growing block, so a row stands at another place for each length of what
is in the rows before it. What the row says does not depend on that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tests.columns import variants
from tests.columns.batch_rows import decode, pa
from tests.support import borders_amqp0 as legacy
from tests.support import borders_v1 as v1
from tests.support.borders import SHORT
from tests.support.bridge import V0_9_1

#: Bytes of the first block of a column's data, and of larger ones that a pool has.
CAPACITIES = (1024, 2048)


def legacy_method(length: int) -> bytes:
    """A method whose table begins with the filler."""
    return legacy.encode_method(V0_9_1.amqp.encode, V0_9_1, "queue.declare", "arguments", length)


def legacy_header(length: int) -> bytes:
    """A content header whose table begins with the filler."""
    return legacy.encode_header(V0_9_1.amqp.encode, V0_9_1, 60, "headers", length)


def legacy_message(length: int) -> bytes:
    """A message whose headers begin with the filler."""
    return legacy.publish(V0_9_1.amqp.encode_message, V0_9_1, length)


def v1_attach(length: int) -> bytes:
    """A performative with the filler in a map."""
    values = {"name": "n", "handle": 1, "role": v1.amqp.Role.SENDER, "source": v1.amqp.Source("s")}
    entry = next(e for e in v1.v1_gen.TYPES["attach"]["fields"] if e[0] == "properties")
    return v1.as_frame(v1.amqp.Attach, values, entry, length)


def v1_value(length: int) -> bytes:
    """A message whose body is a list that begins with the filler."""
    content = v1.amqp.Message(value=["f" * length, *v1.VALUES])
    return v1.amqp.encode_message(7, v1.amqp.Transfer(handle=1, delivery_id=5), content, 0)


def tags(seed: int) -> bytes:
    """A header with a value of each tag."""
    return legacy.tagged("rabbitmq", seed, 1)


FRAME = ["frame_type", "channel", "method", "arguments", "properties", "payload", "frame", "error"]
MESSAGE = ["channel", "method", "exchange", "properties", "body", "properties_json", "error"]
TYPED = ["headers.a", "headers.text:string", "headers.table", "headers.bytes", "error"]
V1_FRAME = ["channel", "performative", "arguments", "payload", "frame", "error"]
V1_MESSAGE = [
    *("channel", "performative", "handle", "delivery_tag", "message_annotations", "properties"),
    *("application_properties", "body_kind", "body", "value", "footer", "error"),
]
V1_TYPED = ["application_properties.a", "application_properties.k", "properties.to", "error"]


@dataclass(frozen=True)
class Rows:
    """One row with the filler, and others after it.

    Attributes:
        filled: the bytes of the first value, whose filler has so many bytes.
        others: the values after it.
        options: of batch.decode.
    """

    filled: Callable[[int], bytes]
    others: tuple[bytes, ...]
    options: dict[str, Any]

    def rows_of(self, *values: bytes) -> Any:
        """The rows of these values in one batch."""
        return decode(pa.array(values), **self.options)

    @cached_property
    def after(self) -> Any:
        """The other rows, decoded without the first one."""
        return self.rows_of(*self.others)

    @cached_property
    def first(self) -> Any:
        """The first row, with a short filler and without the others."""
        return plain(self.rows_of(self.filled(SHORT)).to_pylist(), SHORT, SHORT)

    def check(self, length: int, others: tuple[bytes, ...] | None = None) -> None:
        """All rows in one batch say what each says alone.

        others: values instead of the case's own after the first one.
        """
        after = self.after if others is None else self.rows_of(*others)
        rows = self.rows_of(self.filled(length), *(self.others if others is None else others))
        count = len(rows) - len(after)
        assert rows.slice(count).equals(after)
        assert plain(rows.slice(0, count).to_pylist(), length, SHORT) == self.first


def plain(value: Any, length: int, to: int) -> Any:
    """The same with another length of the filler, Variants read, and raw frames left out."""
    if isinstance(value, dict):
        if value.keys() == {"value", "metadata"}:
            return plain(variants.read(value["value"], value["metadata"]), length, to)
        return {name: plain(item, length, to) for name, item in value.items() if name != "frame"}
    if isinstance(value, list):
        return [plain(item, length, to) for item in value]
    if isinstance(value, tuple):
        return tuple(plain(item, length, to) for item in value)
    if isinstance(value, str):
        return value.replace("f" * length, "f" * to)
    if isinstance(value, bytes):
        return value.replace(b"f" * length, b"f" * to)
    return value


def cases() -> dict[str, Rows]:
    """Each level, layout and form of tables."""
    rows_by_name = {}
    headers = (legacy_header(1), *map(tags, range(4)))
    frames = (legacy_method(1), *headers)
    messages = (legacy_message(1), legacy_message(20))
    transfers = (v1.delivery(1), v1_value(1), v1.delivery(20))
    for layout in ("plain", "view"):
        for tables in ("json", "variant", "map"):
            how: dict[str, Any] = {"layout": layout, "field_tables": tables}
            v1_how = {**how, "protocol": "1.0"}
            name = f"{layout}-{tables}"
            rows_by_name |= {
                f"methods-{name}": Rows(legacy_method, frames, {**how, "fields": FRAME}),
                f"headers-{name}": Rows(legacy_header, frames, {**how, "fields": FRAME}),
                f"messages-{name}": Rows(
                    legacy_message, messages, {**how, "level": "message", "fields": MESSAGE}
                ),
                f"v1-frames-{name}": Rows(
                    v1_attach, (v1_attach(1), *transfers), {**v1_how, "fields": V1_FRAME}
                ),
                f"v1-messages-{name}": Rows(
                    v1.delivery, transfers, {**v1_how, "level": "message", "fields": V1_MESSAGE}
                ),
                f"v1-values-{name}": Rows(
                    v1_value, transfers, {**v1_how, "level": "message", "fields": V1_MESSAGE}
                ),
            }
        typed = {"layout": layout, "level": "message"}
        rows_by_name[f"typed-{layout}"] = Rows(legacy_message, messages, {**typed, "fields": TYPED})
        rows_by_name[f"v1-typed-{layout}"] = Rows(
            v1.delivery, transfers, {**typed, "protocol": "1.0", "fields": V1_TYPED}
        )
    return rows_by_name


CASES = cases()
