"""Random neutral values, with the edges of every type more often than chance would have them.

Driven by a ``random.Random``: a seeded one, or hypothesis' own (st.randoms), which shrinks.
"""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from random import Random
from typing import Any

from tests.reference import FACTS, TAGS, Facts, Header, Method, Table, Tagged
from tests.reference.plain import LAST_SECOND

_BITS = {"octet": 8, "short": 16, "long": 32, "longlong": 64}
_WORDS = ["", "a", "orders", "x-match", "größe", "\u4e2d\u6587", "\U0001f407", "nul\0nul", " "]


class Generate:
    """Values for one dialect. ``faithful``: only what a Python value can ask for (no odd boolean,
    no duplicate name, no NaN with a payload), so that building it gives the same bytes."""

    def __init__(
        self,
        random: Random,
        dialect: str = "rabbitmq",
        faithful: bool = False,
        facts: Facts = FACTS,
        tags: str = TAGS,
    ) -> None:
        self.random = random
        self.dialect = dialect
        self.faithful = faithful
        self.facts = facts
        self.tags = tags

    # ---- scalars

    def uint(self, bits: int) -> int:
        top = 2**bits - 1
        if self.random.randrange(3) == 0:
            return self.random.choice([0, 1, 2 ** (bits - 1) - 1, 2 ** (bits - 1), top])
        return self.random.randrange(2 ** self.random.randint(1, bits))

    def sint(self, bits: int) -> int:
        half = 2 ** (bits - 1)
        if self.random.randrange(3) == 0:
            return self.random.choice([0, -1, half - 1, -half])
        value = self.random.randrange(2 ** self.random.randint(1, bits - 1))
        return value if self.random.randrange(2) else -value

    def octets(self, most: int) -> bytes:
        kind = self.random.randrange(8)
        if kind == 0:
            return self.random.choice([b"", b"\xff" * most, b"\xc3", b"\xed\xa0\x80", b"\x80a"])[
                :most
            ]
        if kind == 1:
            size = self.random.randrange(most + 1)
            return bytes(self.random.randrange(256) for _ in range(size))
        if kind == 2:
            return (b"k" * most)[: most - self.random.randrange(2)]
        return self.random.choice(_WORDS).encode()[:most]

    def seconds(self) -> int:
        if self.random.randrange(3) == 0:
            return self.random.choice([0, LAST_SECOND, LAST_SECOND + 1, 2**63, 2**64 - 1])
        return self.random.randrange(2**33)

    # ---- tables

    def tagged(self, depth: int = 3, tags: str = "") -> Tagged:
        tags = tags or self.tags
        tag = self.random.choice(tags if depth else tags.translate({65: None, 70: None}))
        return tag, self._content(tag, depth)

    def _content(self, tag: str, depth: int) -> Any:
        if tag == "t":
            odd = not self.faithful and self.random.randrange(8) == 0
            return self.random.randrange(256) if odd else self.random.randrange(2)
        if tag in "BuiT":
            return self.seconds() if tag == "T" else self.uint({"B": 8, "u": 16, "i": 32}[tag])
        if tag in "bUIL":
            return self.sint({"b": 8, "U": 16, "I": 32, "L": 64}[tag])
        if tag == "l":
            return self.sint(64) if self.dialect == "rabbitmq" else self.uint(64)
        if tag == "s":
            return self.sint(16) if self.dialect == "rabbitmq" else self.octets(255)
        if tag in "fd":
            return self._float(tag)
        if tag == "D":
            return self.random.choice([0, 2, 9, 255, self.uint(8)]), self.sint(32)
        if tag in "Sx":
            return self.octets(self.random.choice([5, 40, 300]))
        if tag == "A":
            return [self.tagged(depth - 1) for _ in range(self.random.randrange(4))]
        if tag == "F":
            return self.table(depth - 1)
        return None

    def _float(self, tag: str) -> bytes:
        size = 4 if tag == "f" else 8
        raw = self.uint(8 * size).to_bytes(size, "big")
        (value,) = struct.unpack(">f" if tag == "f" else ">d", raw)
        if self.faithful and value != value:
            return bytes.fromhex("3fc00000" + "00000000" * (size // 8))
        return raw

    def table(self, depth: int = 3, most: int = 5) -> Table:
        table: Table = []
        for _ in range(self.random.randrange(most + 1)):
            key = self.octets(self.random.choice([6, 255]))
            if self.faithful and any(key == k for k, _ in table):
                continue
            if table and not self.faithful and self.random.randrange(8) == 0:
                key = table[0][0]
            table.append((key, self.tagged(depth)))
        return table

    def every_tag(self, depth: int = 2) -> Table:
        """One entry of each tag, in a random order."""
        tags = list(TAGS)
        self.random.shuffle(tags)
        return [(tag.encode(), (tag, self._content(tag, depth))) for tag in tags]

    # ---- fields and frames

    def field(self, wire_type: str) -> Any:
        if wire_type == "bit":
            return self.random.randrange(2)
        if wire_type == "shortstr":
            return self.octets(255)
        if wire_type == "longstr":
            return self.octets(self.random.choice([10, 300, 3000]))
        if wire_type == "timestamp":
            return self.seconds()
        if wire_type == "table":
            return self.table()
        if wire_type == "content":
            return self.random.randrange(2), self.octets(self.random.choice([10, 300, 3000]))
        return self.uint(_BITS[wire_type])

    def channel(self) -> int:
        return self.uint(16)

    def method(self, name: str) -> Method:
        return Method(name, {n: self.field(t) for n, t in self.facts.methods[name].fields})

    def header(self, class_id: int = 60) -> Header:
        share = self.random.choice([0, 1, 2, 3, 4])
        properties = {
            name: self.field(wire_type)
            for name, wire_type in self.facts.properties[class_id]
            if self.random.randrange(4) < share
        }
        weight = self.random.choice([0, 0, 0, 1, 65535])
        return Header(self.uint(64), properties, class_id, weight)

    # ---- plain Python values

    def plain(self, depth: int = 3) -> Any:
        """A Python value that has a tag in this dialect."""
        kind = self.random.randrange(12 if depth else 10)
        bits = 64 if self.dialect == "rabbitmq" else 65
        if kind == 0:
            return self.random.choice([True, False, None])
        if kind in (1, 2):
            value = self.sint(self.random.choice([8, 32, 33, bits]))
            return max(value, -(2**63))
        if kind == 3:
            return self.random.choice([0.0, -0.0, 1.5, -1e300, 5e-324, float("inf"), float("nan")])
        if kind == 4:
            return Decimal(self.sint(32)).scaleb(-self.random.choice([0, 1, 10, 255]))
        if kind in (5, 6):
            return self.random.choice(_WORDS)
        if kind == 7:
            return self.octets(20)
        if kind in (8, 9):
            zone = self.random.choice([UTC, timezone(timedelta(hours=-5, minutes=30))])
            start = datetime(1970, 1, 2, tzinfo=zone)
            return start + timedelta(microseconds=self.uint(57))
        if kind == 10:
            return [self.plain(depth - 1) for _ in range(self.random.randrange(4))]
        return self.plain_table(depth - 1)

    def plain_table(self, depth: int = 3) -> dict[str, Any]:
        return {
            self.random.choice(_WORDS) + str(index): self.plain(depth)
            for index in range(self.random.randrange(5))
        }
