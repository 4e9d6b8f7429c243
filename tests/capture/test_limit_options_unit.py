"""Every limit of captures as an option of capture: at what is enough, and at too few."""

from __future__ import annotations

import io
import re
from dataclasses import fields
from typing import Any

import pytest

from amqpcodec import capture
from amqpcodec.capture._limits import LIMITS, LimitOptions, Limits
from tests.capture.rows import rows
from tests.support.limit_cases import CASES, EACH, is_good, only_a_multiple, verdict

__all__ = ["only_a_multiple"]
pytestmark = pytest.mark.filterwarnings("ignore::amqpcodec.capture.CaptureWarning")

FIELDS = ["frame", "flags", "error"]


def test_every_limit_has_its_case_its_text_and_its_type() -> None:
    names = [field.name for field in fields(Limits)]
    assert set(CASES) == set(names) == set(LimitOptions.__annotations__)
    assert re.findall(r"^ +(\w+): ", LimitOptions.__doc__ or "", re.MULTILINE) == list(
        LimitOptions.__annotations__
    )


#: Default, lowest and highest value of each limit, as its users know them; None: no highest one.
KNOWN_RANGES = {
    "max_decompressed_bytes": (0, 0, None),
    "max_compression_ratio": (16_384, 0, None),
    "reorder_bytes": (4_194_304, 0, 2_147_483_647),
    "reorder_segments": (65_536, 0, 2_147_483_647),
    "open_connections": (65_536, 1, 262_144),
    "record_bytes": (67_108_864, 1, 67_108_864),
    "frame_bytes": (67_108_864, 1, 67_108_864),
    "message_bytes": (67_108_864, 1, 67_108_864),
    "open_deliveries": (1_024, 1, 1_024),
    "max_tracked": (131_072, 1, 131_072),
    "fragment_bytes": (8_388_608, 0, 2_147_483_647),
    "websocket_bytes": (16_777_216, 1, 33_554_432),
    "websocket_ratio": (128, 1, 1_032),
}


def test_ranges_are_the_documented_ones() -> None:
    ranges = {
        field.name: (field.default, field.metadata["least"], field.metadata["most"])
        for field in fields(Limits)
    }
    assert ranges == KNOWN_RANGES


@EACH
def test_rows(name: str) -> None:
    octets, enough, too_few, level = CASES[name]
    options: dict[str, Any] = {"level": level, "fields": [verdict(level)], "order": "none"}
    all_rows = rows(octets, **options, **{name: enough})
    assert all_rows
    assert all(map(is_good, all_rows))
    less = rows(octets, **options, **{name: too_few})
    assert sum(map(is_good, less)) < len(all_rows)


@EACH
def test_stats(name: str) -> None:
    octets, enough, too_few, level = CASES[name]
    full_stats = capture.stats(io.BytesIO(octets), **{name: enough})
    assert full_stats["errors"] == 0
    less = capture.stats(io.BytesIO(octets), **{name: too_few})
    assert (less == full_stats) is (level != "frame")  # frames are counted alone


@EACH
def test_out_of_range(name: str) -> None:
    _, least, most = KNOWN_RANGES[name]
    for value in (least, most):
        if value is not None:
            assert getattr(capture.Reader(io.BytesIO(b""), **{name: value}).limits, name) == value
    for value in (least - 1, *([] if most is None else [most + 1])):
        for function in (capture.read, capture.Reader, capture.stats):
            with pytest.raises(ValueError, match=f"^{name} is from {least} .*, not {value}$"):
                function(io.BytesIO(b""), **{name: value})


@pytest.mark.parametrize("name", [case for case in CASES if not case.startswith("max_")])
def test_a_state_goes_on_with_the_limits_of_its_new_reader(name: str) -> None:
    """Wherever it was cut; of connections one more may be open (and test_limits_unit has more)."""
    octets, enough, too_few, level = CASES[name]
    options: dict[str, Any] = {"level": level, "fields": FIELDS, "order": "none"}
    all_rows = rows(octets, **options)
    at = 24
    lower = 0  # times that the lower limit was passed
    while at < len(octets):
        at += 16 + int.from_bytes(octets[at + 8 : at + 12], "little")
        first = capture.Reader(io.BytesIO(octets), **options)
        before = sum(map(len, first.read(at)))
        state = first.state()
        for limit in (enough, too_few):
            reader = capture.Reader(io.BytesIO(octets), **options, **{name: limit})
            reader.resume(state)
            good = before + sum(len(batch) - batch.errors for batch in reader)
            assert good == len(all_rows) or limit == too_few
            lower += good < len(all_rows)
    assert lower


def test_defaults() -> None:
    assert capture.Reader(io.BytesIO(b"")).limits == LIMITS == Limits()


def test_a_name_that_is_none_has_the_nearest() -> None:
    for function in (capture.read, capture.Reader, capture.stats):
        with pytest.raises(TypeError, match=r"^no argument 'open_conections': did you mean open_c"):
            function(io.BytesIO(b""), open_conections=1)
        with pytest.raises(
            TypeError, match=r"^no argument 'x': limits are max_decompressed_bytes, "
        ):
            function(io.BytesIO(b""), x=1)
