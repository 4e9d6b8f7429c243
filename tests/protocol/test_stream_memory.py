"""What a decoder keeps of chunks stands within its memory, to the byte."""

from __future__ import annotations

import os
import subprocess
import sys
from ctypes.util import find_library
from pathlib import Path

import pytest

# glibc's checking malloc marks the byte after each block, and looks at it when the block is freed.
CHECKER = "libc_malloc_debug.so.0"

PROGRAM = """
import sys
from amqpcodec import v0_9_1 as amqp

payload = bytes(1 << 14)
frame = amqp.encode(1, amqp.Body(payload))
# What is kept ends at each of the bytes around the end of the decoder's memory.
for room in (1024, 2048, 4096, 8192):
    for over in range(-10, 11):
        for first in (7, 100, room // 2):
            decoder = amqp.Decoder()
            ends = [first, room + over]
            chunks = [frame[: ends[0]], frame[ends[0] : ends[1]], frame[ends[1] :]]
            found = [each for chunk in chunks for each in decoder.feed(chunk)]
            assert found == [(1, amqp.Body(payload))], (room, over, first)
            del decoder
# Memory that is used again: a small rest, then as much as there is room for, and more.
for over in range(-10, 11):
    decoder = amqp.Decoder()
    small = amqp.encode(1, amqp.Body(b"x" * 500))
    chunks = [small[:300], small[300:] + frame[:20], frame[20 : 1024 + over], frame[1024 + over :]]
    found = [each for chunk in chunks for each in decoder.feed(chunk)]
    assert len(found) == 2, over
    del decoder
print("done")
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux")
    or not any(Path(folder).glob(f"**/{CHECKER}") for folder in ("/lib", "/usr/lib", "/lib64"))
    or find_library("c") is None,
    reason="needs glibc's checking malloc",
)
def test_what_is_kept_stays_within_its_memory():
    careful = {"LD_PRELOAD": CHECKER, "MALLOC_CHECK_": "3", "PYTHONMALLOC": "malloc"}
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        env={**os.environ, **careful},
    )
    assert process.returncode == 0, process.stderr[-2000:]
    assert process.stdout == "done\n"
