"""A client that gives another value anywhere is refused, and the refusal names the first one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import amqpcodec
from amqpcodec.compat import CompatError, CompatWarning, _compare
from tests.dropins.conftest import need
from tests.dropins.stock import dropin
from tests.dropins.test_install_unit import python
from tests.dropins.test_sources_unit import changed, report_of
from tests.paths import REPO

SEAM = {
    "amqp": "amqp.serialization:loads",
    "pamqp": "pamqp.frame:unmarshal",
    "pika": "pika.frame:decode_frame",
}


def in_pika(tag: str, old: str, new: str) -> tuple[str, str, str]:
    head = f"elif kind == b'{tag}':\n        value = "
    return ("data.py", f"{head}{old}", f"{head}{new}")


def in_amqp(tag: str, old: str, new: str) -> tuple[str, str, str]:
    head = f"elif ftype == '{tag}':\n        val, = unpack_from("
    return ("serialization.py", f"{head}'>{old}'", f"{head}'>{new}'")


#: Client, what another version of it might do (most of these once did), and what is said of it:
#: "" where all of it is compiled, else the text of what is left, after "refused: " of a refusal.
CASES: dict[str, tuple[str, tuple[str, str, str], str]] = {
    "pika, b without a sign": (
        "pika", in_pika("b", "struct.unpack_from('>b'", "struct.unpack_from('>B'"), "",
    ),
    "pika, B with a sign": (
        "pika", in_pika("B", "struct.unpack_from('>B'", "struct.unpack_from('>b'"), "",
    ),
    "pika, u with a sign": (
        "pika", in_pika("u", "struct.unpack_from('>H'", "struct.unpack_from('>h'"), "",
    ),
    "pika, s without a sign": (
        "pika", in_pika("s", "struct.unpack_from('>h'", "struct.unpack_from('>H'"), "",
    ),
    "pika, I without a sign": (
        "pika", in_pika("I", "struct.unpack_from('>i'", "struct.unpack_from('>I'"), "",
    ),
    "pika, i with a sign": (
        "pika", in_pika("i", "struct.unpack_from('>I'", "struct.unpack_from('>i'"), "",
    ),
    "pika, l without a sign": (
        "pika", in_pika("l", "long(struct.unpack_from('>q'", "long(struct.unpack_from('>Q'"), "",
    ),
    "pika, another tag for large negative ints": (
        "pika",
        (
            "data.py",
            "struct.pack('>cq', b'l', long(value))",
            "struct.pack('>cq', b'L' if value < 0 else b'l', long(value))",
        ),
        r"writing long is left to pika: written long -\d+L: the client gives .*b'l.*b'L",
    ),
    "pika, L with another width": (
        "pika",
        (
            "data.py",
            "value = long(struct.unpack_from('>q', encoded, offset)[0])\n        offset += 8",
            "value = 3 * long(struct.unpack_from('>q', encoded, offset)[0])\n        offset += 8",
        ),
        r"reading tag [lL] is left to pika: read tag '[lL]', bytes \w+: the client gives -?\d+",
    ),
    "pika, V that is False": (
        "pika",
        ("data.py", "value = None", "value = False"),
        r"reading tag V is left to pika: read tag 'V', bytes 56\w*: the client gives \(False, 1\)",
    ),
    "pika, Decimals with other digits": (
        "pika",
        ("data.py", "value = value.normalize()", "value = value.normalize() + 1"),
        r"writing Decimal is left to pika: written Decimal",
    ),
    "pika, times a second later": (
        "pika",
        (
            "data.py",
            "calendar.timegm(value.utctimetuple())",
            "calendar.timegm(value.utctimetuple()) + 1",
        ),
        r"writing datetime is left to pika: written datetime",
    ),
    "pamqp, D without a sign": (
        "pamqp",
        (
            "decode.py",
            "raw = common.Struct.uint.unpack(value[1:5])[0]",  # which is signed
            "raw = common.Struct.integer.unpack(value[1:5])[0]",
        ),
        "",
    ),
    "pamqp, another tag for -128": (
        "pamqp",
        ("encode.py", "if -128 <= value <= 127:", "if -127 <= value <= 127:"),
        r"writing int is left to pamqp: written int -128: the client gives b's.*, the drop-in b'b",
    ),
    "pamqp, a double twice": (
        "pamqp",
        (
            "encode.py",
            "return common.Struct.double.pack(value)",
            "return common.Struct.double.pack(value) * 2",
        ),
        r"encode.double is left to pamqp: double\(",
    ),
    "py-amqp, b without a sign, as B": ("amqp", in_amqp("b", "b", "B"), ""),
    "py-amqp, u with a sign": ("amqp", in_amqp("u", "H", "h"), ""),
    "py-amqp, s without a sign": ("amqp", in_amqp("s", "h", "H"), ""),
    "py-amqp, l without a sign": ("amqp", in_amqp("l", "q", "Q"), ""),
    "py-amqp, D without a sign": (
        "amqp",
        ("serialization.py", "n, = unpack_from('>i', buf", "n, = unpack_from('>I', buf"),
        r"reading tag D is left to amqp: read tag 'D', .* the client gives Decimal\('4294967295'\)",
    ),
    "py-amqp, a name that is not UTF-8": (
        "amqp",
        (
            "serialization.py",
            "                key = buf[offset:offset + keylen]\n",
            "                key = str(buf[offset:offset + keylen])\n",
        ),
        r"refused: .*read tag 'F', .*gives \(\{\"b'.*, the drop-in \(\{b'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_differs_is_left_and_named(tmp_path: Path, name: str) -> None:
    """And the client gives its own values, exceptions and bytes, whatever it is asked."""
    client, change, text = CASES[name]
    need(client)
    folder = changed(client, tmp_path, change)
    report = report_of(client, folder, [SEAM[client]])
    if text.startswith("refused: "):
        (refused,) = report["refused"]
        assert re.search(text[9:], refused), refused
        assert "Nothing was changed" in refused
        assert report["whose"] == ["theirs"]
        return
    assert report["refused"] == []
    assert report["whose"] == ["ours"]
    (warning,) = report["warnings"]
    assert "the source of" in warning
    assert re.search(text, warning) if text else "is left to" not in warning, warning
    compared = python(FUZZ.format(folder=str(folder), client=client))
    assert "differences 0" in compared, compared


FUZZ = """
import sys, warnings
sys.path.insert(0, {folder!r})
sys.path.insert(1, %r)
warnings.simplefilter("ignore")
from tests.dropins.case import run
found = run({client!r}, 300, 0)
print("calls", found.calls, "differences", len(found.differences))
print("\\n".join(map(str, found.differences[:3])))
""" % str(REPO)  # noqa: UP031


@pytest.mark.parametrize("client", SEAM)
def test_a_known_client_has_no_difference(client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison itself, which versions that are known are spared."""
    need(client)
    module = dropin(client)
    compared: list[Any] = []

    def refuse(differences: Any) -> None:
        compared.append(list(differences))

    def fit(_profile: Any, differences: Callable[[], Iterable[Any]]) -> list[tuple[str, str]]:
        compared.append(list(differences()))
        return []

    monkeypatch.setattr(module, "refuse", refuse)
    monkeypatch.setattr(module, "fit", fit)
    monkeypatch.setattr(module._DROP_IN, "is_known", lambda: False)
    with pytest.warns(CompatWarning):
        module.install()
    assert module._DROP_IN.report().uncompiled == ()
    module.uninstall()
    assert len(compared) == 2
    assert [compared_differences for compared_differences in compared if compared_differences] == []


@pytest.mark.parametrize("client", ["pamqp", "pika"])
def test_a_known_client_keeps_all_its_methods(client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    need(client)
    module = dropin(client)
    counts = []
    make = module._Client.codec

    def codec(self: Any, methods: list[Any], *more: Any) -> Any:
        counts.append(len(methods))
        return make(self, methods, *more)

    monkeypatch.setattr(module._Client, "codec", codec)
    monkeypatch.setattr(module._DROP_IN, "is_known", lambda: False)
    with pytest.warns(CompatWarning):
        module.install()
    module.uninstall()
    assert len(counts) > 2
    assert len(set(counts)) == 1
    assert counts[0] > 50


NAMES = """
import sys, warnings
sys.path.insert(0, {folder!r})
warnings.simplefilter("ignore")
import amqpcodec, pamqp.commands, pamqp.frame
{install}
frame = pamqp.commands.Queue.Purge(queue="a")
frame.queue = "a b"
try:
    print(pamqp.frame.marshal(frame, 1))
except ValueError as error:
    print(error)
"""


def test_pamqp_with_other_rules_for_names(tmp_path: Path) -> None:
    """Before 4.0.0 no name of a queue had a blank: such a method is left to pamqp."""
    need("pamqp")
    text = "'queue-name': re.compile(r'^[a-zA-Z0-9-_.:@#,/+ ]*$')"
    change = ("constants.py", text, text.replace(" ]*", "]*"))
    folder = str(changed("pamqp", tmp_path, change))
    stock = python(NAMES.format(folder=folder, install=""))
    assert "Invalid value for queue" in stock
    assert python(NAMES.format(folder=folder, install="amqpcodec.install('pamqp')")) == stock


def test_payloads_hold_every_sign_and_width() -> None:
    numbers, containers = _compare._payloads()
    for width in (1, 2, 4, 8):
        values = {int.from_bytes(one, "big") for one in numbers if len(one) == width}
        half, end = 1 << 8 * width - 1, 1 << 8 * width
        assert {0, 1, half - 1, half, half + 1, end - 1} <= values
    assert any(not _is_text(one[5 : 5 + one[4]]) for one in containers if len(one) > 5)
    for end in (2**7, 2**8, 2**15, 2**16, 2**31, 2**32, 2**63, 2**64):
        assert {end - 1, end, -end, -end - 1} <= set(_compare.INTS)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


# --- several at once ----------------------------------------------------------------------------

TWO = """
import sys, warnings
sys.path.insert(0, {folder!r})
import amqpcodec
from amqpcodec.compat import CompatError, amqp, pamqp, pika
import pika.frame, amqp.serialization
{before}
try:
    amqpcodec.install("pika", "amqp", "pamqp", strict={strict})
except (CompatError, UserWarning) as error:
    print("refused", type(error).__name__)
print([one.installed() for one in (pika_dropin, amqp_dropin, pamqp_dropin)])
print([getattr(one._DROP_IN._patch and one._DROP_IN._patch.codec, "lenient", None)
       for one in (pika_dropin, amqp_dropin, pamqp_dropin)])
print([type(one).__name__ for one in (pika.frame.decode_frame, amqp.serialization.loads)])
""".replace(
    "amqp, pamqp, pika\nimport",
    "amqp as amqp_dropin, pamqp as pamqp_dropin, pika as pika_dropin\nimport",
)


def several(folder: Path, before: str, strict: bool = True) -> list[str]:
    return python(TWO.format(folder=str(folder), before=before, strict=strict)).splitlines()


@pytest.fixture
def other_pamqp(tmp_path: Path) -> Path:
    for client in SEAM:
        need(client)
    change = ("decode.py", "value[1 : length + 1]", "value[1:length]")
    return changed("pamqp", tmp_path, change)


def test_of_several_none_is_installed_where_one_is_refused(other_pamqp: Path) -> None:
    assert several(other_pamqp, "") == [
        "refused CompatError",
        "[False, False, False]",
        "[None, None, None]",
        "['function', 'function']",
    ]


def test_what_was_installed_before_stays_as_strict_as_it_was(other_pamqp: Path) -> None:
    lines = several(other_pamqp, 'amqpcodec.install("pika")', strict=False)
    assert lines[:3] == ["refused CompatError", "[True, False, False]", "[False, None, None]"]


def test_a_warning_that_is_an_error_leaves_none(tmp_path: Path) -> None:
    """Another comment in a function of pamqp gives a warning, which a user may have raised."""
    for client in SEAM:
        need(client)
    folder = changed("pamqp", tmp_path, ("decode.py", "    try:\n", "    try:  # here\n"))
    lines = several(folder, 'warnings.simplefilter("error")')
    assert lines[:2] == ["refused CompatWarning", "[False, False, False]"]


def test_a_name_that_no_drop_in_has_changes_nothing() -> None:
    need("pika")
    with pytest.raises(ValueError, match="rabbitpy"):
        amqpcodec.install("pika", "rabbitpy")
    assert not dropin("pika").installed()
    assert issubclass(CompatError, RuntimeError)


# --- py-amqp 5.4.0 and 5.4.1, which are not known but agree -------------------------------------

OLD_AMQP = (
    in_amqp("b", "b", "B"),
    in_amqp("B", "B", "b"),
    (
        "serialization.py",
        "                key = buf[offset:offset + keylen]\n",
        "                raise\n",
    ),
)
READ_OLD = """
import amqp.serialization
for raw in (b"b\\xff", b"B\\xff", b"F\\0\\0\\0\\3\\1\\xffV"):
    try:
        print(amqp.serialization._read_item(raw, 0))
    except UnicodeDecodeError:
        print("refused")
"""


def test_py_amqp_before_5_4_2_reads_its_own_values(tmp_path: Path) -> None:
    need("amqp")
    text = "import sys; sys.path.insert(0, {!r}); import amqpcodec{}" + READ_OLD
    folder = str(changed("amqp", tmp_path, *OLD_AMQP))
    install = "; import warnings; warnings.simplefilter('ignore'); amqpcodec.install('amqp')"
    stock = python(text.format(folder, "")).splitlines()
    assert stock == ["(255, 2)", "(-1, 2)", "refused"]
    assert python(text.format(folder, install)).splitlines() == stock
