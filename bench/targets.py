"""What is measured against what: one entry a line of the table, gates and goals included.

A cell is (peer, operation, workload): see the peers' modules for what each operation calls. A
ratio is the peer's time a frame over ours, so 28 means 28 times faster, and "at most" rows turn it
round: our time over the peer's.
"""

from dataclasses import dataclass

from bench.peers import OURS

Cell = tuple[str, str, str]


@dataclass(frozen=True)
class Against:
    """One peer of a row. Without a gate the ratio is reported and judged by nobody."""

    cell: Cell
    gate: float | None = None
    goal: float | None = None
    at_most: bool = False

    @property
    def peer(self) -> str:
        """The peer's name."""
        return self.cell[0]

    @property
    def limits(self) -> str:
        """Gate and goal as text."""
        if self.gate is None or self.goal is None:
            return ""
        sign = "≤ " if self.at_most else ""
        return f"({sign}{self.gate:g} / {sign}{self.goal:g})"


@dataclass(frozen=True)
class Row:
    """A line of the table. Without `ours` it is not there yet and comes with its issue."""

    what: str
    ours: Cell | None = None
    against: tuple[Against, ...] = ()
    issue: int = 2
    limits: str = ""  # gate and goal, as text, of a row that nothing measures yet
    target: bool = True  # False: reported for its own sake, without a gate


def _row(
    what: str,
    operation: str,
    workload: str,
    theirs: str | None = None,
    **limits: tuple[float | None, float | None],
) -> Row:
    """A row against peers on the same workload; keywords are peers, their values gate and goal."""
    against = tuple(
        Against((peer.replace("_", "-"), theirs or operation, workload), *limit)
        for peer, limit in limits.items()
    )
    return Row(what, (OURS, operation, workload), against)


def _info(
    what: str,
    operation: str,
    workload: str,
    theirs: str | None = None,
    peers: tuple[str, ...] = ("pamqp", "pika", "py-amqp", "msgspec"),
) -> Row:
    """A row without gates."""
    against = tuple(Against((peer, theirs or operation, workload)) for peer in peers)
    return Row(what, (OURS, operation, workload), against, target=False)


def _drop_in(peer: str, operation: str, gate: float, goal: float) -> Row:
    """A client with its drop-in against the client without: bench/dropins.py."""
    name = f"drop-in {peer} {operation}"
    what = f"drop-in for {peer}, the client's own objects, W1 {operation}"
    return Row(what, (OURS, name, "W1"), (Against((peer, name, "W1"), gate, goal),), 4)


def _batch(what: str, operation: str, issue: int, *against: Against) -> Row:
    """A row of `batch.decode`: W1 from memory, against a call a frame on W1."""
    return Row(what, (OURS, operation, "W1"), against, issue)


COPY = ("memcpy", "copy", "W1")
# Views are measured at message level, with arguments and properties one by one: all that the frames
# hold in 26 columns, as many as the hand-written C of offsets had, and no text that has to be made.

#: What has to be as fast as 0-9-1, on the same octets.
VERSIONS = (
    ("AMQP 0-9", "amqpcodec-0-9"),
    ("AMQP 0-8", "amqpcodec-0-8"),
    ("a specification loaded at run time", "amqpcodec-xml"),
)
VERSION_WORK = (
    ("one frame a call, W1 decode", "decode"),
    ("message stream, eager, W1", "stream"),
    ("one frame a call, W1 encode", "encode"),
    ("message stream encode, W1", "encode_message"),
)

ROWS: tuple[Row, ...] = (
    _row(
        "one frame a call, W1 decode",
        "decode",
        "W1",
        pamqp=(28, 36),
        pika=(17, 21),
        py_amqp=(20, 26),
        msgspec=(1.15, 1.4),
    ),
    _row(
        "one frame a call, W4 decode",
        "decode",
        "W4",
        pamqp=(40, 60),
        pika=(19, 29),
        msgspec=(1.25, 1.9),
    ),
    _row(
        "message stream, eager, W1",
        "stream",
        "W1",
        theirs="decode",
        pamqp=(50, 62),
        pika=(30, 36),
        msgspec=(1.8, 2.2),
    ),
    _row(
        "message stream, lazy headers, W1",
        "lazy",
        "W1",
        theirs="decode",
        pamqp=(100, 130),
        pika=(60, 77),
        msgspec=(4, 5),
    ),
    _row("W3 decode", "decode", "W3", pamqp=(15, 20), pika=(13, 18), msgspec=(0.65, 0.9)),
    _row(
        "one frame a call, W1 encode",
        "encode",
        "W1",
        pamqp=(38, 49),
        pika=(19, 25),
        py_amqp=(32, 42),
        msgspec=(0.9, 1.2),
    ),
    _row(
        "message stream encode, W1",
        "encode_message",
        "W1",
        theirs="encode",
        pamqp=(90, 116),
        pika=(45, 58),
        msgspec=(2, 2.6),
    ),
    _row("construct + encode, W4", "construct", "W4", pamqp=(20, 35), pika=(10, 18)),
    _batch(
        "batch decode to offsets or views (DRAM data)",
        "views",
        3,
        Against(("pamqp", "decode", "W1"), 500, 650),
        Against(("msgspec", "decode", "W1"), 18, 23),
        Against(("rabbitmq-c", "decode_memory", "W1"), 1.5, 2),
    ),
    _batch("… time against memcpy of the same bytes", "views", 3, Against(COPY, 1.1, 0.9, True)),
    _batch(
        "batch decode to a full Arrow table",
        "table",
        2,
        Against(("pamqp", "decode", "W1"), 150, 200),
        Against(("pika", "decode", "W1"), 90, 120),
        Against(("msgspec", "decode", "W1"), 5.5, 7),
    ),
    _batch("… time against memcpy", "table", 2, Against(COPY, 3.8, 3, True)),
    _batch(
        "batch encode, headers as a struct",
        "encode_columns",
        3,
        Against(("pamqp", "encode", "W1"), 330, 430),
        Against(("msgspec", "encode", "W1"), 7, 9.5),
        Against(("rabbitmq-c", "encode_memory", "W1"), 1.4, 1.9),
    ),
    _batch(
        "… time against memcpy of the output", "encode_columns", 3, Against(COPY, 1.6, 1.25, True)
    ),
    _batch(
        "batch encode, headers as JSON text",
        "encode_json",
        3,
        Against(("pamqp", "encode", "W1")),
        Against(("msgspec", "encode", "W1")),
    ),
    _batch(
        "batch encode, headers as a map",
        "encode_map",
        3,
        Against(("pamqp", "encode", "W1")),
        Against(("msgspec", "encode", "W1")),
    ),
    _drop_in("pamqp", "decode", 15, 20),
    _drop_in("pamqp", "encode", 20, 30),
    _drop_in("pika", "decode", 7, 8.4),
    _drop_in("pika", "encode", 10, 15),
    _drop_in("py-amqp", "decode", 8, 12),
    _drop_in("py-amqp", "encode", 12, 20),
    _batch(
        "two threads on pre-split input, full table, wall time, vs one",
        "threads",
        3,
        Against(("one thread", "threads", "W1"), 1.7, 1.9),
    ),
    Row(
        "Spark: decode of 20 columns vs identity mapInArrow writing the same columns",
        (OURS, "spark", "W1"),
        (Against(("identity", "spark", "W1"), 1.15, 1.05, True),),
        3,
    ),
    Row(
        "capture file to frames, one core, vs tshark with out-of-order reassembly",
        (OURS, "capture", "recording"),
        (
            Against(("tshark", "capture", "recording"), 30, 100),
            # Where there is no tshark to measure: a constant, see bench/capture.py.
            Against(("tshark-stated", "capture", "recording"), 30, 100),
        ),
        3,
    ),
    *(
        Row(
            f"{name}, {what}: time against 0-9-1",
            (peer, operation, "W1"),
            (Against((OURS, operation, "W1"), 1.05, 1.0, True),),
            5,
        )
        for name, peer in VERSIONS
        for what, operation in VERSION_WORK
    ),
    # what the gates do not cover, so that nothing is tuned to the gates alone
    _info("W1 decode, each frame found by what the last consumed", "walk", "W1", theirs="decode"),
    _info("W1 decode, Decoder.feed, frames not joined", "frames", "W1", theirs="decode"),
    _info("W2a decode, one frame a call (64 KiB bodies)", "decode", "W2a"),
    _info("W2b decode, one frame a call (frame_max 4096)", "decode", "W2b"),
    _info("W2a message stream, eager", "stream", "W2a", theirs="decode"),
    _info("W2b message stream, eager", "stream", "W2b", theirs="decode"),
    _info("W2a message stream encode", "encode_message", "W2a", theirs="encode"),
    _info("W2b message stream encode", "encode_message", "W2b", theirs="encode"),
    _info("W3 encode", "encode", "W3", peers=("pamqp", "msgspec")),
    _info("W4 encode, one frame a call", "encode", "W4"),
    _info("construct + encode, W4, the others", "construct", "W4", peers=("py-amqp", "msgspec")),
    *(
        Row(
            f"batch, every text of its own length: {what}",
            (OURS, operation, "W1 uneven"),
            (
                Against(("pamqp", theirs, "W1 uneven")),
                Against(("msgspec", theirs, "W1 uneven")),
                Against(("rabbitmq-c", f"{theirs}_memory", "W1 uneven")),
            ),
            3,
            target=False,
        )
        for what, operation, theirs in (
            ("decode to views", "views", "decode"),
            ("decode to a full Arrow table", "table", "decode"),
            ("encode, headers as a struct", "encode_columns", "encode"),
        )
    ),
    _info("cache-hostile decode, one frame a call", "decode", "hostile"),
    _info("cache-hostile message stream, eager", "stream", "hostile", theirs="decode"),
    _info("cache-hostile encode, one frame a call", "encode", "hostile"),
    _info("cache-hostile message stream encode", "encode_message", "hostile", theirs="encode"),
)


def cells(rows: tuple[Row, ...] | list[Row]) -> list[Cell]:
    """Every cell of these rows once, so that those compared stand next to each other."""
    found: dict[Cell, None] = {}
    for row in rows:
        if row.ours:
            found[row.ours] = None
            found.update(dict.fromkeys(against.cell for against in row.against))
    return list(found)
