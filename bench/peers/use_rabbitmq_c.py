"""rabbitmq-c, where its headers, library and a C compiler are there (Debian: librabbitmq-dev)."""

import ctypes

from bench import workloads
from bench.peers.c_loop import compiled
from bench.work import Peer, Work, WrongResultError, compare
from bench.workloads import Workload

NAMES = ("frames", "delivery_tags", "header_entries", "message_id_octets", "body_octets")


class Figures(ctypes.Structure):
    """What the C loop adds up; the names are those of its struct."""

    _fields_ = [(name, ctypes.c_uint64) for name in NAMES]


class RabbitmqC(Peer):
    name = "rabbitmq-c"
    distribution = ""

    def __init__(self) -> None:
        library = compiled("rabbitmq-c", "rabbitmqc_loop.inc", "rabbitmq")
        self._decode = library.bench_decode
        self._decode.restype = ctypes.c_size_t
        self._decode.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(Figures)]
        self._prepare = library.bench_prepare
        self._prepare.restype = ctypes.c_void_p
        self._prepare.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t]
        self._encode = library.bench_encode
        self._encode.restype = ctypes.c_size_t
        self._encode.argtypes = [
            *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t),
            *(ctypes.c_void_p, ctypes.c_size_t),
        ]

    def decode_memory(self, workload: Workload) -> Work:
        """The blocks of memory, a call a block."""
        import numpy  # the address of a read-only view; ctypes takes writable ones only

        figures, decode = Figures(), self._decode
        blocks = [
            (numpy.frombuffer(block, dtype="u1").ctypes.data, len(block))
            for block in workloads.memory_blocks(workload.name)
        ]

        def run() -> None:
            for address, size in blocks:
                decode(address, size, figures)

        def check() -> None:
            figures = Figures()
            address, size = blocks[0]
            failed = decode(address, size, figures)
            repeats = workloads.BLOCK_REPEATS
            expected = [
                workload.frames,
                sum(event.arguments["delivery_tag"] for event in workload.events),
                sum(len((event.properties or {})["headers"]) for event in workload.events),
                sum(len((event.properties or {})["message_id"]) for event in workload.events),
                sum(len(event.body or b"") for event in workload.events),
            ]
            got = [getattr(figures, name) for name in NAMES]
            if failed or got != [repeats * figure for figure in expected]:
                raise WrongResultError(f"rabbitmq-c: {got} is not {repeats} times {expected}")

        return Work(run, workload.frames * workloads.REPEATS, check)

    def encode_memory(self, workload: Workload) -> Work:
        """Messages from its own structs into a block of memory, a call a block.

        They are the workload's, over and over, and stay in the cache; columns come from memory.
        """
        data, events = workload.data, len(workload.events)
        prepared = self._prepare(data, len(data), events)
        if not prepared:
            raise WrongResultError("rabbitmq-c cannot read the workload")
        room = len(data) * workloads.BLOCK_REPEATS
        # the encoder wants to see that an empty string more would fit
        block = ctypes.create_string_buffer(room + 64)
        encode = self._encode

        def run() -> None:
            for _ in range(workloads.BLOCKS):
                encode(prepared, events, workloads.BLOCK_REPEATS, block, len(block))

        def check() -> None:
            size = encode(prepared, events, workloads.BLOCK_REPEATS, block, len(block))
            compare(self.name, [size, block.raw[:size]], [room, data * workloads.BLOCK_REPEATS])

        return Work(run, workload.frames * workloads.REPEATS, check)


PEER = RabbitmqC
