"""Which of the files that were named are one recording, and which of them cannot be read."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import IO, Any

from .. import capture
from ..capture._limits import Limits, Unpacking, respell_limits
from ..capture._link import Arrangement, midstream_text
from ..capture._notices import (
    counted_noun,
    other_ports,
    other_protocols,
    translated_notice,
    unread_links_warning,
)
from ..capture._ports import DEFAULT_PORTS
from .errors import BAD_DATA, OK, USAGE, print_error
from .options import SourceOptions
from .uris import Uri, readable

__all__ = ["Group", "group_files", "limits", "one_by_one", "typed_limit"]

#: Packets that open a connection of TCP.
OPENING_PACKETS = 3
#: What stands for standard input.
STDIN = "-"


class Group:
    """Files that one reader reads: one file, or several that may be a rotation or taps."""

    def __init__(self, files: list[Path | Uri], arrangement: Arrangement = "auto") -> None:
        """files: in the order of the command line. arrangement: `files` of capture.read."""
        self.files = files
        self.arrangement = arrangement
        self.status = OK
        #: Directions that begin in the middle of a file that is one of several read alone.
        self.midstream = 0

    def __str__(self) -> str:
        more = len(self.files) - 1
        return f"{self.files[0]}" + (f" and {more} more" if more else "")

    @property
    def sources(self) -> Any:
        """What the reader takes."""
        if len(self.files) > 1:
            return [readable(file) for file in self.files]
        return sys.stdin.buffer if str(self.files[0]) == STDIN else readable(self.files[0])

    def open_reader(
        self, make: Callable[[Any], capture.Reader], watch: Callable[[IO[bytes]], IO[bytes]]
    ) -> capture.Reader | None:
        """A reader of those files that can be read, or None; of the others it is said why not."""
        # It is said by warn(), for each file.
        warnings.simplefilter("ignore", capture.CaptureWarning)
        while self.files:
            reader = make(self.sources)
            reader.watch(watch)
            if len(self.files) == 1:
                return reader  # it is looked at when it is read
            try:
                _ = reader.files
            except capture.CaptureError as error:
                bad = error.file
                print_error(str(error))
            except OSError as error:
                bad = str(error.filename)
                print_error(f"{bad}: {error.strerror or error}")
            else:
                return reader
            self.status = USAGE
            self.files = [file for file in self.files if str(file) != bad]
        return None

    def warn(
        self,
        reader: capture.Reader,
        note: str = "",
        *,
        complete: bool = True,
        interrupted: bool = False,
        find_ports: Callable[[Group], list[int]] | None = None,
    ) -> None:
        """What is unusual about the files that were read.

        note: what else to say of them all. complete: they were read to their ends. interrupted: by
        Ctrl-C, perhaps in the middle of a packet. find_ports: with AMQP that was not read.
        """
        headless: list[int] = []
        counted = reader.stats()
        if complete and find_ports is not None and _may_hide_amqp(counted):
            headless = find_ports(self)
        files = reader.file_stats()
        if hint := _tls_hint(files):
            print_error(f"{self}: {hint}")
        for stats in files:
            if unread := unread_links_warning(stats["unread_link_types"]):
                print_error(f"{stats['file'] or self}: {unread}")
            if twice := translated_notice(stats["translated_connections"]):
                print_error(f"{stats['file'] or self}: {twice}")
        damaged = [stats for stats in files if stats["damaged"] and not interrupted]
        if complete and files and not any(stats["frames"] for stats in files):
            print_error(f"{self}: no frame of AMQP{_instead(counted, headless)}")
            self.status = max(self.status, BAD_DATA)
        elif headless:
            names = ",".join(map(str, headless))
            detected = ",".join(map(str, sorted({*DEFAULT_PORTS, *headless})))
            print_error(
                f"{self}: not read: connections on port {names} that began before the recording,"
                f" or whose protocol header was lost; --ports {detected} reads them"
            )
        for number, stats in enumerate(damaged, 1):
            more = f" ({note})" if note and number == len(damaged) else ""
            damage = respell_limits(stats["damaged"], typed_limit)
            print_error(f"{stats['file'] or self}: {damage}{more}")
            self.status = max(self.status, BAD_DATA)
        alone = reader.not_in_rotation
        for stats in files:
            name, begun = stats["file"], midstream_text(stats["midstream"])
            if name in alone:
                if not (stats["midstream"] or name in reader.shared_connections):
                    continue  # a recording of its own
                hint = "--files rotation reads all files as one recording"
                middle = f": {begun}; {hint}" if stats["midstream"] else ""
                print_error(f"{name}: read alone, {alone[name]}{middle}")
            elif self.arrangement == "separate":
                self.midstream += stats["midstream"]
            elif stats["midstream"]:
                print_error(f"{name or self}: {begun}: what was sent before is not there")
        for name, original in reader.copies.items():
            print_error(
                f"{name}: not read, as it has the same bytes as {original};"
                " --files separate reads both"
            )
        if unsure := _unsure(files):
            print_error(f"{self}: {unsure}")
        for name in reader.overlaps:
            print_error(
                f"{name}: begins before the file before it ends; if they are not of one rotation,"
                " --files separate reads each by itself"
            )


def _unsure(files: Iterable[Mapping[str, Any]]) -> str:
    """What of events is not known although nothing in a row says so, or nothing.

    A message that came back has no question that is known, also in a whole recording: answers are
    counted where something was not recorded.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for stats in files:
        if stats["gaps"] or stats["midstream"]:
            counts["answer", "without a question"] += stats.get("unmatched_answers", 0)
        counts["answer", "before its question"] += stats.get("negative_durations", 0)
        counts["count", "that a confirm contradicted"] += stats.get("contradicted_counts", 0)
        counts["thing", "forgotten (--max-tracked)"] += sum(stats.get("forgotten", {}).values())
    return ", ".join(
        f"{counted_noun(count, noun)} {what}" for (noun, what), count in counts.items() if count
    )


def typed_limit(name: str, value: str) -> str:
    """A limit as it is typed: ``--max-decompressed-bytes 700``."""
    return f"--{name.replace('_', '-')} {value}"


def _tls_hint(files: Iterable[Mapping[str, Any]]) -> str:
    """What is needed to read the connections over TLS that were not, or nothing."""
    over = sum(stats["tls_connections"] - stats["tls_decrypted"] for stats in files)
    if over <= 0:
        return ""
    reasons: Counter[str] = sum((Counter(stats["tls_reasons"]) for stats in files), Counter())
    reason = f" ({reasons.most_common(1)[0][0]})" if reasons else ""
    are = "is" if over == 1 else "are"
    unread = f"{counted_noun(over, 'connection')} {are} over TLS and not read{reason}"
    return f"{unread}; --keylog FILE has the secrets of TLS"


def _may_hide_amqp(counted: Mapping[str, Any]) -> bool:
    """Whether packets were skipped that may be of connections with AMQP.

    Of a connection whose protocol header is there, its opening is skipped.
    """
    skipped = counted["skipped"].get("other ports", 0)
    if not counted["frames"]:
        return bool(skipped)
    return bool(skipped > OPENING_PACKETS * sum(counted["detected_ports"].values()) > 0)


def _instead(counted: Mapping[str, Any], headless: Iterable[int]) -> str:
    """What was found where nothing was AMQP, and what to do.

    headless: ports with AMQP whose protocol headers are not there.
    """
    findings = [f"{counted_noun(n, 'packet')}: {why}" for why, n in counted["skipped"].items()]
    if not counted["packets"]:
        findings.append("no packet was recorded")
    findings += other_protocols(counted)
    hint = ""
    if ports := other_ports(counted):
        hint = f"; a protocol header was sent to {ports}: --ports {ports}"
    elif ports := ",".join(map(str, headless)):
        hint = f"; frames of AMQP were sent to port {ports}: --ports {ports}"
    elif "other ports" in counted["skipped"]:
        hint = "; --ports names others"
    return f" ({', '.join(findings)}{hint})" if findings else ""


def limits(source: SourceOptions, kind: type[Unpacking] = Limits) -> dict[str, Any]:
    """The limits of this kind that were given, as readers take them."""
    names = {limit_field.name for limit_field in fields(kind)}
    return {name: limit for name, limit in source.limits.items() if name in names}


def group_files(files: Iterable[Path | Uri], arrangement: Arrangement) -> Iterator[Group]:
    """Groups of files, each for one reader. Standard input is never part of a larger group."""
    files = list(dict.fromkeys(files))
    if arrangement == "separate" and len(files) > 1:
        for file in files:
            yield Group([file], "separate")
    elif any(str(file) == STDIN for file in files):
        for file in files:
            yield Group([file])
    elif files:
        yield Group(files, arrangement)


def one_by_one(groups: Iterable[Group]) -> Iterator[Group]:
    """Groups to be read; after them it is said how much began in the middle of files alone."""
    begun: list[Group] = []
    try:
        for group in groups:
            begun.append(group)
            yield group
    finally:
        middles = [group.midstream for group in begun if group.midstream]
        if middles:
            notice = midstream_text(sum(middles))
            of = f"{len(middles):,} of {counted_noun(len(begun), 'file')}"
            print_error(f"--files separate: {notice} of {of}: what was sent before is not there")
