"""Times beyond the calendar: the number of the wire in every text output, and no traceback."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from amqpcodec import v1_0 as v1
from tests.cli.conftest import TALK
from tests.support import recording as builder

pa = pytest.importorskip("pyarrow")
pytest.importorskip("rich")

from amqpcodec.cli.times import Clock  # noqa: E402
from tests.support.amqp091_messages import delivery_at  # noqa: E402

#: Milliseconds in a field of seconds: the year 55840.
FAR = 1_700_000_000_000
#: Milliseconds of AMQP 1.0 beyond the year 9999.
FAR_V1 = 300_000_000_000_000
#: Seconds at which packets were captured.
FAR_CAPTURE = 10**12
FORMS = ["table", "json", "csv"]


@pytest.fixture
def far(tmp_path: Path) -> Path:
    path = tmp_path / "far.pcap"
    path.write_bytes(builder.pcap(builder.dialogue([*TALK[:4], ("server", delivery_at(FAR))])))
    return path


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--fields", "method,properties"),
        ("--fields", "method,properties,headers.when"),
        ("--local",),
        ("--relative",),
        ("--sort", "properties"),
    ],
    ids=" ".join,
)
def test_the_number_of_the_wire(run, far, form, level, options):
    result = run("dissect", far, "--level", level, "--format", form, *options)
    assert (result.status, result.err) == (0, "")
    [line] = (line for line in result.lines if str(FAR) in line)
    assert not re.search(rf"{FAR}[0-9]", result.out), "of no other unit"
    if form == "json" and not options:
        properties = json.loads(line)["properties"]
        assert properties["timestamp"] == str(FAR)
        assert json.loads(json.dumps(properties["headers"])) == {"when": {"$timestamp": FAR}}


@pytest.mark.parametrize("form", FORMS)
def test_a_column_of_its_own(run, far, form):
    words = ("--level", "message", "--fields", "method,properties.timestamp", "--format", form)
    result = run("dissect", far, *words)
    assert re.search(rf"\b{FAR}\b", result.lines[-1])


@pytest.mark.parametrize("form", FORMS)
def test_show(run, far, form):
    result = run("show", 6, far, "--format", form)
    assert result.status == 0
    assert len(re.findall(rf"\b{FAR}\b", result.out)) >= 2


@pytest.mark.parametrize("form", FORMS)
def test_amqp_1_0(run, tmp_path, form):
    """Its times are milliseconds, in columns as on the wire."""
    section = v1.encode_value(v1.Properties(creation_time=v1.Timestamp(FAR_V1)))
    payload = section + v1.encode_value(v1.AmqpValue("x"))
    talk = [
        ("client", v1.PROTOCOL_HEADER),
        ("server", v1.PROTOCOL_HEADER),
        ("client", v1.encode(0, v1.Open(container_id="c"))),
        (
            "client",
            v1.encode(0, v1.Begin(next_outgoing_id=0, incoming_window=9, outgoing_window=9)),
        ),
        ("client", v1.encode(0, v1.Attach(name="l", handle=0, role=False))),
        (
            "client",
            v1.encode(
                0,
                v1.Transfer(handle=0, delivery_id=0, delivery_tag=b"1", message_format=0),
                payload,
            ),
        ),
    ]
    path = tmp_path / "v1.pcap"
    path.write_bytes(builder.pcap(builder.dialogue(talk)))
    words = ("--protocol", "1.0", "--level", "message", "--format", form)
    for fields in ("performative,properties", "performative,properties.creation_time"):
        result = run("dissect", path, *words, "--fields", fields)
        assert (result.status, result.err) == (0, "")
        assert re.search(rf"\b{FAR_V1}\b", result.lines[-1])


@pytest.fixture
def late(tmp_path: Path) -> Path:
    """A recording whose packets claim times beyond the calendar: rows have none then."""
    seconds = builder.option("<", 9, b"\0")  # if_tsresol: 10^-0
    blocks = [builder.section(), builder.interface("<", 1, 0, seconds)]
    for number, packet in enumerate(builder.dialogue(TALK)):
        blocks.append(builder.enhanced("<", 0, FAR_CAPTURE + number, packet))
    path = tmp_path / "late.pcapng"
    path.write_bytes(b"".join(blocks))
    return path


@pytest.mark.parametrize(
    "command",
    [
        *(
            ("dissect",),
            ("dissect", "--level", "message"),
            ("dissect", "--relative"),
            ("show", "5"),
        ),
        *(("connections",), ("topology",), ("messages",), ("errors",), ("top",), ("stats",)),
        *(("latency",), ("unacked",), ("messages",), ("dissect", "--local")),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("form", FORMS)
def test_packets_beyond_the_calendar(run, late, command, form):
    if command[0] == "stats" and form == "csv":
        pytest.skip("stats has no CSV")
    result = run(*command, late, "--format", form)
    assert (result.status, result.err) in [(0, ""), (0, result.err)]
    assert not re.search(rf"{FAR_CAPTURE}[0-9]", result.out)


def test_a_page_of_packets_beyond_the_calendar(run, late, tmp_path):
    pytest.importorskip("bokeh")
    assert run("report", late, "-o", tmp_path / "page.html").status == 0


def test_texts_by_hand():
    def texts(value: int, unit: str, name: str) -> list[str | None]:
        return Clock().texts(pa.array([value], pa.timestamp(unit, "UTC")), name)

    second = 10**6
    assert texts(FAR * second, "us", "properties.timestamp") == [str(FAR)]
    assert texts(-FAR * second, "us", "timestamp") == [str(-FAR)]
    assert texts(FAR_V1 * 1000, "us", "properties.creation_time") == [str(FAR_V1)]
    assert texts(FAR_V1 * 1000, "us", "application_properties.when") == [str(FAR_V1)]
    assert texts(FAR * second + 5, "us", "timestamp") == [f"{FAR}.000005"]
    assert texts(FAR, "s", "timestamp") == [str(FAR)]
    assert texts(0, "us", "timestamp") == ["1970-01-01T00:00:00.000000Z"]
