"""Old and new versions of clients give the same with and without their drop-ins.

Here the oldest and the newest version of each client, where `python -m tests.dropins.versions
fetch` installed them; `python -m tests.dropins.versions compare` asks all versions more.
"""

from __future__ import annotations

import json

import pytest

from tests.dropins.versions import (
    MATRIX,
    PACKAGES,
    STACKS,
    V1_CODECS,
    all_versions,
    ends,
    folder,
    python,
    read_results,
    table,
    table_of_results,
    table_of_stacks,
)
from tests.paths import REPO

CASES = 400
ASK = """
import json, warnings
import {package}
warnings.simplefilter("error")
from tests.dropins.case import run
from amqpcodec.compat import {module} as dropin
one = next(one for one in dropin.DROP_INS if one.client == {package!r})
one.install()
report = one.report()
one.uninstall()
warnings.simplefilter("default")
found = run({codec!r}, {cases}, 0)
print(json.dumps([report.version, report.is_known, len(report.compiled), report.uncompiled,
                  found.calls, [str(one) for one in found.differences[:5]]]))
"""
#: Functions that are compiled, at least, in every version.
COMPILED = {
    "amqp": 18, "pamqp": 39, "pika": 13, "azure-eventhub": 13, "azure-servicebus": 15, "rstream": 7,
}  # fmt: skip


@pytest.mark.parametrize(("client", "version"), ends())
def test_a_version_is_known_and_gives_its_own_values(client: str, version: str) -> None:
    if not folder(client, version).is_dir():
        pytest.skip(f"{client} {version} is not there: python -m tests.dropins.versions fetch")
    names = {
        "package": PACKAGES.get(client, client),
        "module": "azure" if client in V1_CODECS else client,
        "codec": V1_CODECS.get(client, client),
    }
    process = python(client, version, "-c", ASK.format(cases=CASES, **names))
    assert process.returncode == 0, process.stderr
    report = json.loads(process.stdout)
    assert report[:2] == [version, True]
    assert report[2] >= COMPILED[client]
    assert report[3] == []
    calls, differences = report[4:]
    assert differences == []
    assert calls > CASES / 4


def test_every_version_is_known() -> None:
    from amqpcodec.compat._known import KNOWN

    for client, versions in MATRIX.items():
        assert KNOWN[client].versions == versions
    assert len(set(all_versions())) == len(all_versions()) > 35


def test_the_guide_has_the_versions() -> None:
    text = (REPO / "docs" / "guide" / "drop-ins.md").read_text(encoding="utf-8")
    assert table() in text
    assert table_of_results() in text
    assert table_of_stacks() in text


@pytest.mark.parametrize(("client", "version"), all_versions())
def test_what_is_recorded_of_a_version_is_the_same_with_its_drop_in(
    client: str, version: str
) -> None:
    entry = read_results()[client][version]
    assert entry["compiled"] >= COMPILED[client]
    assert entry["left"] == 0
    assert entry["cases"] >= 100_000
    assert entry["differences"] == 0
    assert client in entry["suites"]
    for counts in entry["suites"].values():
        assert " passed" in counts["without"]
        assert counts["with"] == counts["without"]


@pytest.mark.parametrize("client", STACKS)
def test_what_stands_on_a_client_has_the_same_counts_with_its_drop_in(client: str) -> None:
    results = read_results()[client]
    assert STACKS[client].keys() <= results.keys()
    for version, entry in results.items():
        for pin in STACKS[client].get(version, ()):
            assert pin.replace("==", " ") in entry["on"]
        for counts in entry["suites"].values():
            assert " passed" in counts["without"]
            assert counts["with"] == counts["without"]
