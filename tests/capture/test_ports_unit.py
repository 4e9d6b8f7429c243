"""Ports that are read for a protocol header that was sent to them, beside 5672."""

from __future__ import annotations

import io
import random
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import capture, v0_8, v0_9, v0_9_1, v1_0
from amqpcodec.capture._outline import Part, apply_outlines, make_outline
from tests.capture.rows import rows
from tests.support import recording as make
from tests.support.batches import rows_of

HELLO = v0_9_1.PROTOCOL_HEADER
START = v0_9_1.encode(0, v0_9_1.Connection.Start())
START_OK = v0_9_1.encode(0, v0_9_1.Connection.StartOk())
BEAT = v0_9_1.encode(0, v0_9_1.Heartbeat())
PUBLISH = v0_9_1.encode_message(1, v0_9_1.Basic.Publish(exchange="x"), body=b"hello")
TALK = [(0, HELLO), (1, START), (0, START_OK), (0, PUBLISH), (1, BEAT)]

V1 = v1_0.PROTOCOL_HEADER
SASL = b"AMQP\3\1\0\0"
TLS = b"AMQP\2\1\0\0"
OPEN = v1_0.encode(0, v1_0.Open(container_id="c"))
V1_TALK = [(0, SASL), (1, SASL), (0, V1), (1, V1), (0, OPEN), (1, OPEN)]
HEADERS = [HELLO, v0_9.PROTOCOL_HEADER, v0_8.PROTOCOL_HEADER, V1, SASL, TLS]

#: What does not depend on where a connection begins to be read.
SAME = ["direction", "src", "dst", "packet_offset", "position", "frame", "flags", "error"]


def talk(port: int, conversation: Any = TALK, client: int = 40000) -> list[bytes]:
    return make.packets(conversation, port, client)


def stats(*packets: bytes, **options: Any) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", capture.CaptureWarning)
        return capture.stats(io.BytesIO(make.pcap(packets)), **options)


# ---- what is detected


@pytest.mark.parametrize("conversation", [TALK, V1_TALK], ids=["0-9-1", "1.0"])
@pytest.mark.parametrize("port", [1, 5673, 30000, 45000])
@pytest.mark.parametrize("level", ["frame", "message"])
def test_a_port_of_a_header_is_read_as_one_that_is_named(port: int, conversation: Any, level: str):
    octets = make.pcap(talk(port, conversation) + talk(port, conversation, 40001))
    fields = [*SAME, "connection_index"]
    fields[fields.index("frame")] = "frame" if level == "frame" else "method"
    expected = rows(octets, fields=fields, level=level, ports=port)
    assert rows(octets, fields=fields, level=level) == expected
    assert {row["connection_index"] for row in expected} == {0, 1}
    assert not [row for row in expected if row["error"] or row["flags"]]


@pytest.mark.parametrize("header", HEADERS)
def test_each_header(header: bytes):
    counted = stats(*talk(5673, [(0, header)]))
    assert counted["detected_ports"] == {"5673": 1}
    assert (counted["connections"], counted["midstream"]) == (1, 0)
    assert counted["frames"] == {"protocol-header": 1}


@pytest.mark.parametrize(
    "payload",
    [
        *(b"AMQP it is not", HELLO[:7], b"amqp\0\0\x09\1", b"AMQP\0\0\x09\2", b"AMQP\1\1\0\x0b"),
        *(b"AMQP\4\1\0\0", b"AMQP\0\1\1\0", b"AMQP\1\1\7\0", b"x" + HELLO, b"AMQP\1\1\0"),
    ],
)
def test_what_is_no_header(payload: bytes):
    counted = stats(*talk(5673, [(0, payload)]))
    assert counted["detected_ports"] == {}
    assert (counted["connections"], counted["skipped"]) == (0, {"other ports": 3})


def test_a_header_within_the_first_segment_is_enough():
    octets = make.pcap(talk(5673, [(0, HELLO + START_OK), (1, START)]))
    assert [row["frame"] for row in rows(octets)] == [HELLO, START_OK, START]


def test_ports_that_are_named_are_exact():
    packets = talk(5673) + talk(5672, client=40001) + talk(5680, V1_TALK, 40002)
    counted = stats(*packets, ports=5672)
    assert counted["detected_ports"] == {}
    assert counted["unread_header_ports"] == {"5673": 1, "5680": 2}
    assert counted["connections"] == 1
    assert counted["skipped"] == {"other ports": len(talk(5673)) + len(talk(5680, V1_TALK))}
    by_default = stats(*packets)
    assert by_default["detected_ports"] == {"5673": 1, "5680": 1}
    assert by_default["unread_header_ports"] == {}
    assert by_default["skipped"] == {"other ports": 4}  # the openings


def test_headers_after_the_first_one_of_a_port_that_is_not_read():
    """Without their openings: who sent them is known by the port."""
    first, second, third = (
        talk(port, [(side, header)], client)[2]
        for port, side, header, client in [
            (5673, 0, HELLO, 40000),
            (5673, 0, V1, 20000),
            (5673, 1, V1, 20001),
        ]
    )
    assert stats(first, second, third, ports=5672)["unread_header_ports"] == {"5673": 2}
    assert stats(second, third, ports=5672)["unread_header_ports"] == {}


def test_what_comes_before_a_header_is_not_read():
    middle = talk(5673, client=40001)[4:]
    packets = [*middle[:2], *talk(5673), middle[2]]
    read_frames = [row["frame"] for row in rows(make.pcap(packets), fields=["frame", "src"])]
    assert read_frames[:3] == [HELLO, START, START_OK]
    counted = stats(*packets)
    assert counted["connections"] == 2  # the other one from where the port is known
    assert counted["midstream"] == 1
    assert counted["skipped"] == {"other ports": 4}


def test_the_port_of_tls_is_left_to_tls():
    counted = stats(*talk(5671))
    assert (counted["detected_ports"], counted["connections"]) == ({}, 0)
    assert counted["skipped"] == {"TLS port": len(talk(5671))}


@pytest.mark.parametrize("port", [5680, 45000])
def test_an_answer_of_a_server_makes_its_client_none(port: int):
    """The headers of a server of 1.0 go to the client's port."""
    packets = talk(port, V1_TALK)
    directions = [row["direction"] for row in rows(make.pcap(packets))]
    assert directions == ["client", "server"] * 3
    assert stats(*packets)["detected_ports"] == {str(port): 1}
    assert stats(*packets, ports=5672)["unread_header_ports"] == {str(port): 2}


@pytest.mark.parametrize("conversation", [TALK, V1_TALK], ids=["0-9-1", "1.0"])
@pytest.mark.parametrize(
    ("port", "client"), [(45000, 20000), (45000, 40000), (5673, 20000), (5673, 40000)]
)
@pytest.mark.parametrize("missing", range(5))
def test_sides_are_those_of_the_opening_or_nobodys(
    port: int, client: int, missing: int, conversation: Any
):
    """Whatever the ports are like, and whichever packets of the beginning are not there."""
    packets = talk(port, conversation, client)[missing:]
    found = rows(make.pcap(packets))
    assert {(row["direction"], int(row["src"].split(":")[1])) for row in found} <= {
        ("client", client),
        ("server", port),
    }
    if missing < 2:
        assert len(found) == len(rows(make.pcap(packets), ports=port))
    counted = stats(*packets)
    assert counted["detected_ports"] == ({str(port): 1} if found else {})
    named = stats(*packets, ports=1)["unread_header_ports"]
    assert set(named) <= {str(port)}
    assert bool(named) == bool(found)


def test_the_first_header_of_a_recording_may_be_the_servers():
    """Of 1.0, where either side sends one: without the opening no one knows whose it is."""
    packets = talk(5680, V1_TALK)
    assert rows(make.pcap(packets[3:])) == []
    assert stats(*packets[3:])["skipped"] == {"other ports": 5}
    assert len(rows(make.pcap(packets[3:]), ports=5680)) == 5
    again = talk(5680, V1_TALK, 40001)
    assert len(rows(make.pcap(packets[3:] + again))) == 6


def test_a_server_that_refuses_a_client_whose_header_is_lost():
    packets = talk(45000, [(0, HELLO), (1, HELLO)], 20000)
    assert [row["direction"] for row in rows(make.pcap([*packets[:2], packets[3]]))] == ["server"]
    assert [row["direction"] for row in rows(make.pcap(packets))] == ["client", "server"]


def test_no_more_openings_than_a_reader_remembers():
    packets = talk(5680, V1_TALK)
    others = [packet for port in range(1, 64) for packet in talk(port, [], 50000 + port)]
    assert len(rows(make.pcap([*packets[:2], *others, *packets[2:]]))) == 6
    others += talk(64, [], 50064)
    assert rows(make.pcap([*packets[:2], *others, *packets[2:]])) == []


def test_a_client_without_acknowledgement_numbers():
    """As made by hand: where the server's direction begins is not known before it goes on."""
    packets = [
        make.segment(make.CLIENT, ("10.0.0.2", 5673), 1001, HELLO),
        make.segment(("10.0.0.2", 5673), make.CLIENT, 5001, START),
    ]
    frame_rows = rows(make.pcap(packets))
    assert [(row["frame"], row["flags"]) for row in frame_rows] == [
        (HELLO, []),
        (START, ["midstream"]),
    ]


def test_no_more_ports_than_a_reader_remembers():
    packets = [packet for port in range(1, 101) for packet in talk(port, [(0, HELLO), (1, START)])]
    counted = stats(*packets)
    assert counted["detected_ports"] == {str(port): 1 for port in range(1, 65)}
    assert counted["skipped"] == {"other ports": 2 * 64 + 4 * 36}
    again = stats(*packets, *talk(64, client=40001))
    assert again["detected_ports"]["64"] == 2


# ---- states, rotations, taps, outlines


@pytest.mark.parametrize("ports", [None, (5672,)])
def test_states_between_any_two_packets(tmp_path: Path, ports: Any):
    packets = talk(5680, V1_TALK) + talk(5673, client=40001) + talk(5672, client=40002)
    path = tmp_path / "x.pcap"
    path.write_bytes(make.pcap(packets))
    expected = rows_of(capture.read(path, ports=ports, order="none"))
    sums = capture.stats(path, ports=ports)
    sums.pop("files")
    at = 24
    for packet in packets:
        at += 16 + len(packet)
        first = capture.Reader(path, ports=ports, order="none")
        before = rows_of(first.read(at))
        second = capture.Reader(path, ports=ports, order="none")
        second.resume(first.state())
        assert second.state() == first.state()
        assert before + rows_of(second) == expected
        counted = second.stats()
        assert {name: counted[name] for name in sums if name != "errors"} == {
            name: n for name, n in sums.items() if name != "errors"
        }


def test_a_state_without_detected_ports_is_one_of_before(tmp_path: Path):
    """Readers of 0.1.0 know no such ports: what they wrote is a state that has none."""
    path = tmp_path / "x.pcap"
    path.write_bytes(make.pcap(talk(5672)))
    states = []
    for ports in (None, 5672):
        reader = capture.Reader(path, ports=ports)
        list(reader.read(end=False))
        states.append(reader.state())
    assert states[0] == states[1]


def damaged_tails() -> list[bytes]:
    """A table of ports, after the counts that a state of its own has: none of these is one."""
    port = b"\xd2\x58"  # 5673, as numbers are written: 7 bits a byte, the sign lowest
    return [b"\0", b"\2" + port, b"\4" + (port + b"\2") * 2, b"\2\0\2", b"\2" + port + b"\1"]


@pytest.mark.parametrize("tail", damaged_tails())
def test_a_wrong_table_of_ports_is_refused(tail: bytes):
    def core() -> Any:
        from amqpcodec import _capture

        return _capture.CaptureReader(
            v0_9_1.PROTOCOL, ["frame"], (5672,), True, True, 100, detect_ports=True
        )

    reader = core()
    reader.begin("x", "x")
    reader.feed(make.pcap(talk(5672)))
    reader.advance()
    while reader.take(True) is not None:
        pass
    state = reader.state()
    core().resume(state)
    again = core()
    with pytest.raises(ValueError, match="damaged"):
        again.resume(state + tail)
    again.resume(state)  # it is as new
    assert again.state() == state
    assert again.counts()["detected_ports"] == {}


@pytest.mark.parametrize("first", [4, 6, 20])
@pytest.mark.parametrize("both", [False, True])
def test_a_rotation_whose_later_files_show_no_header(tmp_path: Path, first: int, both: bool):
    conversation = [*TALK, *[(0, PUBLISH), (1, BEAT)] * 10]
    packets = talk(5673, conversation)
    if both:
        other = talk(5672, conversation, 40001)
        packets = [packet for pair in zip(packets, other, strict=True) for packet in pair]
    timed = make.records(packets)
    paths = [tmp_path / "a.pcap", tmp_path / "b.pcap", tmp_path / "c.pcap"]
    for path, (start, stop) in zip(paths, pairwise((0, first, first + 2, None)), strict=True):
        path.write_bytes(make.pcap(timed[start:stop], nano=True))
    fields = ["connection_index", "direction", "timestamp_ns", "frame", "flags", "error"]
    expected = rows(make.pcap(timed, nano=True), fields=fields)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reader = capture.read(paths[::-1], fields=fields)
        assert rows_of(reader) == expected
    assert reader.not_in_rotation == {}
    assert reader.stats()["midstream"] == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        state, found = None, []
        for path in paths:
            reader = capture.Reader(path, fields=fields, order="none")
            if state is not None:
                reader.resume(state)
            found += rows_of(reader.read(end=False))
            state = reader.state()
    assert sorted(found, key=str) == sorted(expected, key=str)


def test_a_rotation_in_which_a_later_file_shows_the_port(tmp_path: Path):
    """Its connections of before are looked at in the other files as well."""
    middle = [*TALK, *[(0, PUBLISH), (1, BEAT)] * 10]
    old = talk(5673, middle)[8:]
    new = talk(5673, client=40001)
    packets = [*old[:6], *new[:3], *old[6:], *new[3:]]
    timed = make.records(packets)
    paths = [tmp_path / "a.pcap", tmp_path / "b.pcap"]
    for path, piece in zip(paths, (timed[:6], timed[6:]), strict=True):
        path.write_bytes(make.pcap(piece))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reader = capture.read(paths)
        count = len(rows_of(reader))
    assert reader.not_in_rotation == {}
    assert count == len(rows(make.pcap(timed)))


def test_taps_and_workers(tmp_path: Path):
    packets = talk(5673) + talk(5672, client=40001)
    path = tmp_path / "x.pcap"
    path.write_bytes(make.pcap(packets))
    expected = [row["frame"] for row in rows(path.read_bytes())]
    assert len(expected) == 14
    for options in ({"workers": 3}, {"files": "taps"}):
        read_frames = rows_of(capture.read([path], fields=["frame"], **options))
        assert [row["frame"] for row in read_frames] == expected


def test_every_face(tmp_path: Path):
    path = tmp_path / "x.pcap"
    path.write_bytes(make.pcap(talk(5673)))
    assert capture.dataset(path).count_rows() == 7
    with pytest.warns(capture.CaptureWarning, match="no frame of AMQP"):
        assert capture.dataset(path, ports=5672).count_rows() == 0
    pytest.importorskip("polars")
    from amqpcodec.polars import scan_captures

    assert len(scan_captures(path).collect()) == 7


@pytest.mark.parametrize("ports", [None, (5672,), (5673,)])
@pytest.mark.parametrize("seed", range(4))
def test_outlines(tmp_path: Path, ports: Any, seed: int):
    """What follows an outline holds what one holds that reads all, or says that it cannot."""
    chooser = random.Random(seed)
    talks = [
        talk(port, TALK + [(0, PUBLISH), (1, BEAT)] * 30, 40000 + number)
        for number, port in enumerate(chooser.sample([5672, 5673, 5680, 80, 5672, 5673], 5))
    ]
    packets = []
    while any(talks):
        one = chooser.choice([one for one in talks if one])
        packets.append(one.pop(0))
    path = tmp_path / "x.pcap"
    path.write_bytes(make.pcap(packets))

    def reader() -> capture.Reader:
        return capture.Reader([path], fields=["error"], order="none", files="rotation", ports=ports)

    followed = 0
    sequential, before = reader(), None
    for start, stop in pairwise([*range(0, path.stat().st_size, 4000)]):
        list(sequential.read(stop))
        after = sequential.state()
        outline = make_outline(reader(), Part(0, start, stop), 1 << 30)
        follower = reader()
        if before is not None:
            follower.resume(before)
        if outline is not None and apply_outlines(follower, [(Part(0, start, stop), outline)]):
            assert follower.state() == after
            counted = follower.stats(), sequential.stats()
            assert counted[0] | {"files": []} == counted[1] | {"files": []}
            followed += 1
        before = after
    assert followed > 1


# ---- where nothing is AMQP


def test_the_warning_says_where_headers_went(tmp_path: Path):
    path = tmp_path / "x.pcap"
    path.write_bytes(make.pcap(talk(5673)))
    text = r"on port 5672 \(\d packets: other ports, a protocol header was sent to 5673\); ports="
    with pytest.warns(capture.CaptureWarning, match=text):
        list(capture.read(path, ports=5672))
    path.write_bytes(make.pcap(talk(5673)[3:]))
    text = r"on port 5672, and no protocol header on any other \(\d packets: other ports\); p"
    with pytest.warns(capture.CaptureWarning, match=text):
        list(capture.read(path))


def test_every_port_is_read_to_find_those_without_a_header(tmp_path: Path):
    """As the docstring of capture.read says; other traffic of other ports is no AMQP then."""
    path = tmp_path / "x.pcap"
    web = talk(80, [(0, b"GET / HTTP/1.1\r\n\r\n"), (1, bytes(range(256)) * 8)], client=40001)
    path.write_bytes(make.pcap(talk(5673)[4:] + web))
    with pytest.warns(capture.CaptureWarning, match=r"no frame of AMQP on port 5672.*other ports"):
        assert list(capture.read(path)) == []
    every_row = rows_of(capture.read(path, ports=range(1, 65536), fields=["src", "dst", "method"]))
    ends = {(row["src"], row["dst"]) for row in every_row if row["method"] is not None}
    assert {end.rpartition(":")[2] for pair in ends for end in pair} == {"5673", "40000"}


def test_no_warning_before_the_end(tmp_path: Path):
    path = tmp_path / "x.pcap"
    path.write_bytes(make.pcap(talk(80, [(0, b"GET / HTTP/1.1\r\n\r\n")])))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reader = capture.Reader(path)
        list(reader.read(path.stat().st_size // 2))
        list(reader.read(end=False))
    reader = capture.Reader(path)
    list(reader.read(path.stat().st_size // 2))
    with pytest.warns(capture.CaptureWarning, match="no frame of AMQP"):
        list(reader)
