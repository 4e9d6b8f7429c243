"""A mistake in spec/overlays.xml is an error that names the overlay and its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from amqpcodec.spec import SpecError
from spec.emitters.overlays import emit_overlays
from tests.paths import REPO

VERSIONS = {"0-9-1": REPO / "spec" / "amqp0-9-1.xml"}
PEEK = '<method name="peek" index="130"><chassis name="server" implement="MUST"/></method>'
BASIC = '<class name="basic" index="60">{}</class>'
OVERLAY = '<overlay version="0-9-1" name="tiny">{}</overlay>'


def emit(folder: Path, text: str) -> str:
    path = folder / "overlays.xml"
    path.write_text(f"<overlays>\n{text}</overlays>", encoding="utf-8")
    return emit_overlays(path, VERSIONS)


def test_a_method(tmp_path: Path) -> None:
    text = emit(tmp_path, OVERLAY.format(BASIC.format(PEEK)))
    assert "('0-9-1', 'tiny')" in text
    assert "'peek'" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<overlay name='tiny'/>", "overlay 'tiny' of None: .* a name and a version of 0-9-1"),
        ("<overlay version='0-9-1'/>", "overlay None of '0-9-1': an overlay has a name"),
        (OVERLAY.replace("0-9-1", "0-9-2"), "overlay 'tiny' of '0-9-2': .* a version of 0-9-1"),
        (OVERLAY * 2, "overlay 'tiny' of '0-9-1': there are two"),
        (
            OVERLAY.format(BASIC.format(PEEK + PEEK.replace("peek", "poke"))),
            "overlay 'tiny' of '0-9-1': two methods of basic have the index 130",
        ),
        (
            OVERLAY.format(BASIC.replace("basic", "simple").format(PEEK)),
            "amqp0-9-1.xml names class 60 'basic'",
        ),
        (
            OVERLAY.format(BASIC.format(PEEK.replace(' index="130"', ""))),
            "overlay 'tiny' of '0-9-1': <method> lacks the attribute 'index'",
        ),
    ],
)
def test_a_mistake(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SpecError, match=rf"^overlays\.xml:2: .*{message}"):
        emit(tmp_path, text.replace("{}", ""))
