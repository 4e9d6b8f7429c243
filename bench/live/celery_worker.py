"""A Celery worker for one measurement: `python -m bench.live.celery_worker HOST PORT SIDE COUNT`.

SIDE is "stock", "dropin" or "free". Prints CPU seconds a task of the worker's main process, and
its calls into the compiled codec, once it took so many, and works until it is killed.
"""

import sys
from contextlib import nullcontext

from amqpcodec.compat import drop_in
from bench.live.clients import Celery
from bench.live.free import free


def main() -> None:
    """Take tasks."""
    host, port, side, count = sys.argv[1:]
    if side == "dropin":
        drop_in(Celery.dropin).install()
    with free(Celery.dropin) if side == "free" else nullcontext():
        Celery(host, int(port)).work(int(count))


if __name__ == "__main__":
    main()
