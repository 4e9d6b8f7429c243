"""Specifications loaded at run time: the bytes and the fast code of the built-in protocols."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

import amqpcodec
from amqpcodec import _codec, v0_8, v0_9, v0_9_1
from amqpcodec.spec import SpecError, load
from amqpcodec.spec.difference import differences
from tests.paths import REPO, shared_dir
from tests.reference import Header, encode_frame
from tests.support.bridge import V0_8, V0_9, V0_9_1, Version, build
from tests.support.generate import Generate

BUILT_IN = {"0-9-1": V0_9_1, "0-9": V0_9, "0-8": V0_8}
each_version = pytest.mark.parametrize("at", BUILT_IN.values(), ids=BUILT_IN)


def xml_of(version: str) -> bytes:
    return (REPO / "spec" / f"amqp{version}.xml").read_bytes()


def seed(number: str) -> str:
    shared = shared_dir()
    paths = list((shared / "seeds").glob(f"{number}_*")) if shared else []
    if not paths:
        pytest.skip(f"seed {number} is not beside the repository")
    return paths[0].read_text(encoding="utf-8", errors="replace")


def same_octets(loaded: Any, at: Version, rounds: int = 5) -> None:
    """Every method and property list that the loaded protocol has, both ways, against the facts."""
    own = Version(at.name, loaded, at.facts, at.tags)
    for ids, cls in loaded.METHODS.items():
        assert at.facts.by_id[ids].name == cls.NAME
        assert cls.FIELDS == at.amqp.METHODS[ids].FIELDS
        for number in range(rounds):
            tame = Generate(Random(f"{cls.NAME}/{number}"), "rabbitmq", True, at.facts, at.tags)
            frame = tame.method(cls.NAME)
            data = encode_frame(7, frame, facts=at.facts)
            method = build(frame, at=own)
            assert loaded.encode(7, method) == at.amqp.encode(7, build(frame, at=at)) == data
            assert loaded.encode(7, loaded.decode(data)[2]) == data
            assert loaded.decode(data, tables="typed")[2] == method
    for class_id in at.facts.properties:
        if not any(class_id == cls.CLASS_ID and cls.HAS_CONTENT for cls in loaded.METHODS.values()):
            continue
        for number in range(4 * rounds):
            tame = Generate(Random(f"{class_id}/{number}"), "rabbitmq", True, at.facts, at.tags)
            frame = tame.header(class_id)
            data = encode_frame(7, frame, facts=at.facts)
            assert loaded.encode(7, build(frame, at=own)) == data
            assert loaded.encode(7, loaded.decode(data)[2]) == data
            assert isinstance(frame, Header)


@each_version
def test_our_own_xml(at: Version) -> None:
    loaded: Any = amqpcodec.load_xml_spec(io.BytesIO(xml_of(at.name)))
    assert set(loaded.METHODS) == set(at.amqp.METHODS)
    same_octets(loaded, at)
    # One kind of class, and the same methods take the fast path.
    assert type(loaded.Basic.Publish) is type(at.amqp.Basic.Publish)
    fast = _codec.fast_signatures(at.amqp.PROTOCOL)
    assert set(_codec.fast_signatures(loaded.PROTOCOL)) == set(fast)
    assert {"basic.publish", "basic.deliver", "basic.properties"} <= set(fast)
    # All that a built-in module has.
    assert loaded.__all__ == at.amqp.__all__
    for name in at.facts.constants:
        python = name.upper().replace("-", "_")
        assert getattr(loaded, python) == getattr(at.amqp, python)
    assert loaded.PROTOCOL_HEADER == at.amqp.PROTOCOL_HEADER
    table, built_in = loaded.PROTOCOL.table, at.amqp.PROTOCOL.table
    assert {**table, "module": built_in["module"]} == built_in


def test_the_extended_0_9_1() -> None:
    """RabbitMQ's own file, as a web page gave it."""
    text = seed("000")
    data = text[text.index("<?xml") :].encode()
    loaded: Any = amqpcodec.load_xml_spec(io.BytesIO(data))
    assert len(loaded.METHODS) == 60
    same_octets(loaded, V0_9_1)
    fast = set(_codec.fast_signatures(v0_9_1.PROTOCOL))
    assert set(_codec.fast_signatures(loaded.PROTOCOL)) == fast
    changes = differences(load(io.BytesIO(data)), load(io.BytesIO(xml_of("0-9-1"))))
    places = {one.where for one in changes if one.wire}
    names = ("blocked", "unblocked", "update-secret", "update-secret-ok")
    assert places == {"constant no-route", *(f"method connection.{name}" for name in names)}


# ---- the class reference of 0-9, a text made from its XML


def xml_of_reference(text: str) -> bytes:
    """The grammar that the headings of the reference tell."""
    text = text.replace("gos", "qos").replace("gueue", "queue")  # as the page was read
    text = text[text.rindex("AMQP version 0-9 specification") :]  # behind the table of contents
    reference: dict[str, dict[str, list[tuple[str, str]]]] = {}
    numbers: dict[str, str] = {"dtx": "100"}  # a cell that the page lost
    numbers |= {
        name: number
        for name, number in re.findall(r"^\| ([a-z]+) \| (\d+) \|", text, re.M)
        if name not in numbers
    }
    for name, method, number in re.findall(r"Method ([a-z]+)\.([a-z-]+) \(ID (\d+)\)", text):
        reference.setdefault(name, {}).setdefault(f"{method} {number}", [])
    properties: dict[str, list[tuple[str, str]]] = {}
    for name, field, kind in re.findall(r"Property ([a-z]+)\.([a-z-]+) \(([a-z-]+)\)", text):
        fields = properties.setdefault(name, [])
        if (field, kind) not in fields:
            fields.append((field, kind))
    pattern = r"Parameter ([a-z]+)\.([a-z-]+)\.([a-z0-9-]+) \(([a-z-]+)\)"
    for name, method, field, kind in re.findall(pattern, text):
        (key,) = (key for key in reference[name] if key.split()[0] == method)
        fields = reference[name][key]
        if (field, kind) not in fields:
            fields.append((field, kind))
    domains = dict(re.findall(r"^\| ([a-z-]+) \| ([a-z]+) \| ?(?:\[|$|[A-Z])", text, re.M))
    wire = {
        "bit",
        "octet",
        "short",
        "long",
        "longlong",
        "shortstr",
        "longstr",
        "timestamp",
        "table",
    }
    out = ['<amqp major="0" minor="9">']
    for name, kind in domains.items():
        if kind in wire and name not in wire:
            out.append(f'<domain name="{name}" type="{kind}"/>')
    out += ['<domain name="class-id" type="short"/>', '<domain name="method-id" type="short"/>']

    def field_of(field: str, kind: str) -> str:
        attribute = "type" if kind in wire or kind == "content" else "domain"
        return f'<field name="{field}" {attribute}="{kind}"/>'

    # The text does not say which methods carry content; the facts do.
    for name, methods in reference.items():
        out.append(f'<class name="{name}" index="{numbers[name]}">')
        out += [field_of(*field) for field in properties.get(name, [])]
        for key, fields in methods.items():
            method, number = key.split()
            content = int(V0_9.facts.methods[f"{name}.{method}"].content)
            out.append(f'<method name="{method}" index="{number}" content="{content}">')
            out += [field_of(*field) for field in fields]
            out.append("</method>")
        out.append("</class>")
    return "\n".join([*out, "</amqp>"]).encode()


def test_the_class_reference_of_0_9() -> None:
    loaded: Any = amqpcodec.load_xml_spec(io.BytesIO(xml_of_reference(seed("003"))))
    assert set(loaded.METHODS) == set(v0_9.METHODS)
    same_octets(loaded, V0_9)
    assert set(_codec.fast_signatures(loaded.PROTOCOL)) == set(
        _codec.fast_signatures(v0_9.PROTOCOL)
    )


# ---- pieces of the files that Perl's AnyEvent-RabbitMQ ships


def pieces(text: str) -> Iterator[tuple[str, str]]:
    """Which version a piece is of, and its methods that are whole."""
    parts = re.split(r"^share/fixed_amqp(\S+)\.xml\s+view on .*$", text, flags=re.M)
    for version, part in zip(parts[1::2], parts[2::2], strict=True):
        for block in re.findall(r"<method\b(?:(?!<method\b).)*?</method>", part, re.S):
            yield version, block


@pytest.mark.parametrize(("number", "least"), [("002", 60), ("004", 1)])
def test_pieces_of_0_8_and_0_9_1(number: str, least: int) -> None:
    count = 0
    for version, block in pieces(seed(number)):
        at = BUILT_IN[version]
        domains = "".join(
            f'<domain name="{domain.name}" type="{domain.type}"/>'
            for domain in load(io.BytesIO(xml_of(version))).domains
        )
        block = re.sub(r"<response\b[^>]*/>", "", block)  # they are in other pieces
        block = re.sub(r"<assert\b[^>]*\bmethod[^>]*/>", "", block)
        head = {"0-8": 'major="8" minor="0"', "0-9-1": 'major="0" minor="9" revision="1"'}[version]
        text = f"<amqp {head}>{domains}"
        model = load(io.BytesIO(f'{text}<class name="c" index="1">{block}</class></amqp>'.encode()))
        ((_, method),) = model.methods()
        layout = tuple((field.name, field.type) for field in method.fields)
        owners = [
            fact
            for fact in at.facts.methods.values()
            if fact.name.endswith(f".{method.name}") and fact.method_id == method.index
            and fact.fields == layout
        ]  # fmt: skip
        assert owners, (version, method.name)
        count += 1
        for fact in owners:
            name = fact.name.partition(".")[0]
            document = f'{text}<class name="{name}" index="{fact.class_id}">{block}</class></amqp>'
            loaded: Any = amqpcodec.load_xml_spec(io.BytesIO(document.encode()))
            assert set(loaded.METHODS) == {(fact.class_id, fact.method_id)}
            assert loaded.METHODS[fact.class_id, fact.method_id].HAS_CONTENT is fact.content
            same_octets(loaded, at, rounds=3)
    assert count >= least


# ---- what cannot become a protocol


def test_too_many_fields_are_told_with_their_line() -> None:
    def spec(count: int) -> io.BytesIO:
        fields = "\n".join(f'<field name="f{n}" type="octet"/>' for n in range(count))
        text = (
            '<amqp major="1" minor="0">\n<class name="c" index="1">\n<method name="m" index="1">\n'
        )
        return io.BytesIO(f"{text}{fields}\n</method></class></amqp>".encode())

    loaded: Any = amqpcodec.load_xml_spec(spec(64))
    method = loaded.C.M(*range(64))
    assert loaded.decode(loaded.encode(1, method))[2] == method
    with pytest.raises(SpecError, match="more than 64 fields") as caught:
        amqpcodec.load_xml_spec(spec(65))
    assert (caught.value.file, caught.value.line) == ("<spec>", 68)


def test_another_frame_end_is_refused() -> None:
    text = '<amqp major="0" minor="9"><constant name="frame-end" value="207"/></amqp>'
    with pytest.raises(SpecError, match=r"'frame-end' is 207; .* only be read and .* with 206"):
        amqpcodec.load_xml_spec(io.BytesIO(text.encode()))


def test_fields_with_names_of_attributes_get_an_underscore() -> None:
    """validate is a method of every class, raw_t the bytes of the table t."""
    fields = "".join(
        f'<field name="{name}" type="{kind}"/>'
        for name, kind in (("t", "table"), ("raw t", "short"), ("validate", "short"))
    )
    text = (
        f'<amqp major="1" minor="0"><class name="c" index="1"><method name="m" index="1">{fields}'
        "</method></class></amqp>"
    )
    loaded: Any = amqpcodec.load_xml_spec(io.BytesIO(text.encode()))
    method = loaded.C.M({"a": 1}, 2, 3)
    assert loaded.C.M.FIELDS == ("t", "raw_t_", "validate_")
    assert (method.raw_t_, method.validate_) == (2, 3)
    assert loaded.decode(loaded.encode(1, method))[2] == method


def test_instances_of_a_loaded_protocol_are_its_own() -> None:
    one, two = (amqpcodec.load_xml_spec(io.BytesIO(xml_of("0-8"))) for _ in range(2))
    first: Any = one
    assert first.Basic.Publish() != two.Basic.Publish()
    assert first.Basic.Publish() != v0_8.Basic.Publish()
    with pytest.raises(amqpcodec.EncodeError, match="of another protocol"):
        first.encode(1, v0_8.Basic.Ack())
