"""Perl's Net::AMQP (Debian's libnet-amqp-perl), for 0-8 and 0-9-1: what one writes the other reads.

It builds its classes from the same XML, but its bytes are its own. It knows the table tags that
all agree on (S I F A T t), sorts the names of tables, and reads numbers as signed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.paths import REPO
from tests.reference import Header, Method, Table, Tagged, encode_frame
from tests.support.bridge import V0_8, V0_9_1, Version, build, check
from tests.support.generate import Generate

SCRIPT = Path(__file__).with_name("net_amqp.pl")
VERSIONS = {"0-8": V0_8, "0-9-1": V0_9_1}
TAGS = "SIFATt"
SEEDED = 8
BITS = {"octet": 8, "short": 16, "long": 32, "longlong": 64}


class Perl:
    """One process for a version, a question at a time."""

    def __init__(self, at: Version) -> None:
        self.at = at
        self.process = subprocess.Popen(
            ["perl", str(SCRIPT), str(REPO / "spec" / f"amqp{at.name}.xml")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, task: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"perl ended with {self.process.wait(10)}"
        answer: dict[str, Any] = json.loads(line)
        return answer


@pytest.fixture(scope="module", params=VERSIONS)
def perl(request: pytest.FixtureRequest) -> Iterator[Perl]:
    if not shutil.which("perl"):
        pytest.skip("no perl")
    probe = subprocess.run(["perl", "-MNet::AMQP", "-MJSON::PP", "-e1"], capture_output=True)
    if probe.returncode:
        pytest.skip("no Net::AMQP: apt-get install libnet-amqp-perl (scripts/broker.py does)")
    peer = Perl(VERSIONS[request.param])
    yield peer
    assert peer.process.stdin is not None
    peer.process.stdin.close()
    assert peer.process.wait(10) == 0


# ---- the reference's neutral form in the script's terms


def read_by_perl(value: Tagged) -> Any:
    """A table value as Perl says it has read it."""
    tag, content = value
    if tag == "F":
        return {"F": {key.hex(): read_by_perl(item) for key, item in content}}
    if tag == "A":
        return {"A": [read_by_perl(item) for item in content]}
    return {"s": (content if tag == "S" else str(content).encode()).hex()}


def written_by_perl(value: Tagged) -> Any:
    """A table value that Perl is to write."""
    tag, content = value
    if tag == "F":
        return {"F": {key.hex(): written_by_perl(item) for key, item in content}}
    if tag == "A":
        return {"A": [written_by_perl(item) for item in content]}
    return {tag: content.hex() if tag == "S" else content}


def field_read_by_perl(wire_type: str, value: Any) -> Any:
    if wire_type == "table":
        return read_by_perl(("F", value))
    if wire_type in ("shortstr", "longstr"):
        return {"s": value.hex()}
    if wire_type in ("short", "long", "longlong"):
        bits = BITS[wire_type]
        value -= (value >> (bits - 1)) << bits  # read as signed
    return {"s": str(value).encode().hex()}


def field_written_by_perl(wire_type: str, value: Any) -> Any:
    if wire_type == "table":
        return written_by_perl(("F", value))
    if wire_type in ("shortstr", "longstr"):
        return {"s": value.hex()}
    return {"i": str(value)}


def perl_name(name: str) -> str:
    name = name.replace("-", "_")
    return "nowait" if name == "no_wait" else name


def camel(name: str) -> str:
    return "".join(part.title() for part in name.split("-"))


class Sorted(Generate):
    """Values that Perl writes in just one way."""

    def table(self, depth: int = 3, most: int = 5) -> Table:
        return sorted(super().table(depth, most), key=lambda entry: entry[0])

    def seconds(self) -> int:
        return self.random.choice([0, 1, 1700000000, 2**33, 2**62])


def values(seed: str, at: Version) -> Sorted:
    return Sorted(Random(seed), "rabbitmq", True, at.facts, TAGS)


# ---- both directions


def agree(perl: Perl, frame: Method | Header, seed: str) -> None:
    at = perl.at
    channel = Random(seed).choice([0, 1, 2047, 65535])
    data = encode_frame(channel, frame, facts=at.facts)
    ours = at.amqp.encode(channel, build(frame, at=at), dialect="rabbitmq")
    assert ours == data

    # Perl reads what we write, and writes it again.
    if isinstance(frame, Method):
        fact = at.facts.methods[frame.name]
        types, values_by_name = dict(fact.fields), frame.args
        class_name, _, method_name = frame.name.partition(".")
    else:
        types, values_by_name = dict(at.facts.properties[frame.class_id]), frame.properties
        (class_name,) = (c["name"] for c in at.facts.raw["classes"] if c["id"] == frame.class_id)
        method_name = "content-header"
    answer = perl.ask({"read": ours.hex()})
    assert answer["name"] == f"{camel(class_name)}::{camel(method_name)}"
    assert (answer["channel"], answer["left"]) == (channel, 0)
    fields = answer.get("fields", {})
    assert fields == {
        perl_name(n): field_read_by_perl(types[n], v) for n, v in values_by_name.items()
    }

    # We read what Perl writes, and they are the same bytes.
    task: dict[str, Any] = {
        "class": camel(class_name),
        "method": camel(method_name),
        "channel": channel,
        "fields": {
            perl_name(n): field_written_by_perl(types[n], v) for n, v in values_by_name.items()
        },
    }
    if isinstance(frame, Header):
        task["body_size"] = str(frame.body_size)
    theirs = bytes.fromhex(perl.ask(task)["hex"])
    assert theirs == data
    consumed, on, got = at.amqp.decode(theirs)
    assert (consumed, on) == (len(theirs), channel)
    check(got, frame, at=at)


def test_every_method(perl: Perl) -> None:
    names = sorted(perl.at.facts.methods)
    assert len(names) in (64, 91)
    for name in names:
        for number in range(SEEDED if perl.at.facts.methods[name].fields else 1):
            seed = f"{name}/{number}"
            agree(perl, values(seed, perl.at).method(name), seed)


def test_every_property_list(perl: Perl) -> None:
    for class_id, properties in perl.at.facts.properties.items():
        for number in range(4 * SEEDED):
            seed = f"header/{class_id}/{number}"
            generator = values(seed, perl.at)
            header = generator.header(class_id)
            size = header.body_size % 2**62
            agree(perl, Header(size, header.properties, class_id), seed)
        for name, wire_type in properties:
            generator = values(name, perl.at)
            agree(perl, Header(3, {name: generator.field(wire_type)}, class_id), name)


def test_bodies_and_heartbeats(perl: Perl) -> None:
    amqp = perl.at.amqp
    for frame in (amqp.Body(b"\x00\xce payload"), amqp.Body(b""), amqp.Heartbeat()):
        data = amqp.encode(0, frame)
        assert bytes.fromhex(perl.ask({"read": data.hex()})["hex"]) == data
