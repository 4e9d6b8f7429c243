"""The facts of each version: names, ids, wire types. Facts only; the codec is in frames.py."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FACTS_FILE = Path(__file__).with_name("facts-0-9-1.json")


@dataclass(frozen=True)
class MethodFact:
    """One method: its name as "class.method" and its fields as (name, wire type) in wire order."""

    name: str
    class_id: int
    method_id: int
    fields: tuple[tuple[str, str], ...]
    reserved: frozenset[str]
    content: bool


@dataclass(frozen=True)
class Facts:
    """Everything the reference needs to know of a protocol version."""

    methods: dict[str, MethodFact]
    by_id: dict[tuple[int, int], MethodFact]
    properties: dict[int, tuple[tuple[str, str], ...]]
    constants: dict[str, int]
    raw: dict[str, Any] = field(repr=False)


def load_facts(path: Path = FACTS_FILE) -> Facts:
    """Read a facts file."""
    raw = json.loads(path.read_text(encoding="utf-8"))
    methods: dict[str, MethodFact] = {}
    properties: dict[int, tuple[tuple[str, str], ...]] = {}
    for klass in raw["classes"]:
        if klass["properties"]:
            properties[klass["id"]] = tuple((p["name"], p["type"]) for p in klass["properties"])
        for method in klass["methods"]:
            fact = MethodFact(
                name=f"{klass['name']}.{method['name']}",
                class_id=klass["id"],
                method_id=method["id"],
                fields=tuple((f["name"], f["type"]) for f in method["fields"]),
                reserved=frozenset(f["name"] for f in method["fields"] if f["reserved"]),
                content=method["content"],
            )
            methods[fact.name] = fact
    return Facts(
        methods=methods,
        by_id={(m.class_id, m.method_id): m for m in methods.values()},
        properties=properties,
        constants={c["name"]: c["value"] for c in raw["constants"]},
        raw=raw,
    )


FACTS = load_facts()

#: Version -> its facts.
VERSIONS = {
    "0-9-1": FACTS,
    **{name: load_facts(FACTS_FILE.with_name(f"facts-{name}.json")) for name in ("0-9", "0-8")},
}
