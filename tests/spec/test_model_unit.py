"""The model: immutable, hashable, comparable data with look-ups, free of lxml."""

from __future__ import annotations

import copy
import dataclasses
import os
import pickle
import subprocess
import sys

import pytest

from amqpcodec import spec
from amqpcodec.spec import Protocol, class_identifier, identifier, load
from tests.paths import REPO

XML = REPO / "spec" / "amqp0-9-1.xml"


@pytest.fixture(scope="module")
def protocol() -> Protocol:
    return load(XML)


def test_equal_by_value_and_hashable(protocol: Protocol) -> None:
    again = load(XML)
    assert again is not protocol
    assert again == protocol
    assert hash(again) == hash(protocol)
    assert len({protocol, again}) == 1
    other = dataclasses.replace(again, port=5671)
    assert other != protocol
    deep = dataclasses.replace(again.method("basic.ack").fields[0], reserved=True)
    assert deep != protocol.method("basic.ack").fields[0]


def test_copies_and_pickles(protocol: Protocol) -> None:
    assert pickle.loads(pickle.dumps(protocol)) == protocol
    assert copy.deepcopy(protocol) == protocol


@pytest.mark.parametrize(
    "name", ["Assert", "Chassis", "Class", "Constant", "Domain", "Field", "Method", "Protocol"]
)
def test_frozen_and_slotted(name: str) -> None:
    cls = getattr(spec, name)
    assert dataclasses.is_dataclass(cls)
    assert "__dict__" not in dir(cls)
    item = cls(*["x"] * sum(f.default is dataclasses.MISSING for f in dataclasses.fields(cls)))
    for field in dataclasses.fields(cls):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(item, field.name, None)


def test_look_ups(protocol: Protocol) -> None:
    basic = protocol.class_("basic")
    assert protocol.class_(60) is basic
    publish = protocol.method("basic.publish")
    assert protocol.method((60, 40)) is publish
    assert basic.method("publish") is publish
    assert basic.method(40) is publish
    assert publish.field("routing-key").type == "shortstr"
    assert basic.field("headers").type == "table"
    assert protocol.constant("frame-end").value == 206
    assert protocol.domain("delivery-tag").type == "longlong"
    assert (basic, publish) in list(protocol.methods())


@pytest.mark.parametrize(
    "look",
    [
        lambda p: p.class_("file"),
        lambda p: p.class_(70),
        lambda p: p.method("basic.open"),
        lambda p: p.method("basic"),
        lambda p: p.method((60, 41)),
        lambda p: p.class_("basic").method("open"),
        lambda p: p.class_("basic").field("cluster-id"),
        lambda p: p.method("basic.ack").field("requeue"),
        lambda p: p.constant("frame-trace"),
        lambda p: p.domain("access-ticket"),
    ],
)
def test_what_is_not_there(protocol: Protocol, look: object) -> None:
    assert callable(look)
    with pytest.raises(KeyError):
        look(protocol)


@pytest.mark.parametrize(
    ("name", "received", "sent"),
    [
        ("basic.publish", ("server",), ("client",)),
        ("basic.deliver", ("client",), ("server",)),
        ("basic.ack", ("client", "server"), ("client", "server")),
        ("connection.close", ("client", "server"), ("client", "server")),
    ],
)
def test_who_sends_and_who_receives(
    protocol: Protocol, name: str, received: tuple[str, ...], sent: tuple[str, ...]
) -> None:
    method = protocol.method(name)
    assert method.received_by == received
    assert method.sent_by == sent


@pytest.mark.parametrize(
    ("name", "python"),
    [
        ("no-wait", "no_wait"),
        ("frame method", "frame_method"),
        ("global", "global_"),
        ("type", "type"),
        ("reserved-1", "reserved_1"),
        ("None", "None_"),
    ],
)
def test_identifier(name: str, python: str) -> None:
    assert identifier(name) == python


@pytest.mark.parametrize(
    ("name", "python"),
    [
        ("basic", "Basic"),
        ("recover-async", "RecoverAsync"),
        ("update-secret-ok", "UpdateSecretOk"),
        ("a_b c", "ABC"),
        ("return", "Return"),
        ("none", "None_"),
    ],
)
def test_class_identifier(name: str, python: str) -> None:
    assert class_identifier(name) == python


def test_the_package_does_not_import_lxml() -> None:
    code = "import sys, amqpcodec.spec; sys.exit('lxml' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


def test_without_lxml_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("document", "loader"):
        monkeypatch.delitem(sys.modules, f"amqpcodec.spec.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "lxml", None)
    with pytest.raises(ImportError, match=r'pip install "amqpcodec\[spec\]"') as caught:
        load(XML)
    assert caught.value.name == "lxml"
