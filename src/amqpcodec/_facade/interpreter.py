"""The compiled core, or a sentence that says why a further interpreter of the process has none.

Its classes and caches are one set for a process, so CPython (3.12 and later, interpreters with a
GIL of their own) or Cython (all others) refuses to load it in a second interpreter, before any
code of ours runs. Modules that lead to the core get it from here.
"""

try:
    from .. import _codec as _codec
except ImportError as refused:
    if "interpreter" not in str(refused):
        raise
    raise ImportError(
        "amqpcodec cannot be used in this interpreter: its compiled core keeps one set of classes "
        "and caches for the whole process, so only one interpreter can have it, and none with a "
        "GIL of its own. Use threads or processes instead of subinterpreters.",
        name=refused.name,
        path=refused.path,
    ) from refused
