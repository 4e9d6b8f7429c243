"""Does an installed amqpcodec work? Needs nothing but the standard library.

    python scripts/wheel_smoke.py

The wheels are tested with it on every platform, before they are published.
"""

from __future__ import annotations

import json
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import amqpcodec
from amqpcodec import batch, errors
from amqpcodec import v0_9_1 as amqp

ROOT = Path(__file__).resolve().parent.parent
FRAMES = ROOT / "tests" / "vectors" / "frames.jsonl"


def check(holds: bool, what: str) -> None:
    """Not an assert: it has to hold also with python -O."""
    if not holds:
        raise SystemExit(f"wheel_smoke: {what}")


def check_installation() -> None:
    """It is the installed package, whole, and of the version that its metadata says."""
    here = Path(amqpcodec.__file__).resolve().parent
    check(not here.is_relative_to(ROOT / "src"), f"{here} is the source, not what was installed")
    check(
        metadata.version("amqpcodec") == amqpcodec.__version__,
        f"metadata says {metadata.version('amqpcodec')}, the package {amqpcodec.__version__}",
    )
    for name in ("py.typed", "_codec.pyi", "v0_8.pyi", "v0_9_1.pyi"):
        check((here / name).is_file(), f"{name} is not in {here}")


def check_frames() -> int:
    """Frames of the test vectors encode to the bytes that they came from."""
    count = 0
    for line in FRAMES.read_text(encoding="utf-8").splitlines():
        vector = json.loads(line)
        raw = bytes.fromhex(vector["hex"])
        consumed, channel, frame = amqp.decode(raw)
        check(consumed == len(raw), f"{vector['name']}: {consumed} of {len(raw)} bytes")
        check(amqp.encode(channel, frame) == raw, f"{vector['name']}: other bytes come back")
        count += 1
    check(count > 50, f"only {count} frames in {FRAMES.name}")
    return count


def check_messages() -> None:
    """A message through the decoder a byte at a time, and as columns; an error with its place."""
    method = amqp.Basic.Publish(exchange="orders", routing_key="eu")
    properties = amqp.Basic.Properties(headers={"n": 1, "nested": {"of": [1.5, None, "text"]}})
    raw = amqp.encode_message(1, method, properties, b"body", frame_max=4096)
    decoder = amqp.MessageDecoder()
    events = [event for byte in raw for event in decoder.feed(bytes([byte]))]
    check(events == [(1, amqp.Message(method, properties, b"body"))], f"decoder gave {events}")
    array = batch.decode(raw).__arrow_c_array__()
    check(len(array) == 2, "batch.decode gives no pair of capsules")
    try:
        amqp.decode(bytes.fromhex("01 0001 00000006 003c 003c c8 61 ce"))
    except errors.TruncatedError as error:
        check(error.offset == 12, f"the error is at {error.offset}, not at 12")
    else:
        check(False, "a truncated argument was taken")


def main() -> int:
    """Check all, and say on what."""
    free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    check_installation()
    count = check_frames()
    check_messages()
    # Importing a module that does not say it can do without turns the lock on again.
    check(not free or not sys._is_gil_enabled(), "importing amqpcodec turned the GIL on")
    print(
        f"amqpcodec {amqpcodec.__version__} on {sys.implementation.cache_tag}"
        f"{'t' if free else ''} {sysconfig.get_platform()}: {count} frames and back"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
