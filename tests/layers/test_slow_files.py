"""tests/slow.toml names files that are there, the slowest one first."""

from __future__ import annotations

import tomllib

from tests.paths import REPO


def test_the_table_is_of_files_in_order() -> None:
    table = tomllib.loads((REPO / "tests" / "slow.toml").read_text(encoding="utf-8"))
    assert set(table) == {"seconds"}
    for name in table["seconds"]:
        assert (REPO / "tests" / name).is_file(), name
    seconds = list(table["seconds"].values())
    assert seconds == sorted(seconds, reverse=True)
