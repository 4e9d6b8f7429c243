"""AMQP 0-9: classes, one-shot functions and decoders.

v0_9.pyi declares what is here; the build writes it from the table (spec/stubs.py).
"""

from ._facade.namespace import namespace
from ._gen.v0_9 import TABLE

globals().update(namespace(TABLE))
