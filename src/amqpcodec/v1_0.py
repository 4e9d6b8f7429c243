"""AMQP 1.0: values, a class for each described type, frames, messages and decoders.

What is here is said in v1_0.pyi, which is generated with the table.
"""

from ._facade.v1_namespace import namespace
from ._gen.v1_0 import TABLE

globals().update(namespace(TABLE))
