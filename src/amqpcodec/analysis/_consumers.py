"""Queues of consumers that began before a recording, of what rabbitmqctl list_consumers printed."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["NEEDED", "Consumers"]

#: Columns of events without which no queue can be told.
NEEDED = ("event", "queue", "consumer_tag", "certainty")
QUEUE, TAG = "queue_name", "consumer_tag"


class Consumers:
    """Queues by the tags of their consumers. A tag that two queues have says nothing.

    Attributes:
        tags, queues: of the same length.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """path: what rabbitmqctl printed, as a table with its header, or with --formatter json.

        Raises:
            ValueError: the file is something else.
            OSError: it cannot be read.
        """
        queues_by_tag: dict[str, set[str]] = {}
        with open(path, "rb") as file:
            content = file.read()
        try:
            for tag, queue in _listed(content.decode()):
                queues_by_tag.setdefault(tag, set()).add(queue)
        except ValueError:
            raise ValueError(
                f"{os.fspath(path)}: it is no list of consumers with queue_name and consumer_tag,"
                " as rabbitmqctl list_consumers prints it"
            ) from None
        pairs = sorted((tag, *queues) for tag, queues in queues_by_tag.items() if len(queues) == 1)
        self.tags = pa.array([tag for tag, _ in pairs], pa.string())
        self.queues = pa.array([queue for _, queue in pairs], pa.string())

    def fill(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The same events, with the queues of consumers whose beginning was not recorded.

        batch: has the columns NEEDED. A queue that was filled in is "inferred".
        """
        at = pc.index_in(batch.column("consumer_tag"), self.tags)
        is_new = pc.and_(pc.is_null(batch.column("queue")), pc.is_valid(at))
        if not pc.any(is_new).as_py():
            return batch
        is_delivered = pc.and_(is_new, pc.equal(batch.column("event"), "delivered"))
        for name, where, values in (
            ("queue", is_new, pc.take(self.queues, at)),
            ("certainty", is_delivered, "inferred"),
        ):
            place = batch.schema.get_field_index(name)
            filled = pc.if_else(where, values, batch.column(name))
            batch = batch.set_column(place, batch.schema.field(name), filled)
        return batch

    def fill_all(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """fill() each of them."""
        return map(self.fill, batches)


def _listed(text: str) -> Iterator[tuple[str, str]]:
    """(tag, queue) of each row.

    Raises:
        ValueError: there is no header with both names, or a row is shorter.
    """
    if text.lstrip().startswith("["):
        for row in json.loads(text):
            if not isinstance(row, dict):
                raise ValueError
            yield _pair(row.get(TAG), row.get(QUEUE))
        return
    lines = text.splitlines()
    while lines and not {QUEUE, TAG} <= set(lines[0].replace(",", "\t").split("\t")):
        del lines[0]  # such as "Listing consumers in vhost / ..."
    if not lines:
        raise ValueError
    for row in csv.DictReader(lines, delimiter="\t" if "\t" in lines[0] else ","):
        yield _pair(row[TAG], row[QUEUE])


def _pair(tag: object, queue: object) -> tuple[str, str]:
    if not isinstance(tag, str) or not isinstance(queue, str):
        raise ValueError
    return tag, queue
