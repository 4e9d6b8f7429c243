"""AMQP 0-8: classes, one-shot functions and decoders.

v0_8.pyi declares what is here; the build writes it from the table (spec/stubs.py).
"""

from ._facade.namespace import namespace
from ._gen.v0_8 import TABLE

globals().update(namespace(TABLE))
