"""What released versions left behind is read on: docs/versions.md promises it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from tests.capture.golden_states import STATES, Golden, begin, rows_of

RELEASES = sorted(folder.name for folder in STATES.iterdir() if folder.is_dir())
GOLDEN = [
    pytest.param(release, Golden(**entry), id=f"{release}-{entry['name']}")
    for release in RELEASES
    for entry in json.loads((STATES / release / "states.json").read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("release", "golden"), GOLDEN)
def test_a_state_of_a_release_is_read_on(
    release: str, golden: Golden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if golden.sealed == "encrypted":
        pytest.importorskip("cryptography")
    monkeypatch.chdir(tmp_path)
    paths = golden.files(tmp_path)
    before = begin(golden, golden.reader(paths[:1]))
    expected = rows_of(golden.reader(paths))[len(before) :]
    reader = golden.reader(paths if golden.parts == 1 else paths[1:])
    reader.resume((STATES / release / f"{golden.name}.state").read_bytes(), golden.key)
    assert rows_of(reader) == expected
    assert len(before) > 5
    assert len(expected) > 5


def test_the_release_that_is_being_written_has_its_states() -> None:
    assert "0.1.0" in RELEASES
