"""AMQP 0-8: classes, one-shot functions and decoders.

What is here is said in v0_8.pyi, which is generated with the table.
"""

from ._facade.namespace import namespace
from ._gen.v0_8 import TABLE

globals().update(namespace(TABLE))
