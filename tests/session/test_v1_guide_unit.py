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
    assert [amqp.Message.decode(each).body for each in server.queues["q"]] == [b"hello"]


def test_states_are_those_of_the_engine() -> None:
    source = "".join(
        (REPO / "src/amqpcodec/session/_v1" / f"{name}.py").read_text(encoding="utf-8")
        for name in ("connection", "session", "link")
    )
    told = set(re.findall(r"^\| `([A-Z_]+)` \|", PAGE, re.M))
    assert len(told) >= 16
    assert told <= set(re.findall(r'"([A-Z_]+)"', source))


def test_events_of_the_guide_are_there() -> None:
    told = set(
        re.findall(r"\b([A-Z][a-z]+(?:Requested|Opened|Closed|Ended|Updated|Changed))\b", PAGE)
    )
    assert len(told) > 10
    assert told <= set(events.__all__)
    assert set(events.__all__) <= set(v1.__all__)
