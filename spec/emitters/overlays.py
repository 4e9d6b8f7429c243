"""What brokers lay over a published version, as the lowered methods that change."""

from __future__ import annotations

import copy
import io
import pprint
from collections import Counter
from pathlib import Path
from typing import Any

from lxml import etree

from amqpcodec.spec.errors import SpecError
from amqpcodec.spec.loader import load
from amqpcodec.spec.lower import lower
from amqpcodec.spec.model import Protocol


def emit_overlays(path: Path, versions: dict[str, Path]) -> str:
    """Source of ``_gen/overlays.py``. versions: the XML of each version by its name.

    Raises:
        SpecError: an overlay is wrong; its line is that of the overlay, as those of the methods
            laid over a version count in the merged text.
    """
    overlays: dict[tuple[str, str], tuple[dict[str, Any], ...]] = {}
    for overlay in etree.parse(path).getroot().iterchildren("overlay"):
        version, name = overlay.get("version"), overlay.get("name")
        try:
            if not name or version not in versions:
                raise SpecError(f"an overlay has a name and a version of {', '.join(versions)}")
            if (version, name) in overlays:
                raise SpecError("there are two")
            overlays[version, name] = _changes(
                load(versions[version]), _merged(versions[version], overlay)
            )
        except SpecError as error:
            what = f"overlay {name!r} of {version!r}: {error.what}"
            raise SpecError(what, path.name, overlay.sourceline) from None
    return "\n".join(
        [
            '"""What brokers lay over a version: (version, name) -> classes with what changes."""',
            "",
            "OVERLAYS = " + pprint.pformat(overlays, width=98, sort_dicts=False),
            "",
        ]
    )


def _merged(path: Path, overlay: Any) -> Protocol:
    """The version with the overlay's methods, checked as any specification."""
    root = etree.parse(path).getroot()
    for cls in overlay.iterchildren("class"):
        numbers = Counter(method.get("index") for method in cls.iterchildren("method"))
        if twice := [number for number, times in numbers.items() if number and times > 1]:
            raise SpecError(f"two methods of {cls.get('name')} have the index {twice[0]}")
        for method in cls.iterchildren("method"):
            method.set("extension", overlay.get("name"))
        base_class = root.find(f"class[@index='{cls.get('index')}']")
        if base_class is None:
            cls = copy.deepcopy(cls)
            cls.set("extension", overlay.get("name"))
            root.append(cls)
            continue
        if base_class.get("name") != cls.get("name"):
            raise SpecError(
                f"{path.name} names class {cls.get('index')} {base_class.get('name')!r}"
            )
        for method in cls.iterchildren("method"):
            old = base_class.find(f"method[@index='{method.get('index')}']")
            if old is None:
                base_class.append(copy.deepcopy(method))
            else:
                base_class.replace(old, copy.deepcopy(method))
    return load(io.BytesIO(etree.tostring(root)))


def _changes(base: Protocol, merged: Protocol) -> tuple[dict[str, Any], ...]:
    """Classes of the merged version, with the methods alone that the base has not."""
    base_methods = {cls["index"]: cls["methods"] for cls in lower(base, "")["classes"]}
    changes = []
    for cls in lower(merged, "")["classes"]:
        same = base_methods.get(cls["index"], ())
        methods = tuple(method for method in cls["methods"] if method not in same)
        if methods:
            changes.append({**cls, "methods": methods})
    return tuple(changes)
