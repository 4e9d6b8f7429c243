"""spec/amqp1-0: complete, labelled in our own words, true to the facts and to seed 001; and the
loader of its grammar."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pytest

pytest.importorskip("lxml")

from amqpcodec.spec import SpecError
from amqpcodec.spec.oasis import Composite, Primitive, Protocol, Restricted
from amqpcodec.spec.oasis_loader import load_part, load_parts
from amqpcodec.spec.oasis_lower import TYPE_NUMBERS, lower
from tests.paths import REPO, shared_dir

PARTS = ("types", "transport", "messaging", "transactions", "security")
XML = [REPO / "spec" / "amqp1-0" / f"{part}.xml" for part in PARTS]


@pytest.fixture(scope="module")
def ours() -> Protocol:
    return load_parts(XML)


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    shared = shared_dir()
    path = shared / "facts" / "facts-amqp-1.0.json" if shared else None
    if path is None or not path.is_file():
        pytest.skip("the facts are not beside the repository")
    return json.loads(path.read_bytes())


@pytest.fixture(scope="module")
def original() -> bytes:
    """Part 3 as it was published, without what a web page left before it."""
    shared = shared_dir()
    paths = list((shared / "seeds").glob("001_*")) if shared else []
    if not paths:
        pytest.skip("seed 001 is not beside the repository")
    text = paths[0].read_bytes()
    return text[text.index(b"<?xml") :]


def of(protocol: Protocol, kind: type) -> dict[str, Any]:
    return {item.name: item for item in protocol.types() if isinstance(item, kind)}


def test_size(ours: Protocol) -> None:
    primitives = of(ours, Primitive).values()
    assert len(primitives) == 24
    assert sum(len(item.encodings) for item in primitives) == 39
    assert len(of(ours, Composite)) == 33
    assert len(of(ours, Restricted)) == 39
    assert len(list(ours.definitions())) == 13


def test_the_facts_say_the_same(ours: Protocol, facts: dict[str, Any]) -> None:
    parts = {item.name: part.name for part in ours.parts for item in part.types}
    parts |= {item.name: part.name for part in ours.parts for item in part.definitions}
    assert {d.name: (parts[d.name], d.value) for d in ours.definitions()} == {
        name: (fact["part"], fact["value"]) for name, fact in facts["definitions"].items()
    }
    assert {
        name: (parts[name], [(e.name, e.code, e.category, e.width) for e in item.encodings])
        for name, item in of(ours, Primitive).items()
    } == {
        name: (
            fact["part"],
            [(e["name"], e["code"], e["category"], e["width"]) for e in fact["encodings"]],
        )
        for name, fact in facts["primitives"].items()
    }
    for kind, group in ((Composite, "composites"), (Restricted, "restricted")):
        mine = of(ours, kind)
        assert mine.keys() == facts[group].keys()
        for name, fact in facts[group].items():
            item = mine[name]
            descriptor = fact.get("descriptor")
            assert (parts[name], item.source, list(item.provides)) == (
                fact["part"],
                fact["source"],
                fact.get("provides", []),
            ), name
            assert (item.descriptor is None) == (descriptor is None)
            if descriptor is not None:
                assert (item.descriptor.symbol, item.descriptor.code) == (
                    descriptor["symbol"],
                    descriptor["code"],
                )
            if kind is Restricted:
                assert ours.primitive(name) == fact["primitive"]
                assert [(c.name, c.value) for c in item.choices] == [
                    (c["name"], c["value"]) for c in fact.get("choices", [])
                ], name
                continue
            assert [
                (f.name, f.type, f.default, f.mandatory, f.multiple, list(f.requires))
                for f in item.fields
            ] == [
                (f["name"], f["type"], f["default"], f["mandatory"], f["multiple"], f["requires"])
                for f in fact["fields"]
            ], name
            for f, row in zip(item.fields, fact["fields"], strict=True):
                assert ours.primitive(f.type) == row["primitive"]
    for archetype, names in facts["provides_index"].items():
        assert set(ours.providers(archetype)) == set(names)


def test_the_original_gives_the_same_model_of_part_3(ours: Protocol, original: bytes) -> None:
    # Labels do not count; all else does, the order of types and choices included.
    assert load_part(io.BytesIO(original)) == ours.parts[2]


def test_every_type_field_and_choice_has_a_label(ours: Protocol) -> None:
    labels = {item.name: item.label for item in ours.types()}
    labels |= {item.name: item.label for item in ours.definitions()}
    for item in ours.types():
        labels |= {f"{item.name}.{f.name}": f.label for f in getattr(item, "fields", ())}
        labels |= {f"{item.name}.{c.name}": c.label for c in getattr(item, "choices", ())}
    assert len(labels) > 250
    assert {key for key, label in labels.items() if len(label) < 4} == set()
    assert {key for key, label in labels.items() if label.endswith(".") or len(label) > 84} == set()


def test_no_text_is_taken_from_the_original(original: bytes) -> None:
    """No label of theirs, and no five words in a row."""
    etree = pytest.importorskip("lxml.etree")

    def texts(data: bytes) -> list[str]:
        elements = [e for e in etree.fromstring(data).iter() if isinstance(e.tag, str)]
        return [t for e in elements for t in (e.get("label"), e.text, e.tail) if t and t.strip()]

    def runs(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"[a-z0-9]+", text.lower())
        return {tuple(words[n : n + 5]) for n in range(len(words) - 4)}

    theirs = texts(original)
    mine = [text for path in XML for text in texts(path.read_bytes())]
    assert len(mine) > 250
    assert {t.lower() for t in mine} & {t.lower() for t in theirs} == set()
    assert set().union(*map(runs, mine)) & set().union(*map(runs, theirs)) == set()


def test_lowered(ours: Protocol) -> None:
    table = lower(ours, "amqpcodec.v1_0")
    assert (table["name"], table["version"]) == ("1.0", (1, 0, 0))
    assert table["headers"] == {"AMQP": (0, 1, 0, 0), "TLS": (2, 1, 0, 0), "SASL": (3, 1, 0, 0)}
    types = {item["python"]: item for item in table["types"]}
    assert len(types) == 40
    header = {field[0]: field for field in types["Header"]["fields"]}
    assert header["priority"][1:5] == (TYPE_NUMBERS["ubyte"], 0, 4, None)
    attach = {field[0]: field for field in types["Attach"]["fields"]}
    assert attach["role"][4] == "Role"
    assert attach["snd_settle_mode"][3:5] == (2, "SenderSettleMode")
    assert types["Source"]["fields"][2][3:5] == ("session-end", "TerminusExpiryPolicy")
    assert types["Rejected"]["fields"][0][1:5] == (TYPE_NUMBERS["composite"], 0, None, "Error")
    closed = {item["python"] for item in table["enums"] if not item["open"]}
    assert closed == {
        *("Role", "SenderSettleMode", "ReceiverSettleMode", "SaslCode"),
        *("TerminusDurability", "TerminusExpiryPolicy"),
    }


HEAD = '<amqp name="x"><section name="s">'
TAIL = "</section></amqp>"
LIST = (
    '<type name="list" class="primitive"><encoding code="0x45" category="fixed" width="0"/></type>'
)
A = '<type name="a" class="composite" source="list"><descriptor name="x:a" code="0x0:0x1"/></type>'
A = A.replace("0x0:0x1", "0x00000000:0x00000001")


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ('<type name="a" class="odd"/>', "class is 'odd'"),
        ('<type name="a" class="primitive"/>', "no encoding"),
        ('<type name="1a" class="primitive"/>', "name is '1a'"),
        ('<type class="primitive"/>', "lacks the attribute 'name'"),
        ('<type name="a" class="composite" source="list"/>', "no descriptor"),
        (A.replace("0x00000001", "1"), "not of the form"),
        (A.replace("x:a", "x a"), "not a symbol"),
        (A.replace("</type>", '<descriptor name="x:b" code="1"/></type>'), "not of the form"),
        (A.replace("<desc", A[A.index("<desc") : A.index("</type>")] + "<desc"), "2 descriptors"),
        (A.replace("</type>", '<choice name="b" value="1"/></type>'), "no <choice>"),
        (A.replace("</type>", '<feild name="b"/></type>'), "<feild> has no place"),
        (A.replace("</type>", '<field name="b" type="list" mandatory="yes"/></type>'), "'yes'"),
        (
            A.replace("</type>", '<field name="b" type="*"/><field name="b" type="*"/></type>'),
            "twice",
        ),
        (A.replace("</type>", '<field name="b" type="z"/></type>'), "type 'z' is unknown"),
        (A.replace("</type>", '<field name="b" type="list" default="x"/></type>'), "is no value"),
        (A + A, "twice"),
        (A + A.replace('"a"', '"b"').replace("x:a", "x:b"), "descriptor 0x1 is there twice"),
        ('<type name="a" class="restricted" source="z"/>', "source 'z' is unknown"),
        (
            '<type name="a" class="restricted" source="b"/>'
            + '<type name="b" class="restricted" source="a"/>',
            "leads back",
        ),
        (LIST.replace("0x45", "0x55"), "does not stand for"),
        (LIST.replace("0x45", "0x145"), "not a number up to 255"),
        (LIST.replace("fixed", "loose"), "category is 'loose'"),
        ("<class/>", "<class> has no place"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(body: str, what: str) -> None:
    base = "" if body.startswith(LIST[:20]) else LIST
    text = f"{HEAD}\n{base}\n{body}{TAIL}"
    with pytest.raises(SpecError, match=rf"^<spec>:\d+: .*{re.escape(what)}"):
        load_parts([io.BytesIO(text.encode())])


def test_the_other_grammar_is_refused() -> None:
    with pytest.raises(SpecError, match="0-x"):
        load_part(REPO / "spec" / "amqp0-9-1.xml")


def test_the_root_is_named_amqp() -> None:
    with pytest.raises(SpecError, match=r"^<spec>:1: the root element is <html>, not <amqp>$"):
        load_part(io.BytesIO(b'<html name="x"/>'))


def test_types_by_their_names(ours: Protocol) -> None:
    (messaging,) = (part for part in ours.parts if part.name == "messaging")
    assert messaging.type("header") is ours.type("header")
    for holder in (messaging, ours):
        with pytest.raises(KeyError, match="no-such-type"):
            holder.type("no-such-type")
    with pytest.raises(KeyError):
        messaging.type("open")  # of the transport


def test_entities_are_refused() -> None:
    text = f'<!DOCTYPE amqp [<!ENTITY e "x">]>{HEAD}{TAIL}'
    with pytest.raises(SpecError, match="declares the entity"):
        load_part(io.BytesIO(text.encode()))
