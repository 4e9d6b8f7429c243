"""spec/amqp0-9.xml and amqp0-8.xml: complete, labelled in our own words, true to the facts."""

from __future__ import annotations

import re
from typing import Any

import pytest

from amqpcodec.spec import Field, Protocol, load
from tests.paths import REPO, shared_dir
from tests.reference import VERSIONS

OLD = ("0-9", "0-8")
SIZES = {"0-9": (12, 101, 248, 33), "0-8": (12, 91, 213, 33)}
each_version = pytest.mark.parametrize("version", OLD)


def ours(version: str) -> Protocol:
    return load(REPO / "spec" / f"amqp{version}.xml")


@each_version
def test_size(version: str) -> None:
    protocol = ours(version)
    assert protocol.name == version
    assert (protocol.major, protocol.minor) == {"0-9": (0, 9), "0-8": (8, 0)}[version]
    arguments = sum(len(method.fields) for _, method in protocol.methods())
    properties = sum(len(cls.fields) for cls in protocol.classes)
    counted = (len(protocol.classes), sum(1 for _ in protocol.methods()), arguments, properties)
    assert counted == SIZES[version]


@each_version
def test_everything_has_a_label_to_make_a_docstring_from(version: str) -> None:
    protocol = ours(version)
    labels = {f"constant {c.name}": c.label for c in protocol.constants}
    labels |= {f"domain {d.name}": d.label for d in protocol.domains}
    for class_ in protocol.classes:
        labels[class_.name] = class_.label
        labels |= {f"{class_.name} {field.name}": field.label for field in class_.fields}
    for class_, method in protocol.methods():
        labels[f"{class_.name}.{method.name}"] = method.label
        for field in method.fields:
            labels[f"{class_.name}.{method.name}.{field.name}"] = field.label
    assert {key for key, label in labels.items() if len(label) < 7} == set()
    assert {key for key, label in labels.items() if label.endswith(".") or len(label) > 84} == set()


@each_version
def test_the_facts_say_the_same(version: str) -> None:
    protocol, facts = ours(version), VERSIONS[version].raw

    def fields(items: list[dict[str, Any]]) -> list[tuple[object, ...]]:
        # An elementary domain is the wire type itself.
        return [(f["name"], f["domain"], f["type"], f.get("reserved", False)) for f in items]

    def ours_fields(items: tuple[Field, ...]) -> list[tuple[object, ...]]:
        return [(f.name, f.domain, f.type, f.reserved) for f in items]

    head = facts["protocol"]
    assert {k: getattr(protocol, k) for k in head} == head
    assert [(c.name, c.value, c.error_class, c.extension) for c in protocol.constants] == [
        (c["name"], c["value"], c["class"], c["extension"]) for c in facts["constants"]
    ]
    assert [(d.name, d.type, d.extension) for d in protocol.domains] == [
        (d["name"], d["type"], d["extension"]) for d in facts["domains"]
    ]
    assert [(c.name, c.index, c.handler, c.extension) for c in protocol.classes] == [
        (c["name"], c["id"], c["handler"], c["extension"]) for c in facts["classes"]
    ]
    for class_, fact in zip(protocol.classes, facts["classes"], strict=True):
        assert ours_fields(class_.fields) == fields(fact["properties"])
        for method, row in zip(class_.methods, fact["methods"], strict=True):
            expected = {
                "name": method.name,
                "id": method.index,
                "synchronous": method.synchronous,
                "content": method.content,
                "deprecated": method.deprecated,
                "responses": list(method.responses),
                "received_by": list(method.received_by),
                "extension": method.extension,
            }
            assert expected == {key: row[key] for key in expected}, f"{class_.name}.{method.name}"
            assert ours_fields(method.fields) == fields(row["fields"]), method.name


def runs(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"[a-z0-9]+", text.lower())
    return {tuple(words[n : n + 5]) for n in range(len(words) - 4)}


@each_version
def test_no_text_is_taken_from_the_originals(version: str) -> None:
    """No label of theirs, and no five words in a row."""
    etree = pytest.importorskip("lxml.etree")
    shared = shared_dir()
    seeds = sorted((shared / "seeds").glob("00[0234]_*")) if shared else []
    if not seeds:
        pytest.skip("the seeds are not beside the repository")
    theirs = [seed.read_text(encoding="utf-8", errors="replace") for seed in seeds]
    phrases = set().union(*(runs(text) | runs(re.sub("<[^>]*>", " ", text)) for text in theirs))
    lines = {line.strip().lower() for text in theirs for line in text.splitlines()}
    labels = {label.lower() for t in theirs for label in re.findall(r'label ?= ?"([^"]*)"', t)}
    labels |= {label.lower() for text in theirs for label in re.findall(r"\[([^\]]*)\]", text)}
    root = etree.parse(REPO / "spec" / f"amqp{version}.xml").getroot()
    elements = [element for element in root.iter() if isinstance(element.tag, str)]
    mine = [t for e in elements for t in (e.get("label"), e.text, e.tail) if t and t.strip()]
    assert len(mine) > 250
    assert {text.lower() for text in mine} & (lines | labels) == set()
    assert set().union(*map(runs, mine)) & phrases == set()


def test_messages_of_0_9_carry_their_body_as_an_argument() -> None:
    transfer = ours("0-9").method("message.transfer")
    assert (transfer.fields[-1].name, transfer.fields[-1].type) == ("body", "content")
    assert not transfer.content


def test_ids_that_moved_between_versions() -> None:
    assert ours("0-8").method("connection.close").index == 60
    assert ours("0-9").method("connection.close").index == 50
    assert ours("0-8").method("connection.redirect").index == 50
    assert ours("0-9").method("connection.redirect").index == 42
    assert (ours("0-8").class_(120).name, ours("0-9").class_(120).name) == ("test", "message")
