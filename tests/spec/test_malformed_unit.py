"""Whatever is wrong with a file is a SpecError that names the file, the line and the fault."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import pytest

import amqpcodec
from amqpcodec.errors import AMQPCodecError
from amqpcodec.spec import SpecError, load
from amqpcodec.spec.document import MAX_BYTES
from amqpcodec.spec.loader import MAX_FIELDS

MARK = "<!-- HERE -->"  # stands on the line that the error must name
HEAD = '<amqp major="0" minor="9" revision="1" port="5672">\n'

BODIES = {
    "constant-without-name": (
        f'<constant value="1"/> {MARK}',
        "<constant> lacks the attribute 'name'",
    ),
    "constant-without-value": (
        f'<constant name="a"/> {MARK}',
        "<constant> lacks the attribute 'value'",
    ),
    "constant-not-a-number": (
        f'<constant name="a" value="0xCE"/> {MARK}',
        "value is '0xCE', not an integer from 0 to 4294967295",
    ),
    "constant-with-unknown-class": (
        f'<constant name="a" value="1" class="mild error"/> {MARK}',
        "class is 'mild-error', not 'soft-error' or 'hard-error'",
    ),
    "constant-twice": (
        f'<constant name="frame-end" value="1"/>\n<constant name="frame end" value="2"/> {MARK}',
        "constant 'frame-end' is taken already (line 2)",
    ),
    "constant-twice-in-python": (
        f'<constant name="a-b" value="1"/>\n<constant name="a_b" value="2"/> {MARK}',
        "constant 'a_b' is taken already (line 2)",
    ),
    "domain-without-type": (
        f'<domain name="d"/> {MARK}',
        "<domain> lacks the attribute 'type'",
    ),
    "domain-of-unknown-type": (
        f'<domain name="d" type="quad"/> {MARK}',
        "unknown wire type 'quad'",
    ),
    "domain-of-a-domain": (
        f'<domain name="d" type="bit"/>\n<domain name="e" type="d"/> {MARK}',
        "unknown wire type 'd'",
    ),
    "domain-redefines-a-wire-type": (
        f'<domain name="long" type="short"/> {MARK}',
        "domain 'long' redefines a wire type as 'short'",
    ),
    "domain-twice": (
        f'<domain name="d" type="bit"/>\n\n<domain name="d" type="bit"/> {MARK}',
        "domain 'd' is taken already (line 2)",
    ),
    "domain-assert-refers": (
        '<domain name="d" type="bit">\n'
        f'<assert check="le" method="m" field="f"/> {MARK}\n</domain>',
        "the assert of a domain cannot refer to a method or field",
    ),
    "class-without-name": (
        f'<class index="1">{MARK}</class>',
        "<class> lacks the attribute 'name'",
    ),
    "class-without-index": (
        f'<class name="c">{MARK}</class>',
        "<class> lacks the attribute 'index'",
    ),
    "class-index-too-large": (
        f'<class name="c" index="65536">{MARK}</class>',
        "index is '65536', not an integer from 0 to 65535",
    ),
    "class-index-of-many-digits": (
        f'<class name="c" index="{"9" * 5000}">{MARK}</class>',
        "not an integer from 0 to 65535",
    ),
    "class-index-negative": (
        f'<class name="c" index="-1">{MARK}</class>',
        "index is '-1', not an integer",
    ),
    "class-index-of-foreign-digits": (
        f'<class name="c" index="\N{ARABIC-INDIC DIGIT ONE}">{MARK}</class>',
        "not an integer",
    ),
    "class-index-empty": (
        f'<class name="c" index=" ">{MARK}</class>',
        "the attribute 'index' of <class> is empty",
    ),
    "class-index-twice": (
        f'<class name="c" index="1"/>\n<class name="d" index="1"/> {MARK}',
        "class 'd': index 1 is taken already (line 2)",
    ),
    "class-name-twice": (
        f'<class name="c" index="1"/>\n<class name="C" index="2"/> {MARK}',
        "class 'C' is taken already (line 2)",
    ),
    "on-failure-of-no-constant": (
        '<constant name="not-found" value="404" class="soft error"/>\n'
        f'<class name="c" index="1">\n<rule on-failure="no-such"/> {MARK}\n</class>',
        "on-failure names no constant: 'no-such'",
    ),
    "domain-of-a-number-compared-with-text": (
        f'<domain name="d" type="short">\n<assert check="le" value="many"/> {MARK}\n</domain>',
        "value is 'many', not a number, as the field is",
    ),
    "class-in-class": (
        f'<class name="c" index="1">\n<class name="d" index="2"/> {MARK}\n</class>',
        "<class> has no place in <class>",
    ),
    "field-outside": (
        f'<field name="f" type="bit"/> {MARK}',
        "<field> has no place in <amqp>",
    ),
    "misspelt-element": (
        f'<class name="c" index="1">\n<mehtod name="m" index="2"/> {MARK}\n</class>',
        "unknown element <mehtod>",
    ),
}

# The same within a class; the body starts at line 3.
METHODS = {
    "method-without-name": (
        f'<method index="1"/> {MARK}',
        "<method> lacks the attribute 'name'",
    ),
    "method-without-index": (
        f'<method name="m"/> {MARK}',
        "<method> lacks the attribute 'index'",
    ),
    "method-index-too-large": (
        f'<method name="m" index="70000"/> {MARK}',
        "index is '70000', not an integer from 0 to 65535",
    ),
    "method-name-twice": (
        f'<method name="get-ok" index="1"/>\n<method name="get ok" index="2"/> {MARK}',
        "method 'get-ok' is taken already (line 3)",
    ),
    "method-index-twice": (
        f'<method name="m" index="1"/>\n<method name="n" index="1"/> {MARK}',
        "method 'n': index 1 is taken already (line 3)",
    ),
    "method-called-properties": (
        f'<field name="p" type="octet"/>\n<method name="properties" index="1"/> {MARK}',
        "has the name that the class's properties take",
    ),
    "method-flag": (
        f'<method name="m" index="1" content="yes"/> {MARK}',
        "content is 'yes', not '0' or '1'",
    ),
    "name-with-a-dot": (
        f'<method name="m.n" index="1"/> {MARK}',
        "name 'm.n' is not a letter followed by",
    ),
    "name-that-would-be-code": (
        f'<method name="m(): pass #" index="1"/> {MARK}',
        "is not a letter followed by",
    ),
    "name-that-starts-with-a-digit": (
        f'<method name="1m" index="1"/> {MARK}',
        "name '1m' is not a letter followed by",
    ),
    "name-in-foreign-letters": (
        f'<method name="m\N{LATIN SMALL LETTER E WITH ACUTE}" index="1"/> {MARK}',
        "is not a letter followed by",
    ),
    "response-to-nowhere": (
        f'<method name="m" index="1">\n<response name="m-ok"/> {MARK}\n</method>',
        "response 'm-ok' is no method of this class",
    ),
    "response-twice": (
        '<method name="m" index="1">\n<response name="m"/>\n'
        f'<response name="m"/> {MARK}\n</method>',
        "response 'm' is taken already (line 4)",
    ),
    "chassis-of-nobody": (
        f'<method name="m" index="1">\n<chassis name="broker" implement="MAY"/> {MARK}\n</method>',
        "chassis is 'broker', not 'client' or 'server'",
    ),
    "chassis-without-implement": (
        f'<method name="m" index="1">\n<chassis name="client"/> {MARK}\n</method>',
        "<chassis> lacks the attribute 'implement'",
    ),
    "method-in-method": (
        f'<method name="m" index="1">\n<method name="n" index="2"/> {MARK}\n</method>',
        "<method> has no place in <method>",
    ),
    "assert-compares-a-text-with-a-number": (
        '<method name="m" index="1">\n<field name="g" type="short"/>\n'
        f'<field name="f" type="shortstr">\n<assert check="ne" field="g"/> {MARK}\n'
        "</field>\n</method>",
        "the assert compares shortstr with short",
    ),
    "property-twice": (
        f'<field name="p" type="bit"/>\n<field name="p" type="bit"/> {MARK}',
        "field 'p' is taken already (line 3)",
    ),
}

# The same within a method; the body starts at line 4.
FIELDS = {
    "field-without-name": (
        f'<field type="bit"/> {MARK}',
        "<field> lacks the attribute 'name'",
    ),
    "field-without-type": (
        f'<field name="f"/> {MARK}',
        "<field> has neither domain nor type",
    ),
    "field-of-unknown-domain": (
        f'<field name="f" domain="queue-nam"/> {MARK}',
        "unknown domain 'queue-nam'",
    ),
    "field-of-unknown-type": (
        f'<field name="f" type="int"/> {MARK}',
        "unknown wire type 'int'",
    ),
    "field-of-two-minds": (
        f'<field name="f" domain="short" type="long"/> {MARK}',
        "type disagrees with domain 'short', which is 'short'",
    ),
    "field-twice": (
        f'<field name="f" type="bit"/>\n<field name="f" type="bit"/> {MARK}',
        "field 'f' is taken already (line 4)",
    ),
    "field-twice-in-python": (
        f'<field name="global" type="bit"/>\n<field name="global-" type="bit"/> {MARK}',
        "field 'global-' is taken already (line 4)",
    ),
    "field-reserved-flag": (
        f'<field name="f" type="bit" reserved="2"/> {MARK}',
        "reserved is '2', not '0' or '1'",
    ),
    "misspelt-field": (
        f'<feild name="f" domain="short"/> {MARK}',
        "unknown element <feild>",
    ),
    "field-on-several-lines": (
        f'<field\n  name="f"\n  type="int"/> {MARK}',
        "unknown wire type 'int'",
    ),
}

# The same within a field of type shortstr; the body starts at line 5.
ASSERTS = {
    "assert-without-check": (
        f'<assert value="1"/> {MARK}',
        "<assert> lacks the attribute 'check'",
    ),
    "assert-of-unknown-check": (
        f'<assert check="luhn"/> {MARK}',
        "unknown check 'luhn'",
    ),
    "assert-without-length": (
        f'<assert check="length"/> {MARK}',
        "<assert> lacks the attribute 'value'",
    ),
    "assert-of-no-length": (
        f'<assert check="length" value="many"/> {MARK}',
        "value is 'many', not an integer",
    ),
    "assert-without-pattern": (
        f'<assert check="regexp"/> {MARK}',
        "<assert> lacks the attribute 'value'",
    ),
    "assert-of-broken-pattern": (
        f'<assert check="regexp" value="[a-z"/> {MARK}',
        "not a regular expression",
    ),
    "assert-without-operand": (
        f'<assert check="le"/> {MARK}',
        "check 'le' needs a value, or a field (and its method)",
    ),
    "assert-with-method-only": (
        f'<assert check="le" value="1" method="m"/> {MARK}',
        "check 'le' needs a value, or a field (and its method)",
    ),
    "assert-without-choices": (
        f'<assert check="enum"/> {MARK}',
        "an enum assert needs <value> elements",
    ),
    "assert-orders-text": (
        f'<assert check="lt" value="a"/> {MARK}',
        "check 'lt' does not apply to shortstr",
    ),
    "assert-without-rule": (
        f'<assert check="syntax"/> {MARK}',
        "<assert> lacks the attribute 'rule'",
    ),
    "assert-refers-to-no-method": (
        f'<assert check="le" method="x" field="f"/> {MARK}',
        "the assert refers to unknown method 'x'",
    ),
    "assert-refers-to-no-field": (
        f'<assert check="le" method="m" field="x"/> {MARK}',
        "the assert refers to unknown field 'x'",
    ),
    "assert-refers-to-no-field-here": (
        f'<assert check="le" field="x"/> {MARK}',
        "the assert refers to unknown field 'x'",
    ),
}

DOCUMENTS = {
    "empty": ("", 1, "Document is empty"),
    "not-xml": ("AMQP\x01\x01\x00\x09", 1, "Start tag expected"),
    "junk-before": ('3320 lines\n<?xml version="1.0"?>\n<amqp/>', 1, "Start tag expected"),
    "unclosed": (HEAD + "<class>\n</amqp>", 3, "Opening and ending tag mismatch"),
    "cut-off": (HEAD + '<domain name="d"\n', 3, ""),
    "attribute-twice": ('<amqp\nmajor="0"\nmajor="0"/>', 3, "Attribute major redefined"),
    "other-root": ('\n<html major="0"/>', 2, "the root element is <html>, not <amqp>"),
    "amqp-1.0": (
        '<?xml version="1.0"?>\n<amqp xmlns="http://www.amqp.org/schema/amqp.xsd"/>',
        2,
        "the grammar of namespace 'http://www.amqp.org/schema/amqp.xsd' is not AMQP 0-x",
    ),
    "no-major": ('<amqp minor="9"/>', 1, "<amqp> lacks the attribute 'major'"),
    "no-minor": ('<amqp major="0"/>', 1, "<amqp> lacks the attribute 'minor'"),
    "major-no-octet": ('<amqp major="256" minor="9"/>', 1, "not an integer from 0 to 255"),
    "revision-no-number": (
        '<amqp major="0" minor="9" revision="b"/>',
        1,
        "revision is 'b', not an integer from 0 to 255",
    ),
    "port-too-large": (
        '<amqp major="0" minor="9" port="65536"/>',
        1,
        "port is '65536', not an integer from 0 to 65535",
    ),
}


def place(text: str) -> tuple[str, int]:
    """Text and the number of its marked line."""
    (line,) = (n for n, row in enumerate(text.splitlines(), 1) if MARK in row)
    return text, line


def refuse(tmp_path: Path, text: str, line: int, what: str) -> SpecError:
    path = tmp_path / "broken.xml"
    path.write_bytes(text.encode())
    with pytest.raises(SpecError) as caught:
        load(path)
    error = caught.value
    assert what in error.what
    assert error.file == str(path)
    assert error.line == line
    assert str(error) == f"{path}:{line}: {error.what}"
    return error


@pytest.mark.parametrize("name", BODIES)
def test_in_the_protocol(tmp_path: Path, name: str) -> None:
    body, what = BODIES[name]
    refuse(tmp_path, *place(f"{HEAD}{body}\n</amqp>"), what)


@pytest.mark.parametrize("name", METHODS)
def test_in_a_class(tmp_path: Path, name: str) -> None:
    body, what = METHODS[name]
    text = f'{HEAD}<class name="c" index="1">\n{body}\n</class>\n</amqp>'
    refuse(tmp_path, *place(text), what)


@pytest.mark.parametrize("name", FIELDS)
def test_in_a_method(tmp_path: Path, name: str) -> None:
    body, what = FIELDS[name]
    text = (
        f'{HEAD}<class name="c" index="1">\n<method name="m" index="1">\n{body}\n'
        "</method>\n</class>\n</amqp>"
    )
    refuse(tmp_path, *place(text), what)


@pytest.mark.parametrize("kind", ["argument", "property"])
@pytest.mark.parametrize("name", ASSERTS)
def test_in_a_field(tmp_path: Path, name: str, kind: str) -> None:
    body, what = ASSERTS[name]
    field = f'<field name="f" type="shortstr">\n{body}\n</field>\n'
    method = '<method name="m" index="1">\n{}</method>\n'
    inside = method.format(field) if kind == "argument" else field + method.format("")
    refuse(tmp_path, *place(f'{HEAD}<class name="c" index="1">\n{inside}</class>\n</amqp>'), what)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_document(tmp_path: Path, name: str) -> None:
    text, line, what = DOCUMENTS[name]
    refuse(tmp_path, text, line, what)


def test_every_case_is_wrong_in_one_place_only() -> None:
    """The frames that the cases are put into are good by themselves."""
    inside = '<method name="m" index="1">\n<field name="f" type="shortstr"/></method>'
    text = f'{HEAD}<class name="c" index="1">\n{inside}\n</class>\n</amqp>'
    protocol = load(io.BytesIO(text.encode()))
    assert protocol.method("c.m").field("f").type == "shortstr"


def test_too_many_fields(tmp_path: Path) -> None:
    rows = [f'<field name="f{n}" type="bit"/>' for n in range(MAX_FIELDS + 1)]
    start = f'{HEAD}<class name="c" index="1">\n<method name="m" index="1">\n'
    end = "\n</method>\n</class>\n</amqp>"
    document = io.BytesIO((start + "\n".join(rows[:-1]) + end).encode())
    assert len(load(document).method("c.m").fields) == MAX_FIELDS
    text = start + "\n".join(rows) + end
    refuse(tmp_path, text, 3 + len(rows), f"more than {MAX_FIELDS} fields")


def test_too_large_a_file(tmp_path: Path) -> None:
    text = f"{HEAD}</amqp>\n"
    # In pieces: libxml2 has a limit of its own for a single run of text.
    pieces, remainder = divmod(MAX_BYTES - len(text), 4096)
    fits = text + f"<!--{' ' * 4089}-->" * pieces + " " * remainder
    assert len(fits) == MAX_BYTES
    assert load(io.BytesIO(fits.encode())).name == "0-9-1"
    refuse(tmp_path, fits + " ", 1, f"the file is over {MAX_BYTES} bytes")


def test_the_size_of_a_file_is_an_option(tmp_path: Path) -> None:
    text = f"{HEAD}</amqp>\n".encode()
    path = tmp_path / "spec.xml"
    path.write_bytes(text)
    for source in (path, io.BytesIO(text)):
        assert amqpcodec.load_xml_spec(source, max_bytes=len(text)).PROTOCOL.name == "0-9-1"
    for source in (path, io.BytesIO(text)):
        with pytest.raises(SpecError, match=f"the file is over {len(text) - 1} bytes"):
            amqpcodec.load_xml_spec(source, max_bytes=len(text) - 1)


def test_a_large_stream_is_not_read_to_its_end() -> None:
    class Endless(io.RawIOBase):
        read_count = 0

        def readable(self) -> bool:
            return True

        def read(self, size: int = -1) -> bytes:
            piece = b" " * min(size, 65536)
            self.read_count += len(piece)
            return piece

    stream = Endless()
    with pytest.raises(SpecError, match="over"):
        load(stream)
    assert stream.read_count == MAX_BYTES + 1


def test_deep_nesting_is_refused() -> None:
    text = HEAD + "<doc>" * 1000 + "</doc>" * 1000 + "</amqp>"
    with pytest.raises(SpecError, match="depth"):
        load(io.BytesIO(text.encode()))


def test_max_depth() -> None:
    """The elements within each other that are allowed, and one more."""
    text = HEAD + "\n<doc>" * 3 + "</doc>" * 3 + "</amqp>"
    assert amqpcodec.load_xml_spec(io.BytesIO(text.encode()), max_depth=4).VERSION
    with pytest.raises(SpecError, match="more than 3 elements within each other") as caught:
        amqpcodec.load_xml_spec(io.BytesIO(text.encode()), max_depth=3)
    assert caught.value.line == 5  # HEAD ends with a line of its own


def test_a_stream_without_a_name() -> None:
    with pytest.raises(SpecError) as caught:
        load(io.BytesIO(b"<amqp>"))
    assert caught.value.file == "<spec>"


def test_a_missing_file_is_an_oserror(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.xml")


def test_the_error_is_of_the_family_and_survives_pickling() -> None:
    error = SpecError("no good", "a.xml", 7)
    assert isinstance(error, AMQPCodecError)
    assert isinstance(error, ValueError)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.what, again.file, again.line) == (
        "a.xml:7: no good",
        "no good",
        "a.xml",
        7,
    )
