"""``amqpcodec stats``: what captures hold, counted."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from .. import capture
from . import BAD_DATA, OK, USAGE, Problem, complain
from .groups import Group, grouped
from .progress import Progress

__all__ = ["stats"]


def stats(options: argparse.Namespace) -> int:
    """Count every file, and write what was counted."""
    status = OK
    with Progress(None) as bar:
        for group in grouped(options.files, options.chain):
            try:
                counted = count(options, group, bar)
            except capture.CaptureError as error:
                place = "" if str(group) in str(error) else f"{group}: "
                complain(f"{place}{error}")
                status = USAGE
                continue
            except OSError as error:
                complain(f"{group}: {error.strerror or error}")
                status = USAGE
                continue
            except ValueError as error:
                raise Problem(str(error)) from None
            for of_file in counted:
                if options.format == "json":
                    print(json.dumps(of_file, ensure_ascii=False, separators=(",", ":")))
                else:
                    sys.stdout.writelines(f"{line}\n" for line in shown(of_file))
                if of_file["errors"]:
                    status = max(status, BAD_DATA)
            status = max(status, group.status)
    return status


def count(options: argparse.Namespace, group: Group, bar: Progress) -> list[dict[str, Any]]:
    """What each file of a group holds."""

    def make(sources: Any) -> capture.Reader:
        return capture.Reader(
            sources, fields=["error"], ports=options.ports, protocol=options.protocol
        )

    reader = group.opened(make, bar.watch)
    if reader is None:
        return []
    counted = reader.count()
    group.warn(reader)
    return counted


def shown(counted: Mapping[str, Any]) -> Iterator[str]:
    """A line a number; those of a group below its name. The file's name stands above all."""
    yield str(counted["file"])
    yield from _group({name: value for name, value in counted.items() if name != "file"}, "  ")


def _group(counted: Mapping[str, Any], indent: str) -> Iterator[str]:
    width = max((len(name) for name in counted), default=0)
    for name, value in counted.items():
        label = f"{indent}{name.replace('_', ' '):<{width}}"
        if isinstance(value, Mapping):
            if value:
                yield label.rstrip()
                yield from _group(value, indent + "  ")
        elif isinstance(value, int):
            yield f"{label}  {value:>11,}"
        elif value is not None:
            yield f"{label}  {value}"
