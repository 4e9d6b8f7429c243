"""The extension modules and their compiler flags; metadata is in pyproject.toml."""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from Cython.Compiler import Options
from setuptools import Extension, setup

PACKAGE = Path("src/amqpcodec")

#: Module -> folders of its sources below _core/. Which modules it uses says its .pxd and .pyx.
ROOMS = {
    "_codec": ("wire", "tables", "objects", "protocol"),
    "_v1": ("v1",),
    "_columns": ("columns",),
    "_encode": ("encode",),
    "_capture": ("capture",),
    "_dropins": ("dropins",),
    "_dropins_v1": ("dropins_v1",),
}

# Set by CI: then a warning of Cython or of the C compiler ends the build. The option is public:
# Cython's reference has it under "Compiler options", to be set before cythonize().
STRICT = bool(os.environ.get("AMQPCODEC_WERROR"))
Options.warning_errors = STRICT

# For work on the core: 0 compiles in half the time, and nothing of that is worth measuring.
LEVEL = os.environ.get("AMQPCODEC_OPTIMIZE", "3")

# For tests: a writer that stores more than it reserved ends the process (_core/wire/promise.h).
CHECKED = [("AMQPCODEC_CHECKED_WRITES", "1")] if os.environ.get("AMQPCODEC_CHECKED_WRITES") else []

if sys.platform == "win32":
    compile_args = ["/O2"]
else:
    # No -march=native: the wheels that users get are what is measured.
    compile_args = [f"-O{LEVEL}", "-Wall", "-Wextra"]
    # What Cython's own code does everywhere.
    compile_args += ["-Wno-unused-parameter", "-Wno-cast-function-type"]
    compile_args += ["-Wno-missing-field-initializers"]
    # No room uses all that the headers of another one define.
    compile_args += ["-Wno-unused-function", "-Wno-unused-variable"]
    # Of values read only where a reader did not fail, which gcc sees within a module alone;
    # clang does not know the name.
    compile_args += ["-Wno-maybe-uninitialized", "-Wno-unknown-warning-option"]
    if STRICT:
        compile_args.append("-Werror")


def headers(*folders: str) -> list[str]:
    """Headers that a module may include by way of others: a change there rebuilds it.

    Cython finds what a module includes and cimports, and the headers declared there, but not what
    these headers include: of other rooms that is headers of wire alone.
    """
    core = PACKAGE / "_core"
    below = [PACKAGE / "_gen", core / "wire", *(core / folder for folder in folders)]
    return sorted({str(path) for folder in below for path in folder.glob("*.h")})


extensions = [
    Extension(
        f"amqpcodec.{name}",
        [str(PACKAGE / f"{name}.pyx")],
        include_dirs=[str(PACKAGE / "_core"), str(PACKAGE / "_gen")],
        depends=headers(*folders),
        extra_compile_args=compile_args,
        define_macros=CHECKED,
    )
    for name, folders in ROOMS.items()
]

# Set by `make`, which installs the metadata once and then builds in place.
BARE = bool(os.environ.get("AMQPCODEC_METADATA_ONLY"))

# A worker that Cython starts by `forkserver` or `spawn` imports this file: it must build nothing.
if __name__ == "__main__":
    setup(
        ext_modules=[]
        if BARE
        else cythonize(
            extensions,
            nthreads=os.cpu_count() or 1,
            show_all_warnings=False,
            annotate=bool(os.environ.get("AMQPCODEC_ANNOTATE")),
        ),
        options={"build_ext": {"parallel": True}},
    )
