"""Events of connections of 0-9-1, each by what was said on the wire."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from amqpcodec import v0_9_1 as amqp
from tests.support.event_talk import (
    TO_CLIENT,
    TO_SERVER,
    client,
    close,
    consume,
    deliver,
    login,
    lost,
    open_channel,
    publish,
    reset,
    select,
    server,
    short,
    timed,
)
from tests.support.recording import ACK, FIN, RST, packets
from tests.support.route_talk import send

Read = Callable[..., list[dict[str, Any]]]
START = [*login(), *open_channel()]
ENDS = [(end, side) for end in (lost, reset) for side in (TO_SERVER, TO_CLIENT)]


def test_a_connection_from_its_login_to_its_close(read: Read) -> None:
    rows = read(lost([*START, *close()], TO_SERVER))
    assert short(rows) == ["connection-opened", "channel-opened", "connection-closed"]
    assert [row["event_id"] for row in rows] == [1, 2, 3]
    assert {row["connection_name"] for row in rows} == {"worker"}
    assert {(row["user"], row["virtual_host"]) for row in rows} == {("guest", "/")}
    assert rows[0]["heartbeat_s"] == 60
    assert rows[0]["elapsed_us"] == 6000
    assert rows[1]["elapsed_us"] == 1000
    assert (rows[2]["initiator"], rows[2]["reply_code"], rows[2]["reply_text"]) == (
        "client",
        200,
        "bye",
    )
    assert rows[0]["client"] == "10.0.0.1:40000"
    assert rows[0]["time_us"] == int(rows[0]["timestamp"].timestamp() * 1e6)


def test_without_a_name_it_is_called_by_its_user(read: Read) -> None:
    rows = read(packets([*login(name=None), *close()]))
    assert rows[-1]["connection_name"] == "guest@10.0.0.1"


def test_a_long_name_is_cut_where_a_character_begins(read: Read) -> None:
    rows = read(packets([*login(name="é" * 500), *close()]))
    assert rows[0]["connection_name"] == "é" * 127


def test_a_login_that_is_refused(read: Read) -> None:
    refusal = server(amqp.Connection.Close(reply_code=403, reply_text="ACCESS_REFUSED"), 0)
    (row,) = read(packets([*login()[:3], refusal]))
    assert (row["event"], row["certainty"]) == ("connection-refused", "exact")
    assert (row["initiator"], row["reply_code"]) == ("server", 403)


def test_a_socket_that_closes_before_open_ok_is_refused(read: Read) -> None:
    (row,) = read(lost(login()[:5], TO_CLIENT))
    assert short([row], "event", "certainty", "reason") == [
        ("connection-refused", "inferred", "fin")
    ]


def test_another_version_is_refused(read: Read) -> None:
    (row,) = read(packets([(TO_SERVER, b"AMQP\1\1\0\x09"), (TO_CLIENT, amqp.PROTOCOL_HEADER)]))
    assert short([row], "event", "certainty", "reason") == [
        ("connection-refused", "exact", "protocol-header")
    ]


@pytest.mark.parametrize(("end", "side"), ENDS)
def test_the_end_of_tcp_ends_everything(read: Read, end: Any, side: int) -> None:
    said = [*START, *select(), *consume("jobs"), publish(1), deliver(1), deliver(2)]
    rows = read(end([*said, client(amqp.Basic.Ack(delivery_tag=1))], side))[-5:]
    assert short(rows, "event", "message_id", "certainty") == [
        ("settled", "d1", "exact"),
        ("connection-lost", None, "exact"),
        ("requeued", "d2", "exact"),
        ("unconfirmed", "p1", "exact"),
        ("consumer-cancelled", None, "exact"),
    ]
    assert rows[1]["initiator"] == ("client", "server")[side]
    assert rows[1]["reason"] == ("fin" if end is lost else "reset")
    assert {row["reason"] for row in rows[2:]} == {"connection-lost"}
    assert len({(row["packet_offset"], row["position"]) for row in rows}) == 5


@pytest.mark.parametrize(("end", "side"), ENDS)
def test_tcp_that_ends_anywhere(read: Read, end: Any, side: int) -> None:
    """After each frame: one event says how the connection ended, and nothing is left open."""
    said = [*START, *select(), *consume("jobs"), publish(1), deliver(1), *close()]
    for n in range(1, len(said) + 1):
        rows = read(end(said[:n], side))
        names = short(rows)
        ended = [name for name in names if name in _ENDS]
        assert ended == [
            "connection-refused" if n < 7 else "connection-lost" if n < 16 else "connection-closed"
        ], n
        opened = names.count("delivered") + names.count("published")
        assert opened == names.count("requeued") + names.count("unconfirmed"), n
        assert names.count("consumer-started") == names.count("consumer-cancelled"), n


_ENDS = {"connection-refused", "connection-lost", "connection-closed", "recording-ended"}


def test_a_reset_without_an_acknowledgement_proves_less(read: Read) -> None:
    """What the other side sent last may be missing, and nothing shows it."""
    rows = read(lost([*START, *consume("jobs"), deliver(1)], TO_CLIENT, RST))[-3:]
    assert short(rows, "event", "certainty") == [
        ("connection-lost", "inferred"),
        ("requeued", "inferred"),
        ("consumer-cancelled", "inferred"),
    ]


def test_a_reset_after_a_close_is_no_event(read: Read) -> None:
    assert short(read(reset([*login(), *close()], TO_SERVER))) == [
        "connection-opened",
        "connection-closed",
    ]


def test_a_delivery_after_the_end_is_requeued_at_once(read: Read) -> None:
    talk = lost([*START, *consume("jobs")], TO_SERVER)
    late = packets([*START, *consume("jobs"), deliver(1)])[-1]
    rows = read([*talk, late])[-2:]
    assert short(rows, "event", "message_id", "queue") == [
        ("delivered", "d1", "jobs"),
        ("requeued", "d1", "jobs"),
    ]
    assert rows[1]["answers"] == rows[0]["event_id"]


def test_a_forced_close(read: Read) -> None:
    forced = server(amqp.Connection.Close(reply_code=320, reply_text="CONNECTION_FORCED"), 0)
    rows = read(packets([*START, *consume("jobs"), deliver(1), forced]))[-3:]
    assert short(rows, "event", "initiator", "reason") == [
        ("connection-closed", "server", None),
        ("requeued", None, "connection-closed"),
        ("consumer-cancelled", None, "connection-closed"),
    ]
    assert rows[0]["reply_code"] == 320


def test_a_close_names_the_method_that_it_answers(read: Read) -> None:
    error = amqp.Channel.Close(
        reply_code=406, reply_text="PRECONDITION_FAILED", class_id=50, method_id=10
    )
    said = [client(amqp.Queue.Declare(queue="q", durable=True)), server(error)]
    (row,) = read(packets([*START, *said, client(amqp.Channel.CloseOk())]))[2:3]
    assert short([row], "event", "request", "reply_code", "initiator") == [
        ("channel-closed", "queue.declare", 406, "server")
    ]


def test_a_channel_closed_by_an_error(read: Read) -> None:
    error = server(amqp.Channel.Close(reply_code=404, reply_text="NOT_FOUND"))
    said = [*START, *select(), *consume("jobs"), deliver(1), publish(1), error, publish(2)]
    rows = read(packets([*said, client(amqp.Channel.CloseOk())]))[-7:]
    assert short(rows, "event", "message_id") == [
        ("channel-closed", None),
        ("requeued", "d1"),
        ("unconfirmed", "p1"),
        ("consumer-cancelled", None),
        ("published", "p2"),
        ("unconfirmed", "p2"),
        ("recording-ended", None),
    ]


def test_a_content_that_ends_after_its_channel(read: Read) -> None:
    """Two events of one frame, of which neither has flags."""
    error = server(amqp.Channel.Close(reply_code=404, reply_text="NOT_FOUND"))
    _, data = publish(1)
    said = [*START, *select(), (TO_SERVER, data[:-15]), error, (TO_SERVER, data[-15:])]
    rows = [row for row in read(packets(said)) if row["event"] in ("published", "unconfirmed")]
    assert short(rows, "message_id", "flags") == [("p1", []), ("p1", [])]


def test_confirms(read: Read) -> None:
    said = [*START, *select(), publish(1), publish(2), publish(3), publish(4)]
    said += [
        server(amqp.Basic.Ack(delivery_tag=2, multiple=True)),
        server(amqp.Basic.Nack(delivery_tag=4)),
        server(amqp.Basic.Ack(delivery_tag=3)),
        server(amqp.Basic.Ack(delivery_tag=9)),
    ]
    rows = [row for row in read(packets(said)) if row["event"] == "confirmed"]
    assert short(rows, "message_id", "outcome", "certainty", "delivery_tag") == [
        ("p1", "accepted", "exact", 1),
        ("p2", "accepted", "exact", 2),
        ("p4", "rejected", "exact", 4),
        ("p3", "accepted", "exact", 3),
        (None, "accepted", "unknown", 9),
    ]
    assert rows[0]["elapsed_us"] == 4000


def test_settlements(read: Read) -> None:
    said = [*START, *consume("jobs"), *(deliver(n) for n in range(1, 7))]
    said += [
        client(amqp.Basic.Ack(delivery_tag=2, multiple=True)),
        client(amqp.Basic.Reject(delivery_tag=4, requeue=False)),
        client(amqp.Basic.Nack(delivery_tag=3, requeue=True)),
        client(amqp.Basic.Nack(delivery_tag=5, requeue=False)),
        client(amqp.Basic.Ack(delivery_tag=0, multiple=True)),
    ]
    rows = [row for row in read(packets(said)) if row["event"] == "settled"]
    assert short(rows, "message_id", "outcome", "queue") == [
        ("d1", "accepted", "jobs"),
        ("d2", "accepted", "jobs"),
        ("d4", "rejected", "jobs"),
        ("d3", "released", "jobs"),
        ("d5", "rejected", "jobs"),
        ("d6", "accepted", "jobs"),
    ]


def test_deliveries_without_acknowledgement_are_not_requeued(read: Read) -> None:
    rows = read(lost([*START, *consume("jobs", no_ack=True), deliver(1)], TO_SERVER))
    assert short(rows[3:], "event", "settles") == [
        ("delivered", "automatic"),
        ("connection-lost", None),
        ("consumer-cancelled", "automatic"),
    ]


def test_a_publish_through_the_default_exchange_has_a_route(read: Read) -> None:
    copies = amqp.Basic.Properties(headers={"CC": ["other"]})
    method = amqp.Basic.Publish(routing_key="jobs")
    said = [publish(1), publish(2, exchange="orders")]
    said.append((TO_SERVER, amqp.encode_message(1, method, copies, b"x")))
    rows = read(packets([*START, *said]))[2:5]
    assert short(rows, "route", "queue", "certainty") == [
        (["jobs"], "jobs", "exact"),
        (None, None, "unknown"),
        (None, None, "unknown"),
    ]


def test_the_same_body_has_the_same_content(read: Read) -> None:
    body = bytes(range(256)) * 40
    method = amqp.Basic.Publish(routing_key="jobs")
    got = amqp.Basic.Deliver(consumer_tag="c1", delivery_tag=1, routing_key="jobs")
    none = amqp.Basic.Properties()
    cut = amqp.encode_message(1, method, none, body, 4096)
    said = [*START, *consume("jobs")]
    said += [(TO_SERVER, cut[at : at + 777]) for at in range(0, len(cut), 777)]
    said += [(TO_CLIENT, amqp.encode_message(1, got, none, body))]
    said += [(TO_SERVER, amqp.encode_message(1, method, none, b""))]
    rows = read(packets(said))[3:6]
    assert short(rows, "event", "body_size") == [
        ("published", 10240),
        ("delivered", 10240),
        ("published", 0),
    ]
    assert rows[0]["content"] == rows[1]["content"]
    assert "content" not in rows[2]


def test_contents_differ_as_bodies_do_however_they_are_cut(read: Read) -> None:
    method = amqp.Basic.Publish(routing_key="jobs")
    bodies = [bytes([k]) * n for n in (1, 7, 8, 9, 31, 32, 33, 64, 100) for k in (0, 1)]
    bodies += [
        bytes(32) + b"a" * 32,
        b"a" * 32 + bytes(32),
        bytes(range(64)),
        bytes(range(64, 0, -1)),
    ]
    said = list(START)
    for body in bodies:
        for frame_max in (9, 13, 40, 4096):
            said.append(
                (
                    TO_SERVER,
                    amqp.encode(1, method)
                    + amqp.encode(1, amqp.Header(len(body), amqp.Basic.Properties()))
                    + b"".join(
                        amqp.encode(1, amqp.Body(body[at : at + frame_max - 8]))
                        for at in range(0, len(body), frame_max - 8)
                    ),
                )
            )
    contents = [row["content"] for row in read(packets(said)) if row["event"] == "published"]
    assert contents == [content for content in contents[::4] for _ in range(4)]
    assert len(set(contents)) == len(bodies)


@pytest.mark.parametrize("rows_at_once", [1, 63, 64, 65, 200])
def test_rows_are_the_same_in_batches_of_any_size(read: Read, rows_at_once: int) -> None:
    """Columns are filled for 64 rows at once."""
    said = [*START, *select(), *consume("jobs")]
    for number in range(1, 101):
        said.append(publish(1, exchange="" if number % 3 else "orders", key="k" * (number % 70)))
        said.append(server(amqp.Basic.Ack(delivery_tag=number)))
        said.append(deliver(number, tag="c1", key="é" * (number % 40)))
        if number % 2:
            said.append(client(amqp.Basic.Ack(delivery_tag=number)))
    talk = list(packets([*said, *close()]))
    whole = read(talk)
    assert len(whole) > 350
    assert read(talk, batch_rows=rows_at_once) == whole


def test_requests_and_their_replies(read: Read) -> None:
    said = [
        client(amqp.Queue.Declare(queue="", exclusive=True)),
        server(amqp.Queue.DeclareOk(queue="amq.gen-1", message_count=3)),
        client(amqp.Queue.Bind(queue="", exchange="orders", routing_key="eu.*")),
        server(amqp.Queue.BindOk()),
        client(amqp.Exchange.Declare(exchange="orders", type="topic", durable=True)),
        server(amqp.Exchange.DeclareOk()),
        client(amqp.Queue.Purge(queue="q")),
        server(amqp.Queue.PurgeOk(message_count=7)),
        client(amqp.Basic.Get(queue="")),
        server(amqp.Basic.GetEmpty()),
        client(amqp.Queue.Unbind(queue="q", exchange="orders", routing_key="k")),
        server(amqp.Queue.UnbindOk()),
        client(amqp.Queue.Delete(queue="q", no_wait=True)),
        *close(),
    ]
    rows = read(packets([*START, *said]))[2:]
    assert short(rows, "event", "queue", "exchange", "message_count", "certainty") == [
        ("declared", "amq.gen-1", None, 3, "exact"),
        ("bound", "amq.gen-1", "orders", None, "exact"),
        ("declared", None, "orders", None, "exact"),
        ("purged", "q", None, 7, "exact"),
        ("get-empty", "amq.gen-1", None, 0, "exact"),
        ("unbound", "q", "orders", None, "exact"),
        ("deleted", "q", None, None, "inferred"),
        ("connection-closed", None, None, None, "exact"),
        ("deleted", "amq.gen-1", None, None, "inferred"),
    ]
    flags = {"passive": False, "durable": False, "auto_delete": False}
    assert [json.loads(row["details"]) for row in rows if "details" in row] == [
        flags | {"exclusive": True},
        flags | {"type": "topic", "durable": True},
    ]
    assert {row.get("elapsed_us") for row in rows[:6]} == {1000}


def test_arguments_of_requests(read: Read) -> None:
    table = {"x": 1}
    script = [
        client(amqp.Queue.Declare(queue="q", arguments=table)),
        server(amqp.Queue.DeclareOk(queue="q")),
        client(amqp.Queue.Bind(queue="q", exchange="orders", arguments=table)),
        server(amqp.Queue.BindOk()),
        client(amqp.Exchange.Bind(destination="a", source="b", arguments=table)),
        server(amqp.Exchange.BindOk()),
        client(amqp.Queue.Unbind(queue="q", exchange="orders", arguments=table)),
        server(amqp.Queue.UnbindOk()),
        client(amqp.Queue.Purge(queue="q")),
        server(amqp.Queue.PurgeOk()),
    ]
    rows = read(packets([*START, *script]))[2:]
    details = [json.loads(row.get("details", "null"), object_pairs_hook=list) for row in rows]
    arguments = ("arguments", [("x", 1)])
    assert [one and one.count(arguments) for one in details] == [1, 1, 1, 1, None, None]
    assert details[1:4] == [[arguments], [("destination", "a"), arguments], [arguments]]


def test_details_have_members_that_fit_as_a_whole(read: Read) -> None:
    """The longest type, six characters for each of its bytes; all bits; longer and longer keys."""
    flags = {"passive": True, "durable": True, "auto_delete": True}
    keys = ["k" * n for n in range(1, 256)]
    script = [
        say
        for key in keys
        for say in (
            client(amqp.Exchange.Declare(type="\1" * 255, arguments={key: 1}, **flags)),
            server(amqp.Exchange.DeclareOk()),
        )
    ]
    texts = [row["details"] for row in read(packets([*START, *script]))[2:] if "details" in row]
    details = [json.loads(text) for text in texts]
    arguments = [one.pop("arguments", None) for one in details]
    fits = [key for key, one in zip(keys, arguments, strict=True) if one == {key: 1}]
    assert arguments[len(fits) :] == [None] * (255 - len(fits))
    assert details == [{"type": "\1" * 255} | flags] * 255
    assert 100 < len(fits) < 255
    assert fits == keys[: len(fits)]
    assert max(map(len, texts)) <= 1800


def test_a_get(read: Read) -> None:
    got = amqp.Basic.GetOk(delivery_tag=1, routing_key="jobs", message_count=4)
    said = [
        client(amqp.Basic.Get(queue="jobs")),
        (TO_CLIENT, amqp.encode_message(1, got, amqp.Basic.Properties(), b"x")),
        client(amqp.Basic.Ack(delivery_tag=1)),
    ]
    rows = read(packets([*START, *said]))[2:4]
    assert short(rows, "event", "queue", "message_count", "certainty", "settles") == [
        ("delivered", "jobs", 4, "exact", "manual"),
        ("settled", "jobs", None, "exact", "manual"),
    ]


def test_consumers_end(read: Read) -> None:
    said = [
        *consume("a", "one"),
        *consume("b", "two"),
        client(amqp.Basic.Cancel(consumer_tag="one")),
        server(amqp.Basic.CancelOk(consumer_tag="one")),
        server(amqp.Basic.Cancel(consumer_tag="two")),
    ]
    rows = read(packets([*START, *said]))[4:6]
    assert short(rows, "event", "queue", "initiator") == [
        ("consumer-cancelled", "a", "client"),
        ("consumer-cancelled", "b", "server"),
    ]


def test_returns_flow_and_alarms(read: Read) -> None:
    back = amqp.Basic.Return(reply_code=312, reply_text="NO_ROUTE", exchange="x", routing_key="k")
    said = [
        (TO_CLIENT, amqp.encode_message(1, back, amqp.Basic.Properties(message_id="m"), b"x")),
        server(amqp.Channel.Flow(active=False)),
        server(amqp.Connection.Blocked(reason="low on memory"), 0),
        server(amqp.Connection.Unblocked(), 0),
    ]
    rows = read(packets([*START, *said]))[2:6]
    assert short(rows) == ["returned", "flow", "blocked", "unblocked"]
    assert short(rows[:1], "certainty", "reply_code", "message_id") == [("unknown", 312, "m")]
    assert rows[1]["details"] == '{"active": false}'
    assert rows[2]["reason"] == "low on memory"


def silent(server_beats: bool = True) -> list[Any]:
    """A heartbeat of 3 s is agreed; the client is silent for 9 s, then the server ends it."""
    beat = [server(amqp.Heartbeat(), 0)] * 5 if server_beats else []
    talk = lost([*login(heartbeat=3), *beat], TO_CLIENT)
    at = [0.001 * n for n in range(9)] + [1.5 * n + 1.5 for n in range(len(beat))] + [9.0]
    return timed(talk, at)


def test_a_silent_client(read: Read) -> None:
    rows = read(silent())[1:]
    assert short(rows, "event", "initiator", "heartbeat_s", "elapsed_us", "certainty") == [
        ("heartbeat-missed", "client", 3, 8_993_000, "exact"),
        ("connection-lost", "server", None, None, "exact"),
    ]


def test_a_step_of_the_clock_is_no_silence(read: Read) -> None:
    assert short(read(silent(server_beats=False)))[1:] == ["connection-lost"]


def test_a_silent_client_without_its_tune(read: Read) -> None:
    rows = read(silent()[9:])
    assert short(rows, "event", "certainty") == [
        ("connection-opened", "inferred"),
        ("connection-lost", "exact"),
    ]


def test_a_heartbeat_without_its_tune_is_twice_the_spacing_of_the_servers(read: Read) -> None:
    said = [client(amqp.Heartbeat(), 0), *[server(amqp.Heartbeat(), 0)] * 5]
    talk = lost([*login(heartbeat=3), *said], TO_CLIENT)
    at = [0.001 * n for n in range(9)] + [0.1] + [1.5 * n + 1.5 for n in range(5)] + [9.0]
    rows = read(timed(talk, at)[9:])
    assert short(rows, "event", "certainty", "heartbeat_s") == [
        ("connection-opened", "inferred", None),
        ("heartbeat-missed", "inferred", 3),
        ("connection-lost", "exact", None),
    ]


def test_a_recording_that_begins_in_the_middle_was_opened_before(read: Read) -> None:
    rows = read(packets([*START, publish(1), *close()])[11:])
    assert short(rows, "event", "certainty", "reason") == [
        ("connection-opened", "inferred", "before the recording"),
        ("published", "exact", None),
        ("connection-closed", "exact", None),
    ]


def test_a_content_that_proves_the_connection_open_has_its_own_place(read: Read) -> None:
    """Its method comes in the packet that begins the recording, its body in another one."""
    said = deliver(1)[1]
    rows = read(packets([*START, (TO_CLIENT, said[:-15]), (TO_CLIENT, said[-15:]), *close()])[11:])
    assert short(rows[:2]) == ["connection-opened", "delivered"]
    assert len({(row["packet_offset"], row["position"]) for row in rows}) == len(rows)


def test_columns_are_pushed_down(tmp_path: Any) -> None:
    """By a dataset, and by Polars."""
    polars = pytest.importorskip("polars")
    import pyarrow.compute as pc

    from amqpcodec import capture
    from amqpcodec.polars import scan_captures
    from tests.support.event_talk import write

    path = write(tmp_path / "a.pcap", packets([*START, *consume("jobs"), deliver(1), *close()]))
    recorded = capture.dataset(path, level="event")
    table = recorded.to_table(columns=["queue"], filter=pc.field("event") == "delivered")
    assert table.to_pylist() == [{"queue": "jobs"}]
    assert recorded.count_rows() == 7
    scanned = scan_captures(path, level="event").filter(polars.col("event") == "delivered")
    assert scanned.select("queue").collect().rows() == [("jobs",)]


def test_a_forced_close_in_the_middle_is_no_refusal(read: Read) -> None:
    forced = server(amqp.Connection.Close(reply_code=320, reply_text="CONNECTION_FORCED"), 0)
    (row,) = read(packets([*START, forced])[11:])
    assert (row["event"], row["certainty"]) == ("connection-closed", "inferred")


def test_what_waits_at_the_end(read: Read) -> None:
    said = [*START, *select(), *consume("jobs"), publish(1), deliver(1)]
    rows = read(packets([*said, client(amqp.Queue.Declare(queue="q"))]))[-4:]
    assert short(rows, "event", "message_id", "request", "certainty") == [
        ("waiting", "d1", None, "exact"),
        ("waiting", "p1", None, "exact"),
        ("waiting", None, "queue.declare", "exact"),
        ("recording-ended", None, None, "exact"),
    ]
    assert rows[0]["elapsed_us"] == 1000
    assert len({(row["packet_offset"], row["position"]) for row in rows}) == 4


def test_limits_are_counted(tmp_path: Any, read: Read) -> None:
    from amqpcodec import capture
    from tests.support.event_talk import write

    said = [*START, *consume("jobs"), *(deliver(n) for n in range(1, 8))]
    said.append(client(amqp.Basic.Ack(delivery_tag=7, multiple=True)))
    path = write(tmp_path / "a.pcap", packets(said))
    reader = capture.Reader(path, "event", max_tracked=3)
    rows = [row for batch in reader for row in batch.to_pylist()]
    assert [row["message_id"] for row in rows if row["event"] == "settled"] == ["d5", "d6", "d7"]
    assert reader.stats()["forgotten"] == {"deliveries": 4}


def test_columns_are_chosen(read: Read) -> None:
    rows = read(packets([*START]), fields=["event", "connection_index", "queue"])
    assert rows[0] == {"event": "connection-opened", "connection_index": 0}
    with pytest.raises(ValueError, match="no column 'method' at level 'event'"):
        read(packets(START), fields=["method"])
    with pytest.raises(ValueError, match="twice"):
        read(packets(START), fields=["event", "event"])


def test_fin_takes_a_number(read: Read) -> None:
    """The last acknowledgement has that of the FIN, which is no lost byte."""
    talk = lost([*START, *close()], TO_SERVER, FIN | ACK)
    assert short(read(talk))[-1] == "connection-closed"


@pytest.mark.parametrize(
    ("mechanism", "response", "user"),
    [
        ("PLAIN", b"\0guest\0secret", "guest"),
        ("PLAIN", b"guest", None),
        ("PLAIN", b"\0guest", None),
        ("EXTERNAL", b"", None),
        ("EXTERNAL", b"\0guest\0secret", None),
        ("AMQPLAIN", b"\5LOGINS\0\0\0\5guest", "guest"),
        ("AMQPLAIN", b"\5loginS\0\0\0\5guest", None),
    ],
)
def test_users(mechanism: str, response: bytes, user: str | None, read: Read) -> None:
    start_ok = amqp.Connection.StartOk(mechanism=mechanism, response=response)
    script = [client(start_ok, 0) if i == 2 else say for i, say in enumerate(login())]
    (row, _) = read(packets(script))
    assert (row.get("user"), row.get("connection_name")) == (user, user and f"{user}@10.0.0.1")


def test_what_a_client_says_of_itself_is_quoted(read: Read) -> None:
    """Where there is no room for both texts the row has the first one."""
    for product, version, details in (
        ('a"b\\c', "1\n2", {"product": 'a"b\\c', "version": "1\n2"}),
        ("p" * 255, "\1" * 240, {"product": "p" * 255, "version": "\1" * 240}),
        ("\1" * 255, "\1" * 255, {"product": "\1" * 255}),
        ("\udcff", "1", {"version": "1"}),
    ):
        properties = {"product": product, "version": version}
        start_ok = amqp.Connection.StartOk(client_properties=properties, mechanism="EXTERNAL")
        script = [client(start_ok, 0) if i == 2 else say for i, say in enumerate(login())]
        (row, _) = read(packets(script))
        assert json.loads(row["details"]) == details


def test_texts_that_are_not_utf8_are_null(read: Read) -> None:
    script = [*START, publish(1, key="\udcff", exchange="e"), publish(2)]
    script += [send("e", "k", name="\udcff"), publish(3)]
    rows = [row for row in read(packets([*script, *close()])) if row["event"] == "published"]
    assert short(rows, "exchange", "routing_key", "message_id") == [
        ("e", None, "p1"),
        ("", "jobs", "p2"),
        ("e", "k", None),
        ("", "jobs", "p3"),
    ]


@pytest.mark.parametrize(("text", "expected"), [("\udcff", None), ("é", "é")])
def test_the_last_text_of_all_rows(text: str, expected: str | None, tmp_path: Any) -> None:
    """No bytes follow it, as the recording goes on."""
    from amqpcodec import capture
    from tests.support.event_talk import write

    refusal = amqp.Connection.Close(reply_code=320, reply_text=text)
    path = write(tmp_path / "a.pcap", packets([*START, server(refusal, 0)]))
    batches = capture.Reader(path, "event").read(path.stat().st_size)
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert short(rows[-1:], "event", "reply_code", "reply_text") == [
        ("connection-closed", 320, expected)
    ]


def test_the_content_of_a_body_is_known_without_a_recording(read: Read) -> None:
    from amqpcodec import _capture

    (row,) = [row for row in read(packets([*START, publish(7)])) if row["event"] == "published"]
    assert row["content"] == _capture.content_number(b"body 7")
    assert row["content"] != _capture.content_number(b"body 8")


def test_a_consumer_without_a_tag_that_no_reply_names(read: Read) -> None:
    request = amqp.Basic.Consume(queue="jobs", consumer_tag="", no_wait=True)
    rows = read(packets([*START, client(request), deliver(1, key="k", tag="made-up")]))[2:4]
    assert short(rows, "event", "queue", "consumer_tag", "certainty") == [
        ("consumer-started", "jobs", None, "inferred"),
        ("delivered", "k", "made-up", "inferred"),
    ]


def test_a_consumer_with_the_tag_of_another_one_takes_its_place(read: Read) -> None:
    rows = read(lost([*START, *consume("a"), *consume("b"), deliver(1)], TO_SERVER))
    ended = [row for row in rows if row["event"] in ("delivered", "consumer-cancelled")]
    assert short(ended, "event", "queue") == [("delivered", "b"), ("consumer-cancelled", "b")]


def test_a_reply_that_was_lost_before_one_with_a_tag(read: Read) -> None:
    """What is asked for first has no reply: which one later replies are to, no one knows."""
    script = [client(amqp.Queue.Declare(queue="a")), *consume("jobs")]
    script += [client(amqp.Queue.Purge(queue="b")), server(amqp.Queue.PurgeOk(message_count=1))]
    rows = read(packets([*START, *script]))[2:-1]
    assert short(rows, "event", "queue", "certainty", "elapsed_us") == [
        ("consumer-started", "jobs", "exact", 1000),
        ("purged", None, "unknown", None),
    ]


def test_a_reply_with_a_tag_that_nobody_asked_for(read: Read) -> None:
    script = [client(amqp.Queue.Declare(queue="a"))]
    script.append(server(amqp.Basic.ConsumeOk(consumer_tag="other")))
    rows = read(packets([*START, *script]))[2:-1]
    assert short(rows, "event", "queue", "consumer_tag", "certainty") == [
        ("consumer-started", None, "other", "unknown")
    ]


@pytest.mark.parametrize("count", [63, 64, 65])
def test_a_reply_with_a_tag_after_many_requests(count: int, read: Read) -> None:
    """None of them is about a consumer."""
    requests = [client(amqp.Queue.Purge(queue=f"q{number}")) for number in range(count)]
    script = [*requests, server(amqp.Basic.ConsumeOk(consumer_tag="other"))]
    rows = read(packets([*START, *script]))[2:-1]
    assert short(rows, "event", "queue", "consumer_tag", "certainty") == [
        ("consumer-started", None, "other", "unknown")
    ]


def test_a_second_open_ok(read: Read) -> None:
    rows = read(packets([*START, server(amqp.Channel.OpenOk()), *select(), publish(1)]))
    assert short(rows[1:], "event", "channel", "elapsed_us") == [
        ("channel-opened", 1, 1000),
        ("channel-opened", 1, None),
        ("published", 1, None),
        ("waiting", 1, 0),
        ("recording-ended", None, None),
    ]


def test_an_open_ok_that_nobody_asked_for_ends_what_was_open(read: Read) -> None:
    """Its channel is another one, to which the publish that was begun before belongs no longer."""
    _, data = publish(2)
    script = [*START, *select(), publish(1), server(amqp.Queue.DeclareOk(queue="q"))]
    script += [(TO_SERVER, data[:-15]), server(amqp.Channel.OpenOk()), (TO_SERVER, data[-15:])]
    rows = read(packets([*script, server(amqp.Basic.Ack(delivery_tag=2))]))
    assert short(rows[4:], "event", "message_id", "certainty") == [
        ("published", "p2", "exact"),
        ("channel-opened", None, "exact"),
        ("confirmed", None, "unknown"),
        ("recording-ended", None, "exact"),
    ]


def test_after_recover_async_nothing_is_said_of_deliveries_before_it(read: Read) -> None:
    script = [*START, *consume("jobs"), deliver(1), client(amqp.Basic.RecoverAsync(requeue=True))]
    rows = read(lost([*script, deliver(2)], TO_SERVER))
    assert short([row for row in rows if row["event"] == "requeued"], "message_id") == [("d2",)]


def test_a_message_that_comes_back_after_the_close_is_no_event(read: Read) -> None:
    back = amqp.Basic.Return(reply_code=312, reply_text="NO_ROUTE", exchange="", routing_key="k")
    late = (TO_CLIENT, amqp.encode_message(1, back, amqp.Basic.Properties(), b"x"))
    script = [*START, publish(1), close()[0], late, close()[1]]
    assert short(read(packets(script)))[2:] == ["published", "connection-closed"]


def test_a_publish_whose_arguments_cannot_be_read_is_a_protocol_error(read: Read) -> None:
    _, data = publish(1, exchange="orders")
    broken = data.replace(b"\6orders", b"\xfeorders")
    rows = read(packets([*START, (TO_SERVER, broken), publish(2)]))[2:4]
    assert short(rows, "event", "message_id", "initiator") == [
        ("protocol-error", None, "client"),
        ("published", "p2", "client"),
    ]


def test_a_connection_without_a_byte_is_no_event(read: Read) -> None:
    assert read(lost([], TO_SERVER)) == []
    says = [*lost([], TO_SERVER), *packets([*START, *close()])]
    assert short(read(says)) == ["connection-opened", "channel-opened", "connection-closed"]


@pytest.mark.parametrize(
    ("fields", "message"), [("queue", "in a list, not str"), (["queue", 1], "columns, not int")]
)
def test_fields_that_are_no_names(fields: Any, message: str, read: Read) -> None:
    with pytest.raises(TypeError, match=message):
        read(packets(START), fields=fields)


def test_answers_after_an_end_are_no_events(read: Read) -> None:
    """They were sent before their sender knew of it."""
    late = client(amqp.Basic.Ack(delivery_tag=1))
    start = [*START, *consume("jobs"), deliver(1)]
    ends = {
        "channel-closed": server(amqp.Channel.Close(reply_code=404, reply_text="NOT_FOUND")),
        "connection-closed": server(amqp.Connection.Close(reply_code=320), 0),
    }
    for event, end in ends.items():
        rows = [row for row in read(packets([*start, end, late])) if row["event"] != "waiting"]
        assert short(rows[4:7]) == [event, "requeued", "consumer-cancelled"]
        assert short(rows[7:]) in ([], ["recording-ended"])


def test_numbers_of_deliveries_that_begin_anew(read: Read) -> None:
    """Their channel was opened again, unseen: no row tells the end of those before."""
    script = [*START, *consume("jobs"), deliver(1), deliver(2), deliver(1, message="again")]
    rows = read(lost(script, TO_SERVER))
    assert short([row for row in rows if row["event"] == "requeued"], "message_id") == [("again",)]


@pytest.mark.parametrize("name", ["", b"\xff"])
def test_a_name_that_is_none_is_not_used(name: Any, read: Read) -> None:
    rows = read(packets([*login(name=name), *close()]))
    assert {row["connection_name"] for row in rows} == {"guest@10.0.0.1"}


@pytest.mark.parametrize("side", [TO_SERVER, TO_CLIENT])
@pytest.mark.parametrize("missing", [3, 30])
def test_a_delivery_that_the_end_of_its_connection_cuts_goes_back(
    side: int, missing: int, read: Read
) -> None:
    sender, octets = deliver(1)
    rows = read(lost([*START, *consume("jobs"), (sender, octets[:-missing])], side))
    assert short(rows[-4:], "event", "delivery_tag", "certainty") == [
        ("delivered", 1, "exact"),
        ("requeued", 1, "exact"),
        ("connection-lost", None, "exact"),
        ("consumer-cancelled", None, "exact"),
    ]
