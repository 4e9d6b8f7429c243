"""The loader reads the file it is given, and nothing that the file points to."""

from __future__ import annotations

import io
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from amqpcodec.spec import SpecError, load

AMQP = '<amqp major="0" minor="9"{}><constant name="{}" value="1"/></amqp>\n'


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A web server that must not be called."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def spec(doctype: str, attributes: str = "", name: str = "a") -> io.BytesIO:
    return io.BytesIO(f'<?xml version="1.0"?>\n{doctype}\n{AMQP.format(attributes, name)}'.encode())


@pytest.mark.parametrize(
    ("doctype", "entity"),
    [
        ('<!DOCTYPE amqp [\n<!ENTITY e "text">\n]>', "e"),
        ('<!DOCTYPE amqp [\n<!ENTITY e SYSTEM "file:///etc/hostname">\n]>', "e"),
        ('<!DOCTYPE amqp [\n<!ENTITY e PUBLIC "p" "http://127.0.0.1/x">\n]>', "e"),
        ('<!DOCTYPE amqp [\n<!ENTITY % p SYSTEM "http://127.0.0.1/x"> %p;\n]>', "p"),
        ('<!DOCTYPE amqp SYSTEM "a.dtd" [\n<!ENTITY e "text">\n]>', "e"),
        ('<!DOCTYPE amqp [\n<!NOTATION n SYSTEM "x"> <!ENTITY e SYSTEM "y" NDATA n>\n]>', "e"),
    ],
)
def test_a_declared_entity_is_refused_used_or_not(doctype: str, entity: str) -> None:
    with pytest.raises(SpecError) as caught:
        load(spec(doctype))
    assert str(caught.value) == (
        f"<spec>:3: the DOCTYPE declares the entity '{entity}'; entities are not read"
    )


def test_an_entity_bomb_is_refused_before_it_grows() -> None:
    rows = ['<!ENTITY e0 "0123456789">']
    rows += [f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12)]
    with pytest.raises(SpecError, match=r"^<spec>:3: the DOCTYPE declares the entity 'e0'"):
        load(spec("<!DOCTYPE amqp [\n" + "\n".join(rows) + "\n]>", ' comment="&e11;"'))


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1", "windows-1252", "shift_jis"])
def test_the_encoding_is_no_way_around(encoding: str) -> None:
    text = (
        f'<?xml version="1.0" encoding="{encoding}"?>\n<!DOCTYPE amqp [<!ENTITY e "x">]>\n'
        + AMQP.format(' comment="&e;"', "a")
    )
    with pytest.raises(SpecError, match="declares"):
        load(io.BytesIO(text.encode(encoding)))


@pytest.mark.parametrize("attributes", [' comment="&e;"', ' comment="a &e; b"'])
def test_an_entity_of_an_outer_dtd_is_refused_in_attributes(attributes: str) -> None:
    """There libxml2 would drop the reference and go on."""
    with pytest.raises(SpecError, match=r"^<spec>:3: entities are not read: Entity 'e' not"):
        load(spec('<!DOCTYPE amqp SYSTEM "amqp.dtd">', attributes))


def test_an_entity_of_an_outer_dtd_is_refused_in_text() -> None:
    text = '<!DOCTYPE amqp SYSTEM "amqp.dtd">\n<amqp major="0" minor="9">\n<doc>&e;</doc></amqp>'
    with pytest.raises(SpecError, match=r"^<spec>:3: entities are not read: Entity 'e' not"):
        load(io.BytesIO(text.encode()))


def test_an_entity_that_nobody_declares_is_refused() -> None:
    with pytest.raises(SpecError, match=r"^<spec>:3: Entity 'e' not defined"):
        load(spec("", ' comment="&e;"'))


def test_the_characters_that_xml_itself_names_are_read() -> None:
    assert load(spec("", ' comment="&lt;&#65;&amp;"')).comment == "<A&"


def test_an_outer_dtd_is_not_loaded(tmp_path: Path) -> None:
    """The DOCTYPE of the published files is fine; the DTD that it names is left alone."""
    dtd = tmp_path / "amqp.dtd"
    # Were it read, this would be a syntax error, and the attribute would come in.
    dtd.write_text('<!ATTLIST amqp comment CDATA "from the DTD">\n<!ELEMENT')
    protocol = load(spec(f'<!DOCTYPE amqp SYSTEM "{dtd.as_uri()}">'))
    assert protocol.comment == ""
    assert protocol.constant("a").value == 1


def test_nothing_is_fetched(listener: socket.socket) -> None:
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/amqp.dtd"
    assert load(spec(f'<!DOCTYPE amqp SYSTEM "{url}">')).name == "0-9"
    with pytest.raises(SpecError):
        load(spec(f'<!DOCTYPE amqp [<!ENTITY % p SYSTEM "{url}"> %p;]>'))
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_an_inclusion_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "more.xml").write_text('<constant name="b" value="2"/>')
    text = (
        '<amqp major="0" minor="9" xmlns:xi="http://www.w3.org/2001/XInclude">'
        f'<xi:include href="{(tmp_path / "more.xml").as_uri()}"/>'
        '<constant name="a" value="1"/></amqp>'
    )
    protocol = load(io.BytesIO(text.encode()))
    assert [constant.name for constant in protocol.constants] == ["a"]
