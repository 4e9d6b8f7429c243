"""A Celery worker for one measurement: `python -m bench.live.celery_worker HOST PORT SIDE COUNT`.

SIDE is "stock", "dropin" or "free". Prints CPU seconds a task of the worker's main process, last.
"""

import sys
from contextlib import nullcontext

from amqpcodec.compat import drop_in
from bench.live.clients import Celery
from bench.live.free import free


def main() -> None:
    """Work until so many tasks have come."""
    host, port, side, count = sys.argv[1:]
    if side == "dropin":
        drop_in(Celery.dropin).install()
    with free(Celery.dropin) if side == "free" else nullcontext():
        print(Celery(host, int(port)).work(int(count)), flush=True)


if __name__ == "__main__":
    main()
