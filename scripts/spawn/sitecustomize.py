"""Python starts worker processes by `spawn`, as it does on macOS and Windows.

    PYTHONPATH=scripts/spawn make build

A worker then imports the program that started it, as the default of Linux since Python 3.14
(`forkserver`) lets it do, too. What works only where a worker is forked fails under this setting.
"""

import multiprocessing

multiprocessing.set_start_method("spawn", force=True)
