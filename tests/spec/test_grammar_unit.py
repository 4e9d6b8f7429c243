"""The published grammar in all its spellings: 0-8 with blanks, 0-9 with domains, 0-9-1."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from amqpcodec.spec import Assert, Chassis, Constant, Domain, Field, Protocol, Rule, load

# Made up, in the manner of 0-8: blanks in names, labels as text, no elementary domains,
# asserts of every kind, prose of every kind, a domain behind its use.
OLD = """<?xml version="1.0"?>
<!DOCTYPE amqp SYSTEM "amqp.dtd">
<amqp major="8" minor="0" port="5672" comment="in the manner of 0-8">
  prose
  <constant name = "frame  method" value = "1" />
  <constant name="not delivered" value="310" class="soft error">
    what it means
    <doc>more <b index="1">prose</b></doc>
  </constant>
  <class name="test" handler="channel" index="120">
    work with <!-- all
    the --> tests
    <doc name="grammar" type="grammar">a = b</doc>
    <rule name="x"><field name="not a field" type="nothing"/></rule>
    <rule on-failure="not delivered"/>
    <chassis name="server" implement="SHOULD"/>
    <see name="other thing"/>
    <field name="cluster id" type="shortstr"/>
    <method name="integer op" synchronous="1" content="1" index="10">
      do <?pi pi?> it
      <response name="integer op ok"/>
      <!-- <field name="no" type="bit"/> -->
      <field name="ticket" domain="access ticket"/>
      <field name="channel max" type="short">how many <assert check="notnull"/></field>
      <field name="operation" type="octet">
        <assert check="enum"><value name="add">sum</value><value name="min">least</value></assert>
      </field>
      <field name="path" domain="path"/>
      <chassis name="client" implement="MUST"/>
      <scenario>none</scenario>
    </method>
    <method name="integer op ok" index="11" deprecated="1" synchronous="0">
      <field name="channel max" type="short">
        <assert check="le" method="integer op" field="channel max"/>
        <assert check="le" field="other"/>
      </field>
      <field name="other" type="short" reserved="1" domain="short"/>
    </method>
  </class>
  <domain name="access ticket" type="short">
    ticket for a realm
    <doc>prose</doc>
    <assert check="ne" value="0"/>
    <assert check="notnull"/>
    <rule name="whose"/>
  </domain>
  <domain name="path" type="shortstr" label="a path">
    <assert check="null"/>
    <assert check="syntax" rule="path rule"/>
    <assert check="length" value="0127"/>
    <assert check="regexp" value="^[a-zA-Z0-9/-_]+$"/>
  </domain>
</amqp>
"""


@pytest.fixture(scope="module")
def old() -> Protocol:
    return load(io.BytesIO(OLD.encode()))


def spec(attributes: str, body: str = "") -> Protocol:
    return load(io.BytesIO(f"<amqp {attributes}>{body}</amqp>".encode()))


def test_head(old: Protocol) -> None:
    assert (old.name, old.major, old.minor, old.revision, old.port) == ("0-8", 8, 0, 0, 5672)
    assert old.comment == "in the manner of 0-8"


def test_blanks_become_hyphens_and_leading_text_is_the_label(old: Protocol) -> None:
    assert old.constants == (
        Constant("frame-method", 1),
        Constant("not-delivered", 310, "soft-error", "what it means"),
    )
    (test,) = old.classes
    assert (test.name, test.index, test.handler, test.label) == (
        "test",
        120,
        "channel",
        "work with tests",
    )
    assert test.chassis == (Chassis("server", "SHOULD"),)
    assert test.fields == (Field("cluster-id", None, "shortstr"),)
    assert test.rules == (Rule("x"), Rule("", "not-delivered"))


def test_domains(old: Protocol) -> None:
    assert old.domains == (
        Domain(
            "access-ticket",
            "short",
            "ticket for a realm",
            (Assert("ne", "0"), Assert("notnull")),
            rules=(Rule("whose"),),
        ),
        Domain(
            "path",
            "shortstr",
            "a path",
            (
                Assert("null"),
                Assert("syntax", "path-rule"),
                Assert("length", "127"),
                Assert("regexp", "^[a-zA-Z0-9/-_]+$"),
            ),
        ),
    )


def test_methods(old: Protocol) -> None:
    request, answer = old.class_("test").methods
    assert (request.name, request.index, request.label) == ("integer-op", 10, "do it")
    assert (request.synchronous, request.content, request.deprecated) == (True, True, False)
    assert (answer.synchronous, answer.content, answer.deprecated) == (False, False, True)
    assert request.responses == ("integer-op-ok",)
    assert request.chassis == (Chassis("client", "MUST"),)
    ticket, path = old.domains
    assert request.fields == (
        Field(
            "ticket",
            "access-ticket",
            "short",
            "ticket for a realm",
            asserts=ticket.asserts,
            rules=ticket.rules,
        ),
        Field("channel-max", None, "short", "how many", asserts=(Assert("notnull"),)),
        Field(
            "operation",
            None,
            "octet",
            asserts=(Assert("enum", choices=(("add", 1), ("min", 2))),),
        ),
        Field("path", "path", "shortstr", "a path", asserts=path.asserts),
    )
    assert answer.fields == (
        Field(
            "channel-max",
            None,
            "short",
            asserts=(
                Assert("le", None, "integer-op", "channel-max"),
                Assert("le", None, None, "other"),
            ),
        ),
        Field("other", None, "short", reserved=True),
    )


@pytest.mark.parametrize(
    ("attributes", "name"),
    [
        ('major="8" minor="0"', "0-8"),
        ('major="0" minor="8"', "0-8"),
        ('major="0" minor="9"', "0-9"),
        ('major = "0" minor = "9" revision = "0"', "0-9"),
        ('major = "0" minor = "9" revision = "1"', "0-9-1"),
        ('major="0" minor="91"', "0-91"),
    ],
)
def test_name_of_the_version(attributes: str, name: str) -> None:
    assert spec(attributes).name == name


def test_what_the_head_may_leave_out() -> None:
    bare = spec('major="0" minor="9"')
    assert (bare.revision, bare.port, bare.comment) == (0, 5672, "")


def test_a_domain_gives_its_asserts_first_and_its_label_last() -> None:
    body = """
      <domain name="d" type="shortstr" label="of the domain"><assert check="notnull"/></domain>
      <domain name="bit" type="bit" label="single bit"/>
      <class name="c" index="1"><method name="m" index="1">
        <field name="a" domain="d" label="its own"><assert check="length" value="9"/></field>
        <field name="b" domain="d"/>
        <field name="c" domain="bit"/>
        <field name="d" type="bit"/>
      </method></class>"""
    a, b, c, d = spec('major="0" minor="9"', body).method("c.m").fields
    assert (a.label, a.asserts) == ("its own", (Assert("notnull"), Assert("length", "9")))
    assert (b.label, b.asserts) == ("of the domain", (Assert("notnull"),))
    assert (c.label, c.domain, c.type) == ("", None, "bit")
    assert (d.label, d.domain, d.type) == ("", None, "bit")


def test_choices_are_numbered_in_order_from_1_or_from_the_number_before() -> None:
    body = """<domain name="d" type="octet"><assert check="enum">
      <value name="a"/><value name="b" value="7"/><value name="c"/></assert></domain>"""
    (domain,) = spec('major="0" minor="9"', body).domains
    assert domain.asserts == (Assert("enum", choices=(("a", 1), ("b", 7), ("c", 8))),)


def test_rules_of_a_domain_come_before_those_of_the_field() -> None:
    body = """
      <domain name="d" type="shortstr"><rule name="x" on-failure="not-found"/></domain>
      <class name="c" index="1"><method name="m" index="1">
        <rule name="whole" on-failure="not found"/>
        <field name="f" domain="d"><rule name="y"/></field>
      </method></class>
      <constant name="not-found" value="404" class="soft-error"/>"""
    method = spec('major="0" minor="9"', body).method("c.m")
    assert method.rules == (Rule("whole", "not-found"),)
    assert method.field("f").rules == (Rule("x", "not-found"), Rule("y"))


def test_a_fragment_without_reply_codes_may_name_them() -> None:
    body = '<class name="c" index="1"><rule on-failure="not-found"/></class>'
    assert spec('major="0" minor="9"', body).class_("c").rules == (Rule("", "not-found"),)


def test_wire_types_of_every_version() -> None:
    names = ["bit", "octet", "short", "long", "longlong"]
    names += ["shortstr", "longstr", "timestamp", "table", "content"]
    fields = "".join(f'<field name="{name}" type="{name}"/>' for name in names)
    body = f'<class name="c" index="0"><method name="m" index="0">{fields}</method></class>'
    assert [
        field.type for field in spec('major="0" minor="9"', body).method((0, 0)).fields
    ] == names


def test_the_largest_numbers() -> None:
    body = (
        '<constant name="k" value="4294967295"/>'
        '<class name="c" index="65535"><method name="m" index="65535"/></class>'
    )
    protocol = spec('major="255" minor="255" revision="255" port="65535"', body)
    assert protocol.constant("k").value == 4294967295
    assert protocol.method((65535, 65535)).name == "m"
    assert (protocol.name, protocol.port) == ("255-255-255", 65535)


def test_a_class_passes_its_extension_on() -> None:
    body = """<class name="c" index="1" extension="rabbitmq"><method name="m" index="1"/>
      <method name="n" index="2" extension="qpid"/></class>
      <class name="d" index="2"><method name="m" index="1"/></class>"""
    protocol = spec('major="0" minor="9"', body)
    extensions = [method.extension for _, method in protocol.methods()]
    assert extensions == ["rabbitmq", "qpid", None]


def test_a_class_without_content_may_have_a_method_called_properties() -> None:
    body = '<class name="c" index="1"><method name="properties" index="1"/></class>'
    assert spec('major="0" minor="9"', body).method("c.properties").index == 1


def test_more_bits_than_an_octet_holds() -> None:
    fields = "".join(f'<field name="b{n}" type="bit"/>' for n in range(20))
    body = f'<class name="c" index="1"><method name="m" index="1">{fields}</method></class>'
    assert len(spec('major="0" minor="9"', body).method("c.m").fields) == 20


def test_every_kind_of_source(tmp_path: Path, old: Protocol) -> None:
    path = tmp_path / "old.xml"
    path.write_text(OLD)
    assert load(path) == old
    assert load(str(path)) == old
    with path.open("rb") as binary:
        assert load(binary) == old
    with path.open(encoding="utf-8") as text:
        assert load(text) == old
    # A text stream is decoded already: the encoding that the file declares is history.
    declared = OLD.replace("?>", ' encoding="utf-16"?>', 1)
    assert load(io.StringIO(declared)) == old


def test_a_stream_that_gives_little_at_a_time(old: Protocol) -> None:
    class Trickle(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(min(7, size if size is not None and size >= 0 else 7))

    assert load(Trickle(OLD.encode())) == old
