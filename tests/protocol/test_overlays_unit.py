"""Methods of single brokers, laid over the published versions when a user asks for them."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

import amqpcodec
from amqpcodec import _codec, v0_8, v0_9, v0_9_1
from amqpcodec._gen import overlays
from tests.paths import REPO, shared_dir
from tests.reference import VERSIONS, Facts, MethodFact, encode_frame
from tests.support.bridge import Version, build, check
from tests.support.generate import Generate

FACTS_FILE = REPO / "tests" / "reference" / "facts-extensions.json"
ROWS: list[dict[str, Any]] = json.loads(FACTS_FILE.read_text(encoding="utf-8"))
OVERLAYS = sorted({(row["version"], row["broker"]) for row in ROWS})
BASES = {"0-9-1": v0_9_1, "0-9": v0_9, "0-8": v0_8}
each_overlay = pytest.mark.parametrize(("version", "broker"), OVERLAYS)


def rows(version: str, broker: str) -> Iterator[tuple[str, int, dict[str, Any]]]:
    for row in ROWS:
        if (row["version"], row["broker"]) == (version, broker):
            yield row["class"], row["class_id"], row["method"]


def test_facts_are_those_of_the_shared_folder() -> None:
    shared = shared_dir()
    if shared is None:
        pytest.skip("no shared folder beside the repository")
    theirs = shared / "facts" / "facts-extensions.json"
    shared_rows = json.loads(theirs.read_text(encoding="utf-8"))
    assert [row for row in shared_rows if row not in ROWS] == []


def test_each_overlay_has_facts() -> None:
    """Without them no test here asks for it."""
    assert sorted(overlays.OVERLAYS) == OVERLAYS


@each_overlay
def test_off_by_default(version: str, broker: str) -> None:
    base = amqpcodec.protocol(version)
    assert base is BASES[version]
    assert not any(broker == cls.EXTENSION for cls in base.METHODS.values()) or broker == "rabbitmq"
    for class_name, class_id, method in rows(version, broker):
        base_method = base.METHODS.get((class_id, method["id"]))
        fields = tuple(field["name"].replace("-", "_") for field in method["fields"])
        signature = (base_method.NAME, base_method.FIELDS) if base_method is not None else None
        assert signature != (f"{class_name}.{method['name']}", fields)


@each_overlay
def test_the_facts_say_the_same(version: str, broker: str) -> None:
    amqp: Any = amqpcodec.protocol(version, overlays=(broker,))
    for class_name, class_id, method in rows(version, broker):
        cls = amqp.METHODS[class_id, method["id"]]
        assert f"{class_name}.{method['name']}" == cls.NAME
        assert cls is getattr(getattr(amqp, class_name.title()), cls.__name__)
        assert tuple(field["name"].replace("-", "_") for field in method["fields"]) == cls.FIELDS
        assert cls.SYNCHRONOUS is method["synchronous"]
        assert cls.HAS_CONTENT is method["content"]
        assert cls.DEPRECATED is method["deprecated"]
        assert broker == cls.EXTENSION
        if method["responses"] is not None:
            responses = [answer.NAME.partition(".")[2] for answer in cls.RESPONSES]
            assert responses == method["responses"]
        if method["received_by"] is not None:
            faces = {"client": "server", "server": "client"}
            assert {faces[peer] for peer in cls.SENT_BY} == set(method["received_by"])


@each_overlay
def test_octets_against_the_reference(version: str, broker: str) -> None:
    amqp: Any = amqpcodec.protocol(version, overlays=(broker,))
    base = VERSIONS[version]
    facts = [
        MethodFact(
            f"{class_name}.{method['name']}",
            class_id,
            method["id"],
            tuple((field["name"], field["type"]) for field in method["fields"]),
            frozenset(),
            False,
        )
        for class_name, class_id, method in rows(version, broker)
    ]
    ids = {(fact.class_id, fact.method_id): fact for fact in facts}
    at = Version(
        version,
        amqp,
        Facts({f.name: f for f in facts}, ids, base.properties, base.constants, base.raw),
        "SIDTF",
    )
    for fact in facts:
        for number in range(20):
            tame = Generate(Random(f"{fact.name}/{number}"), "rabbitmq", True, at.facts, at.tags)
            frame = tame.method(fact.name)
            data = encode_frame(1, frame, facts=at.facts)
            assert amqp.encode(1, build(frame, at=at)) == data
            check(amqp.decode(data)[2], frame, at=at)


@each_overlay
def test_the_rest_is_as_it_was(version: str, broker: str) -> None:
    base: Any = BASES[version]
    amqp: Any = amqpcodec.protocol(version, (broker,))
    changed = {(class_id, method["id"]) for _, class_id, method in rows(version, broker)}
    if (version, broker) == ("0-9", "qpid"):
        changed.add((60, 20))  # basic.consume: its filter is called arguments
        assert (*base.Basic.Consume.FIELDS[:-1], "arguments") == amqp.Basic.Consume.FIELDS
        consume = amqp.Basic.Consume(arguments={"a": 1}), base.Basic.Consume(filter={"a": 1})
        assert amqp.encode(1, consume[0]) == base.encode(1, consume[1])
    for ids, cls in base.METHODS.items():
        if ids in changed:
            continue
        other = amqp.METHODS[ids]
        assert (other.NAME, other.FIELDS) == (cls.NAME, cls.FIELDS)
        assert amqp.encode(1, other()) == base.encode(1, cls())
    assert set(amqp.METHODS) == set(base.METHODS) | changed
    assert set(_codec.fast_signatures(base.PROTOCOL)) <= set(_codec.fast_signatures(amqp.PROTOCOL))
    assert amqp.__name__ == f"{base.__name__}+{broker}"


def test_one_module_for_one_choice() -> None:
    qpid = amqpcodec.protocol("0-9", overlays=("qpid",))
    assert qpid is amqpcodec.protocol("0-9+qpid")
    assert qpid is amqpcodec.protocol("0-9", ["qpid", "qpid"])
    both: Any = amqpcodec.protocol("0-9-1", ("rabbitmq", "qpid"))
    assert both is amqpcodec.protocol("0-9-1+qpid", ("rabbitmq",))
    assert both.Access.Request.EXTENSION == "rabbitmq"
    assert both.Exchange.Bound.EXTENSION == "qpid"


def test_instances_are_pickled() -> None:
    qpid: Any = amqpcodec.protocol("0-9+qpid")
    instances = [qpid.Exchange.Bound("e", "k", "q"), qpid.Basic.Properties(headers={"n": 1}),
            qpid.Message.Transfer(body=b"x"), v0_9.Basic.Publish("e")]  # fmt: skip
    octets = pickle.dumps(instances)
    assert pickle.loads(octets) == instances
    code = f"import pickle; print(pickle.loads({octets!r}))"
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == repr(instances)


def test_columns_of_an_overlay() -> None:
    pa = pytest.importorskip("pyarrow")
    from amqpcodec import batch

    qpid: Any = amqpcodec.protocol("0-9+qpid")
    data = qpid.encode(1, qpid.Exchange.Bound("e", "k", "q"))
    for protocol in ("0-9+qpid", qpid):
        (row,) = pa.record_batch(batch.decode(data, protocol)).to_pylist()
        assert (row["method"], row["error"]) == ("exchange.bound", None)
    (row,) = pa.record_batch(batch.decode(data, "0-9")).to_pylist()
    assert "no method with class id 40 and method id 22" in row["error"]


def test_what_there_is_not() -> None:
    with pytest.raises(ValueError, match=r"no overlay 'rabbitmq' of 0-9; there is 'qpid'"):
        amqpcodec.protocol("0-9", ("rabbitmq",))
    with pytest.raises(ValueError, match=r"no overlay '' of 0-8"):
        amqpcodec.protocol("0-8+")
    with pytest.raises(ValueError, match=r"no protocol '0-7[+]qpid'"):
        amqpcodec.protocol("0-7+qpid")
    with pytest.raises(TypeError, match="in a tuple"):
        amqpcodec.protocol("0-9", "qpid")
    with pytest.raises(ValueError, match=r"qpid and rabbitmq use basic.recover-ok for two"):
        amqpcodec.protocol("0-8", ("qpid", "rabbitmq"))
