"""``amqpcodec stats``: what captures hold, counted."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .. import capture
from .._facade.escaping import escaped, escaped_json
from .errors import BAD_DATA, OK, USAGE, UsageError, print_error
from .groups import Group, group_files, limits, one_by_one
from .options import SourceOptions, StatsOptions
from .progress import Progress
from .traces import trace_hint

__all__ = ["stats"]


def stats(options: StatsOptions) -> int:
    """Count every file, and write what was counted."""
    source, status = options.source, OK
    with Progress(None) as bar:
        for group in one_by_one(group_files(source.files, source.arrangement)):
            try:
                counted = count(source, group, bar)
            except capture.CaptureError as error:
                place = "" if str(group) in str(error) else f"{group}: "
                print_error(f"{place}{error}{trace_hint(group.files)}")
                status = USAGE
                continue
            except OSError as error:
                print_error(f"{group}: {error.strerror or error}")
                status = USAGE
                continue
            except ValueError as error:
                raise UsageError(str(error)) from None
            for of_file in counted:
                if options.format == "json":
                    line = json.dumps(of_file, ensure_ascii=False, separators=(",", ":"))
                    print(escaped_json(line))
                else:
                    sys.stdout.writelines(f"{escaped(line)}\n" for line in shown(of_file))
                if of_file["errors"] > sum(of_file["closes"].values()):
                    status = max(status, BAD_DATA)
            status = max(status, group.status)
    return status


class Closes(capture.Reader):
    """A reader that also counts what was closed because of an error, by file."""

    def __init__(self, sources: Any, protocol: str | None, **more: Any) -> None:
        """more: of capture.Reader."""
        self.method = "performative" if protocol == "1.0" else "method"
        fields = [self.method, "arguments", "error", "file"]
        super().__init__(sources, fields=fields, protocol=protocol, **more)
        self.closes: dict[str, Counter[str]] = {}

    def __iter__(self) -> Iterator[capture.Batch]:
        """The batches, as they are read."""
        for core_batch in super().__iter__():
            batch = pa.record_batch(core_batch)
            close_rows = batch.filter(pc.is_in(batch.column(self.method), CLOSES))
            columns = (
                close_rows.column(name).to_pylist() for name in ("file", self.method, "arguments")
            )
            for file, method, arguments in zip(*columns, strict=True):
                if (code := _code(json.loads(arguments) if arguments else {})) is not None:
                    self.closes.setdefault(file, Counter())[f"{method} {code}"] += 1
            yield core_batch


#: Methods and performatives that end something, perhaps because of an error.
CLOSES = pa.array(["connection.close", "channel.close", "close", "end", "detach"])


def _code(fields: Mapping[str, Any]) -> str | None:
    """The reply code or condition of an error, or None."""
    if isinstance(fields.get("error"), Mapping):
        return str(fields["error"].get("condition"))
    code = fields.get("reply_code")
    return None if code in (None, 0, 200) else str(code)


def count(source: SourceOptions, group: Group, bar: Progress) -> list[dict[str, Any]]:
    """What each file of a group holds: that of capture.stats(), with closes among the errors."""

    def make(sources: Any) -> capture.Reader:
        return Closes(
            sources,
            source.protocol,
            ports=source.ports,
            files=group.arrangement,
            keylog=source.keylog,
            **limits(source),
        )

    reader = group.open_reader(make, bar.watch)
    if reader is None:
        return []
    counted = reader.count()
    group.warn(reader)
    assert isinstance(reader, Closes)
    for of_file in counted:
        name = of_file["file"]
        # The same name as in rows, where text is UTF-8.
        of_file["file"] = name.encode("utf-8", "backslashreplace").decode()
        closes = dict(sorted(reader.closes.get(of_file["file"], {}).items()))
        of_file["closes"] = closes
        of_file["errors"] += sum(closes.values())
    return counted


def shown(counted: Mapping[str, Any]) -> Iterator[str]:
    """A line a number; those of a group below its name. The file's name stands above all."""
    yield str(counted["file"])
    yield from _group({name: value for name, value in counted.items() if name != "file"}, "  ")


def _group(counted: Mapping[str, Any], indent: str) -> Iterator[str]:
    width = max((len(name) for name in counted), default=0)
    for name, value in counted.items():
        title = name.replace("_", " ").replace("octets", "bytes")
        label = f"{indent}{title:<{width}}"
        if isinstance(value, Mapping):
            if value:
                yield label.rstrip()
                yield from _group(value, indent + "  ")
        elif isinstance(value, int):
            yield f"{label}  {value:>11,}"
        elif value is not None:
            yield f"{label}  {value}"
