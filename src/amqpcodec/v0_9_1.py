"""AMQP 0-9-1 with RabbitMQ's extensions: classes, one-shot functions and decoders.

v0_9_1.pyi declares what is here; it is generated with the table (spec/generate.py).
"""

from ._facade.namespace import namespace
from ._gen.v0_9_1 import TABLE

globals().update(namespace(TABLE))
