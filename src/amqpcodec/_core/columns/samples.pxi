# Messages that have a value for each column, decoded when the module is loaded: a column is refused that no code
# fills, or that some path leaves out.

cdef enum:
    FEW_ALIKE = 8
    MANY_ALIKE = 160        # of which most are messages of a run

# basic.publish with a content, and a frame that breaks off.
cdef tuple SAMPLES = (
    bytes.fromhex("01 0001 0000000b 003c002800000165016b01 ce"
                  "02 0001 0000001b 003c00000000000000000004208000000007016e4900000001016d ce"
                  "03 0001 00000004 626f6479 ce"),
    bytes.fromhex("01 0001 00000002 0001 ce"))

# Transfers with sections of every kind: data, a value, a sequence; a flow, and a performative that there is not.
cdef tuple V1_SAMPLES = (
    bytes.fromhex("0000005b 02000001 005314c00905435201a001744341 005370c0020141 005371c10602a101645501"
                  "005372c10602a1016d5501 005373c00401a1016d 005374c10602a1016e5501 005375a004626f6479"
                  "005378c10602a101665501"),
    bytes.fromhex("00000020 02000001 005314c00905435201a001744341 005377a10576616c7565"),
    bytes.fromhex("0000001e 02000001 005314c00905435201a001744341 005376c003015501"),
    bytes.fromhex("00000012 02000001 005313c0050440434343"),
    bytes.fromhex("0000000c 02000001 00539945"))

# Where one of these is asked for, every field of a frame is looked at.
cdef tuple CHECKED_ALL = ("arguments", "properties_json", "error", "error_offset")


cdef list rows_with_values(object protocol, str level, str layout, list names, bytes data):
    """How many rows have a value of each column, and how many there are."""
    cdef Columns out = decode_columns(protocol, data, names, "PERMISSIVE", "rabbitmq", 0x7FFFFFFF, level, layout)
    cdef int i
    return [out.table.column[out.order[i]].present for i in range(out.n)] + [out.table.rows]


cdef int check_level(object protocol, str level, str rows, list lines, list names, tuple samples) except -1:
    """lines: of the columns of a level, called so in names. rows: what errors call it."""
    cdef Protocol legacy = <Protocol>protocol if isinstance(protocol, Protocol) else None
    cdef list total = [0] * (len(names) + 1)
    # Frames of which not everything is looked at take other paths; where runs write all columns, they begin.
    some = [name for name in names if name not in CHECKED_ALL]
    tries = [("plain", 1, names), ("plain", FEW_ALIKE, names), ("plain", 1, some), ("plain", FEW_ALIKE, some)]
    if legacy is not None and level == "message":
        tries.append(("view", MANY_ALIKE, [name for name, line in zip(names, lines) if line[7]]))
    for data in samples:
        for layout, copies, chosen in tries:
            # Of a sample of 0-x that is alone no frame takes the fast path; 1.0 has none at the end of the input.
            if legacy is not None:
                legacy.fast = copies > 1
            counts = rows_with_values(protocol, level, layout, chosen, copies * data)
            if chosen is names and copies == 1:
                expected = dict(zip(names, counts))
                total = [before + n for before, n in zip(total, counts)]
            for name, n in zip(chosen, counts):
                if n != copies * expected[name]:
                    raise ImportError(f"a path of {rows} does not fill the column {name!r} as another one does: "
                                      f"see docs/design.md, a column")
    for line, name, n in zip(lines, names, total):
        if n == 0:
            raise ImportError(f"no code fills the column {name!r} for {rows}: see docs/design.md, a column")
        if not line[4] and n != total[len(names)]:
            raise ImportError(f"the column {name!r} is not nullable, and not every row of {rows} has a value")
    return 0


def check_columns(tuple columns, tuple samples, tuple v1_samples):
    """Refuse columns that no code fills, or not on every path. The module does so when loaded.

    columns: as NAMED_COLUMNS. samples, v1_samples: inputs of 0-x and of 1.0 that together have a value for each
    column. Raises ImportError."""
    cdef int k
    legacy = Protocol(SAMPLE_TABLE)
    v1 = V1Core(V1_SAMPLE_TABLE)
    for line in columns:
        if BLOCK_WRITERS[<int>line[0]] != NULL and BLOCK_TYPES[<int>line[0]] != COLUMN_KINDS[line[3]]:
            raise ImportError(f"the BlockWriter of the column {line[1]!r} writes another type than {line[3]!r}")
    for k, rows in enumerate(("frames of 0-x", "messages of 0-x", "frames of 1.0", "messages of 1.0")):
        lines = [line for line in columns if line[5][k] != NEVER]
        check_level(v1 if k & 2 else legacy, "message" if k & 1 else "frame", rows, lines,
                    [line[2 if k & 2 else 1] for line in lines], v1_samples if k & 2 else samples)


def named_columns():
    """For tests: NAMED_COLUMNS."""
    return NAMED_COLUMNS


check_columns(NAMED_COLUMNS, SAMPLES, V1_SAMPLES)
