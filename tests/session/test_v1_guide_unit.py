"""The guide of AMQP 1.0's session: its first program runs, and its tables name what there is."""

from __future__ import annotations

import re
from typing import Any

import pytest

from amqpcodec import v1_0 as amqp
from amqpcodec.session import v1
from amqpcodec.session._v1 import events
from tests.paths import REPO
from tests.session.v1_wire import serving
from tests.support.session_v1_pair import Pair, accept_all

PAGE = (REPO / "docs" / "session-1.0.md").read_text(encoding="utf-8")


def test_the_first_program() -> None:
    program = re.findall(r"```python\n(.*?)```", PAGE, re.S)[0]
    names: dict[str, Any] = {}
    exec(compile(program, "session-1.0.md", "exec"), names)
    with serving() as server:
        server.options["sasl"] = v1.SaslServer(("PLAIN",))
        server.decide = lambda password: password == "guest"
        assert names["send_one"](server.address, "q", b"hello") == amqp.Accepted()
        with pytest.raises(ConnectionError, match=r"was not sent.*not-found"):
            names["send_one"](server.address, "missing", b"hello")
        server.decide = lambda password: False
        with pytest.raises(PermissionError):
            names["send_one"](server.address, "q", b"hello")
    assert [amqp.Message.decode(payload).body for payload in server.queues["q"]] == [b"hello"]


def test_states_are_those_of_the_engine() -> None:
    source = "".join(
        (REPO / "src/amqpcodec/session/_v1" / f"{name}.py").read_text(encoding="utf-8")
        for name in ("endpoint", "ending", "objects")
    )
    states = PAGE[PAGE.index("## States") : PAGE.index("## Deliveries")]
    documented_states = set(re.findall(r"^\| `([A-Z_]+)` \|", states, re.M))
    assert len(documented_states) >= 16
    assert documented_states <= set(re.findall(r'"([A-Z_]+)"', source))


def test_events_of_the_guide_are_there() -> None:
    documented_events = set(
        re.findall(r"\b([A-Z][a-z]+(?:Requested|Opened|Closed|Ended|Updated|Changed))\b", PAGE)
    )
    assert len(documented_events) > 10
    assert documented_events <= set(events.__all__)
    assert set(events.__all__) <= set(v1.__all__)


def test_actions_of_the_guide_are_there() -> None:
    resuming = PAGE[PAGE.index("## Resuming") : PAGE.index("## The ends of a link")]
    documented_actions = re.findall(r"^\| `([A-Z]+)` \|", resuming, re.M)
    assert documented_actions == [action.name for action in v1.ResumptionAction]


def test_the_programs_about_resuming_and_annotations() -> None:
    """In two of our ends: a partial message goes on, another is aborted and sent again."""
    names: dict[str, Any] = {}
    for program in re.findall(r"```python\n(.*?)```", PAGE, re.S):
        if "compare_unsettled(" in program or "resume_all" in program or "UNDERSTOOD" in program:
            exec(compile(program, "session-1.0.md", "exec"), names)
    pair = Pair(handler=accept_all).opened()
    session = pair.session()
    messages = {b"%d" % number: amqp.Message(b"%d" % number) for number in range(4)}
    theirs = {b"0": None, b"1": amqp.Received(0, 4), b"2": amqp.Accepted(), b"4": amqp.Accepted()}
    ours = {b"0": amqp.Received(0, 1), b"1": None, b"2": None, b"3": None, b"lost": None}
    pair.handler = lambda event: event.link.accept(unsettled=theirs)
    sender = session.attach_sender("to", "queue", unsettled=ours)
    pair.pump()
    receiver = pair.one(v1.LinkRequested, server=True).link
    receiver.flow(10)
    pair.handler = lambda event: None
    pair.pump()
    assert names["resume_all"](sender, messages) == [b"lost"]
    pair.pump()
    transcript = [
        (type(event), event.delivery.tag)
        for event in pair.server_events
        if hasattr(event, "delivery")
    ]
    received = [(v1.DeliveryReceived, tag) for tag in (b"0", b"1", b"3")]
    assert transcript == [*received[:2], (v1.DeliveryUpdated, b"2"), received[2]]
    for event in pair.server_events:
        if isinstance(event, v1.DeliveryReceived) and event.delivery.position is None:
            names["accept_understood"](receiver, event.delivery)
    pair.pump()
    assert set(sender.unsettled_map) == {b"1", b"lost"}
    sender.send(amqp.Message(b"x", message_annotations={amqp.Symbol("x-strange"): 1}))
    pair.pump()
    delivery = pair.one(v1.DeliveryReceived, server=True).delivery
    names["accept_understood"](receiver, delivery)
    *_, closed = pair.pump()
    assert closed.error == amqp.Error("amqp:not-implemented", "annotation x-strange")
