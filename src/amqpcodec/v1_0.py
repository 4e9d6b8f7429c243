"""AMQP 1.0: values, a class for each described type, frames, messages and decoders.

v1_0.pyi declares what is here; it is generated with the table (spec/generate.py).
"""

from ._facade.v1_namespace import namespace
from ._gen.v1_0 import TABLE

globals().update(namespace(TABLE))
