"""spec/amqp0-9-1.xml: complete, labelled in our own words, true to the facts and to seed 000."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from amqpcodec.spec import Assert, Field, Protocol, Rule, load
from tests.paths import REPO, shared_dir

XML = REPO / "spec" / "amqp0-9-1.xml"

# What the published 0-9-1 does not have.
EXTENSIONS = {
    "constant no-route",
    "class confirm",
    "method connection.blocked",
    "method connection.unblocked",
    "method connection.update-secret",
    "method connection.update-secret-ok",
    "method exchange.bind",
    "method exchange.bind-ok",
    "method exchange.unbind",
    "method exchange.unbind-ok",
    "method basic.nack",
    "method confirm.select",
    "method confirm.select-ok",
}

# Who takes the methods that no published XML has. RabbitMQ's own files say "both" of the first
# two and have the last two the wrong way round; only the behaviour counts (spec/SOURCES.md).
RECEIVED_BY = {
    "connection.blocked": ("client",),
    "connection.unblocked": ("client",),
    "connection.update-secret": ("server",),
    "connection.update-secret-ok": ("client",),
}


@pytest.fixture(scope="module")
def ours() -> Protocol:
    return load(XML)


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    shared = shared_dir()
    path = shared / "facts" / "facts-amqp-0-9-1.json" if shared else None
    if path is None or not path.is_file():
        pytest.skip("the facts are not beside the repository")
    return json.loads(path.read_bytes())


@pytest.fixture(scope="module")
def original() -> bytes:
    """RabbitMQ's extended 0-9-1 XML, without what a web page left before it."""
    shared = shared_dir()
    paths = list((shared / "seeds").glob("000_*")) if shared else []
    if not paths:
        pytest.skip("seed 000 is not beside the repository")
    text = paths[0].read_bytes()
    return text[text.index(b"<?xml") :]


@pytest.fixture(scope="module")
def seed(original: bytes) -> Protocol:
    return load(io.BytesIO(original))


def flat(protocol: Protocol) -> dict[str, Any]:
    """The protocol as one level of path and value, without labels and comment.

    Of rules those alone that name a reply code: ours has no others.
    """

    def reply_codes(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        return tuple(rule for rule in rules if rule.on_failure)

    def fields(path: str, items: tuple[Field, ...]) -> Iterator[tuple[str, Any]]:
        for place, f in enumerate(items):
            yield f"{path}.{f.name}", (place, f.domain, f.type, f.reserved, f.asserts)
            yield f"{path}.{f.name} rules", reply_codes(f.rules)

    def rows() -> Iterator[tuple[str, Any]]:
        for key in ("name", "major", "minor", "revision", "port"):
            yield key, getattr(protocol, key)
        for c in protocol.constants:
            yield f"constant {c.name}", (c.value, c.error_class)
            yield f"constant {c.name} extension", c.extension
        for d in protocol.domains:
            yield f"domain {d.name}", (d.type, d.asserts)
            yield f"domain {d.name} extension", d.extension
        for k in protocol.classes:
            yield f"class {k.name}", (k.index, k.handler, k.chassis)
            yield f"class {k.name} extension", k.extension
            yield from fields(f"property {k.name}", k.fields)
        for k, m in protocol.methods():
            path = f"method {k.name}.{m.name}"
            yield path, (m.index, m.deprecated, m.content, m.chassis)
            yield f"{path} synchronous", m.synchronous
            yield f"{path} responses", m.responses
            yield f"{path} rules", reply_codes(m.rules)
            yield f"{path} extension", m.extension
            yield from fields(f"field {k.name}.{m.name}", m.fields)

    listed = list(rows())
    assert len(listed) == len(dict(listed))
    return dict(listed)


def test_size(ours: Protocol) -> None:
    assert (ours.name, ours.major, ours.minor, ours.revision, ours.port) == ("0-9-1", 0, 9, 1, 5672)
    assert len(ours.classes) == 7
    assert sum(1 for _ in ours.methods()) == 64
    assert [len(c.fields) for c in ours.classes if c.fields] == [14]


def test_extensions(ours: Protocol) -> None:
    marks = {key: value for key, value in flat(ours).items() if key.endswith(" extension")}
    marked = {key.removesuffix(" extension") for key, value in marks.items() if value is not None}
    assert marked == EXTENSIONS
    assert set(marks.values()) == {None, "rabbitmq"}


def test_recover_is_synchronous(ours: Protocol) -> None:
    recover = ours.method("basic.recover")
    assert (recover.synchronous, recover.responses) == (True, ("recover-ok",))


def test_one_odd_number(ours: Protocol) -> None:
    assert ours.method("exchange.unbind-ok").index == 51


def test_reserved_fields(ours: Protocol) -> None:
    for class_, method in ours.methods():
        for field in method.fields:
            place = f"{class_.name}.{method.name}.{field.name}"
            assert field.reserved == bool(re.fullmatch(r"reserved-\d", field.name)), place


def test_asserts(ours: Protocol) -> None:
    name = (Assert("length", "127"), Assert("regexp", "^[a-zA-Z0-9-_.:]*$"))
    assert ours.method("queue.declare").field("queue").asserts == name
    assert ours.method("exchange.declare").field("exchange").asserts == (*name, Assert("notnull"))
    assert ours.method("connection.open").field("virtual-host").asserts == (
        Assert("notnull"),
        Assert("length", "127"),
    )
    assert ours.method("connection.tune-ok").field("channel-max").asserts == (
        Assert("notnull"),
        Assert("le", None, "tune", "channel-max"),
    )


def test_everything_has_a_label_to_make_a_docstring_from(ours: Protocol) -> None:
    labels = {f"constant {c.name}": c.label for c in ours.constants}
    labels |= {f"domain {d.name}": d.label for d in ours.domains}
    for class_ in ours.classes:
        labels[class_.name] = class_.label
        labels |= {f"{class_.name} {field.name}": field.label for field in class_.fields}
    for class_, method in ours.methods():
        labels[f"{class_.name}.{method.name}"] = method.label
        for field in method.fields:
            labels[f"{class_.name}.{method.name}.{field.name}"] = field.label
    assert {key for key, label in labels.items() if len(label) < 10} == set()
    # Neither a full sentence nor longer than one line of a docstring.
    assert {key for key, label in labels.items() if label.endswith(".") or len(label) > 84} == set()


def test_the_facts_say_the_same(ours: Protocol, facts: dict[str, Any]) -> None:
    def extension(text: str | None) -> str | None:
        return "rabbitmq" if text == "rabbitmq-not-in-seed" else text

    def fields(items: list[dict[str, Any]]) -> list[tuple[object, ...]]:
        return [(f["name"], f["domain"], f["type"], f.get("reserved", False)) for f in items]

    def ours_fields(items: tuple[Field, ...]) -> list[tuple[object, ...]]:
        return [(f.name, f.domain, f.type, f.reserved) for f in items]

    head = facts["protocol"]
    assert [head[k] for k in ("major", "minor", "revision", "port")] == [
        ours.major,
        ours.minor,
        ours.revision,
        ours.port,
    ]
    assert [(c.name, c.value, c.error_class, c.extension) for c in ours.constants] == [
        (c["name"], c["value"], c["class"], extension(c["extension"])) for c in facts["constants"]
    ]
    assert [(d.name, d.type, d.extension) for d in ours.domains] == [
        (d["name"], d["type"], extension(d["extension"])) for d in facts["domains"]
    ]
    assert [(c.name, c.index, c.handler, c.extension) for c in ours.classes] == [
        (c["name"], c["id"], c["handler"], extension(c["extension"])) for c in facts["classes"]
    ]
    for class_, fact in zip(ours.classes, facts["classes"], strict=True):
        assert ours_fields(class_.fields) == fields(fact["properties"])
        for method, row in zip(class_.methods, fact["methods"], strict=True):
            name = f"{class_.name}.{method.name}"
            received_by = RECEIVED_BY.get(name, tuple(row["received_by"]))
            assert (
                method.name,
                method.index,
                method.synchronous,
                method.content,
                method.deprecated,
                list(method.responses),
                method.received_by,
                method.extension,
            ) == (
                row["name"],
                row["id"],
                row["synchronous"],
                row["content"],
                row["deprecated"],
                row["responses"],
                received_by,
                extension(row["extension"]),
            ), name
            assert ours_fields(method.fields) == fields(row["fields"]), name


def test_the_original_says_the_same_but_for_the_additions(ours: Protocol, seed: Protocol) -> None:
    mine, theirs = flat(ours), flat(seed)

    added = {
        "constant no-route",
        "constant no-route extension",
        "field connection.blocked.reason",
        "field connection.update-secret.new-secret",
        "field connection.update-secret.reason",
    }
    for name in ("blocked", "unblocked", "update-secret", "update-secret-ok"):
        path = f"method connection.{name}"
        added |= {path, f"{path} synchronous", f"{path} responses", f"{path} extension"}
    added |= {f"{name} rules" for name in added if re.fullmatch(r"(field|method) \S+", name)}
    assert mine.keys() - theirs.keys() == added
    assert theirs.keys() - mine.keys() == set()

    changed = {
        key: (theirs[key], mine[key])
        for key in theirs.keys() & mine.keys()
        if theirs[key] != mine[key]
    }
    allowed: dict[str, tuple[object, object]] = {
        "method basic.recover synchronous": (False, True),
        "method basic.recover responses": ((), ("recover-ok",)),
    }
    for name in EXTENSIONS:  # the original has no marks
        if f"{name} extension" not in added:
            allowed[f"{name} extension"] = (None, "rabbitmq")
    assert changed == allowed

    # flat() keeps the order of fields in the values, and that of all else in the keys.
    assert [key for key in mine if key not in added] == list(theirs)


def test_the_original_has_labels_where_it_has_no_attribute(seed: Protocol) -> None:
    """Its confirm class is written in 0-8's manner."""
    assert seed.method("confirm.select").field("nowait").label != ""
    assert seed.method("basic.publish").field("routing-key").label != ""


def test_the_junk_before_the_original_is_not_swallowed(original: bytes) -> None:
    with pytest.raises(ValueError, match=r"^<spec>:1: "):
        load(io.BytesIO(b"3320 lines\n" + original))


def test_no_text_is_taken_from_the_original(original: bytes) -> None:
    """No label of theirs, and no five words in a row."""
    etree = pytest.importorskip("lxml.etree")

    def texts(data: bytes) -> list[str]:
        root = etree.fromstring(data)
        elements = [e for e in root.iter() if isinstance(e.tag, str)]
        return [t for e in elements for t in (e.get("label"), e.text, e.tail) if t and t.strip()]

    def runs(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"[a-z0-9]+", text.lower())
        return {tuple(words[n : n + 5]) for n in range(len(words) - 4)}

    theirs = texts(original)
    mine = texts(XML.read_bytes())
    assert len(mine) > 250  # labels of fields that repeat, docs
    assert {t.lower() for t in mine} & {t.lower() for t in theirs} == set()
    assert set().union(*map(runs, mine)) & set().union(*map(runs, theirs)) == set()
