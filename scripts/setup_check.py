"""Say in one line what this machine lacks to build amqpcodec; say nothing where all is there.

    PYTHON scripts/setup_check.py

Written for any Python, since a Python too old is the first thing to tell.
"""
# ruff: noqa: RUF005, UP031 - Python 2 would not read the newer forms

import os
import shlex
import subprocess
import sys
import tempfile

OLDEST = (3, 11)


def find_problem():
    """The first thing that is missing, or None."""
    if sys.version_info < OLDEST:
        return (
            "Python %d.%d or newer is needed, and %s is %d.%d: name another, as PYTHON=python3.12"
            % (OLDEST + (sys.executable,) + tuple(sys.version_info[:2]))
        )
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        return "this Python cannot make virtual environments: install its venv package"
    return find_compiler_problem()


def find_compiler_problem():
    """What keeps a C extension from being compiled as setuptools will do it, or None."""
    import sysconfig

    compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    if os.name == "nt":
        return None  # setuptools looks for the compiler in its own ways
    folder = tempfile.mkdtemp()
    source = os.path.join(folder, "try.c")
    object_file = os.path.join(folder, "try.o")
    command = shlex.split(compiler)
    try:
        compile_one(command, source, object_file, "int one(void) { return 1; }\n")
    except (OSError, subprocess.CalledProcessError):
        return "a C compiler is needed, and %s does not work: install one or set CC" % command[0]
    try:
        include = "-I" + sysconfig.get_path("include")
        compile_one(command + [include], source, object_file, "#include <Python.h>\n")
    except subprocess.CalledProcessError:
        return "Python.h is missing: install the development files of this Python"
    finally:
        for name in (source, object_file):
            if os.path.exists(name):
                os.remove(name)
        os.rmdir(folder)
    return None


def compile_one(command, source, object_file, text):
    """Compile a text, or raise."""
    with open(source, "w") as file:
        file.write(text)
    with open(os.devnull, "w") as nowhere:
        subprocess.check_call(
            command + ["-c", source, "-o", object_file], stdout=nowhere, stderr=subprocess.STDOUT
        )


if __name__ == "__main__":
    problem = find_problem()
    if problem:
        print(problem)
