"""The tables of types in docs/ hold every tag, constructor and version that the codec has."""

from __future__ import annotations

import re
from collections.abc import Iterator

from amqpcodec import protocol, types, v1_0
from tests.paths import REPO

PAGE = (REPO / "docs" / "reference" / "wire-types.md").read_text(encoding="utf-8")


def rows(title: str) -> Iterator[list[str]]:
    """The cells of the first table below a heading, without its head."""
    section = PAGE.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    for line in lines[2:]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


def test_versions() -> None:
    versions = {module.strip("`"): cells for module, *cells in rows("Versions")}
    assert set(versions) == {"v0_9_1", "v0_9", "v0_8", "v1_0"}
    for name, (version, header, methods, classes, _) in versions.items():
        codec = protocol(version.split()[0])
        assert codec.__name__ == f"amqpcodec.{name}"
        octets = re.match(r"`AMQP ([0-9 ]+)`", header)
        assert octets
        assert b"AMQP" + bytes(map(int, octets[1].split())) == codec.PROTOCOL_HEADER
        if name == "v1_0":
            assert int(methods.split()[0]) == len(v1_0.TYPES)
        else:
            assert int(methods) == len(codec.METHODS)
            assert int(classes) == len(codec.PROTOCOL.namespaces)


def test_tags_of_field_tables() -> None:
    documented_tags = {
        tag.strip("`"): (own, letter) for tag, own, letter, _ in rows("Field tables of 0-x")
    }
    plain = {"t": "boolean", "D": "decimal", "A": "array", "F": "table"}
    for column in (0, 1):
        want: dict[str, list[str]] = {tag: [] for tag in documented_tags}
        for cls, tags in types.TAGS.items():
            # Int16U and Int64L are for what would have another tag in one dialect.
            special = cls in (types.Int16U, types.Int64L) and column == 1
            if tags[column] is not None and not special:
                want[tags[column].decode()].append(f"`{cls.__name__}`")
        assert {tag: cells[column] for tag, cells in documented_tags.items()} == {
            tag: plain.get(tag) or ", ".join(names) for tag, names in want.items()
        }


def test_constructors_of_1_0() -> None:
    constructors = {
        name.strip("`"): (codes, cls) for name, codes, cls, _ in rows("Values of AMQP 1.0")
    }
    assert constructors.pop("described")[0] == "`00`"
    codes = {name: cells[0].strip("`").split() for name, cells in constructors.items()}
    assert codes == {
        name: [f"{form[0]:02x}" for form in forms]
        for name, forms in v1_0.PROTOCOL.table["primitives"]
    }
    for _, cls in constructors.values():
        for name in re.findall("`([A-Z][A-Za-z0-9]+)`", cls):
            assert name in v1_0.__all__
