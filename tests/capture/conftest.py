"""A recording, as the tests that change its packets take it."""

from __future__ import annotations

import pytest

from tests.paths import REPO
from tests.support import mangle

RECORDING = REPO / "demo" / "kombu_celery.pcap.gz"


@pytest.fixture(scope="session")
def parts() -> list[mangle.Part]:
    """Its segments."""
    return mangle.parts(RECORDING)


@pytest.fixture(scope="session")
def expected_streams() -> dict[tuple[str, str], list[bytes]]:
    """Its frames, by the client's end and direction."""
    pytest.importorskip("pyarrow")
    from tests.capture.rows import streams

    frames_by_stream = streams(mangle.unpacked(RECORDING))
    assert sum(map(len, frames_by_stream.values())) == 1000
    return frames_by_stream
