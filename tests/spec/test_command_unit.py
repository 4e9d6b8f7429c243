"""python -m amqpcodec.spec: one line a file, and an exit status that says how it went."""

from __future__ import annotations

from pathlib import Path

import pytest

from amqpcodec.spec.__main__ import main
from tests.paths import REPO

XML = str(REPO / "spec" / "amqp0-9-1.xml")


def test_a_good_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([XML]) == 0
    out, err = capsys.readouterr()
    assert out == f"{XML}: AMQP 0-9-1, 7 classes, 64 methods, 25 constants, 24 domains\n"
    assert err == ""


def test_a_bad_file_does_not_hide_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.xml"
    broken.write_text('<amqp major="0"/>')
    assert main([str(broken), str(tmp_path / "none.xml"), XML]) == 1
    out, err = capsys.readouterr()
    assert out.startswith(f"{XML}: AMQP 0-9-1")
    first, second = err.splitlines()
    assert first == f"{broken}:1: <amqp> lacks the attribute 'minor'"
    assert "none.xml" in second


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith("usage:")


# ---- diff

OURS = {name: str(REPO / "spec" / f"amqp{name}.xml") for name in ("0-8", "0-9", "0-9-1")}


def diff(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str]]:
    status = main(["diff", *arguments])
    out, err = capsys.readouterr()
    assert err == ""
    return status, out.splitlines()


@pytest.mark.parametrize("name", OURS)
def test_no_difference(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert diff(capsys, OURS[name], OURS[name]) == (0, [])
    assert diff(capsys, "--all", OURS[name], OURS[name]) == (0, [])


def test_versions(capsys: pytest.CaptureFixture[str]) -> None:
    status, lines = diff(capsys, OURS["0-8"], OURS["0-9"])
    assert status == 1
    for line in (
        "version: 0-8, then 0-9",
        "constant no-route: not there, then 312",
        "method connection.close: number 60, then number 50",
        "method connection.redirect: number 50, then number 42",
        "channel.open-ok argument 1: not there, then channel-id (longstr)",
        "method channel.alert: number 30, then not there",
        "basic.consume argument 8: not there, then filter (table)",
        "class test: number 120, then not there",
        "class message: not there, then number 120",
    ):
        assert line in lines
    back = diff(capsys, OURS["0-9"], OURS["0-8"])[1]
    assert len(back) == len(lines)
    status, lines = diff(capsys, OURS["0-9"], OURS["0-9-1"])
    # Where only names differ, nothing shows on the wire.
    assert not any(line.startswith("basic.publish") for line in lines)
    more = diff(capsys, OURS["0-9"], "--all", OURS["0-9-1"])[1]
    assert "basic.publish argument 1: ticket, then reserved-1" in more
    assert set(lines) < set(more)


BASE = """<amqp major="1" minor="2"><constant name="limit" value="7" class="soft-error"/>
<class name="one" index="1"><field name="p" type="octet"/><field name="q" type="shortstr"/>
<method name="go" index="1" synchronous="1"><chassis name="server" implement="MUST"/>
<response name="went"/><field name="a" type="bit"/><field name="b" type="long"/></method>
<method name="went" index="2"><chassis name="client" implement="MUST"/></method></class></amqp>"""


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('minor="2"', 'minor="3"', "version: 1-2, then 1-3"),
        ('minor="2"', 'minor="2" revision="1"', "version: 1-2, then 1-2-1"),
        ('value="7"', 'value="8"', "constant limit: 7, then 8"),
        ("soft-error", "hard-error", "constant limit: soft-error, then hard-error"),
        ('name="one" index="1"', 'name="one" index="2"', "class one: number 1, then number 2"),
        ('"went" index="2"', '"went" index="3"', "method one.went: number 2, then number 3"),
        ('"p" type="octet"', '"p" type="short"', "one property 1: p (octet), then p (short)"),
        ('<field name="q" type="shortstr"/>', "", "one property 2: q (shortstr), then not there"),
        ('b" type="long"', 'b" type="longlong"', "one.go argument 2: b (long), then b (longlong)"),
        ('name="b" type="long"/>', 'name="b" type="long"/><field name="c" type="bit"/>',
         "one.go argument 3: not there, then c (bit)"),
        ('"went" index="2"', '"went" index="2" content="1"',
         "method one.went: carries no content, then carries content"),
        ('<method name="went" index="2"><chassis name="client" implement="MUST"/></method>',
         '<method name="went" index="2"><field name="t" type="table"/></method>',
         "one.went argument 1: not there, then t (table)"),
    ],
)  # fmt: skip
def test_every_difference_on_the_wire(
    old: str, new: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = tmp_path / "one.xml", tmp_path / "two.xml"
    one.write_text(BASE)
    assert old in BASE
    two.write_text(BASE.replace(old, new))
    assert diff(capsys, str(one), str(two)) == (1, [line])
    status, lines = diff(capsys, "--all", str(one), str(two))
    assert status == 1
    assert line in lines
    status, lines = diff(capsys, str(two), str(one))
    assert (status, len(lines)) == (1, 1)


def test_order_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = tmp_path / "one.xml", tmp_path / "two.xml"
    one.write_text(BASE)
    a, b = '<field name="a" type="bit"/>', '<field name="b" type="long"/>'
    two.write_text(BASE.replace(a + b, b + a))
    status, lines = diff(capsys, str(one), str(two))
    assert status == 1
    assert all(line.startswith("one.go argument ") for line in lines)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('"a" type', '"z" type', "one.go argument 1: a, then z"),
        ('"went"', '"left"', "method one.went: named went, then named left"),
        ('synchronous="1"', "", "method one.go: synchronous, then asynchronous"),
        ('<response name="went"/>', "",
         "method one.go: answered by went, then answered by nothing"),
        ('name="server"', 'name="client"', "method one.go: sent by client, then sent by server"),
        ('class name="one"', 'class name="uno"', "class one: named one, then named uno"),
    ],
)  # fmt: skip
def test_what_does_not_show_on_the_wire(
    old: str, new: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = tmp_path / "one.xml", tmp_path / "two.xml"
    one.write_text(BASE)
    assert old in BASE
    two.write_text(BASE.replace(old, new))
    assert diff(capsys, str(one), str(two)) == (0, [])
    status, lines = diff(capsys, "--all", str(one), str(two))
    assert status == 1
    assert line in lines


@pytest.mark.parametrize(
    "arguments", [["diff"], ["diff", XML], ["diff", XML, XML, XML], ["diff", "--al", XML, XML]]
)
def test_usage_of_diff(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith("usage:")


def test_diff_of_what_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.xml"
    broken.write_text("<amqp>")
    assert main(["diff", XML, str(broken)]) == 2
    assert capsys.readouterr().err.startswith(f"{broken}:1: ")
    assert main(["diff", str(tmp_path / "none.xml"), XML]) == 2
    assert "none.xml" in capsys.readouterr().err
