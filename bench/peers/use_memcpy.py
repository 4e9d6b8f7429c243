"""memcpy of the same bytes, memory to memory: the floor of anything that reads them all."""

from bench import workloads
from bench.work import Peer, Work, compare
from bench.workloads import Workload


class Memcpy(Peer):
    name = "memcpy"
    distribution = ""

    def copy(self, workload: Workload) -> Work:
        """The workload's blocks of memory into other memory, one call of memcpy a block.

        Assigning a view to a view copies at once; a bytearray would make a copy of its own first.
        """
        sources = workloads.memory_blocks(workload.name)
        memory = memoryview(bytearray(sum(map(len, sources))))
        targets = [
            memory[index * len(source) : (index + 1) * len(source)]
            for index, source in enumerate(sources)
        ]
        pairs = list(zip(targets, sources, strict=True))

        def run() -> None:
            for target, source in pairs:
                target[:] = source

        def check() -> None:
            run()
            compare(self.name, map(bytes, targets), map(bytes, sources))

        return Work(run, workload.frames * workloads.REPEATS, check)


PEER = Memcpy
