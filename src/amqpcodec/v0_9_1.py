"""AMQP 0-9-1 with RabbitMQ's extensions: classes, one-shot functions and decoders.

What is here is said in v0_9_1.pyi, which is generated with the table.
"""

from ._facade.namespace import namespace
from ._gen.v0_9_1 import TABLE

globals().update(namespace(TABLE))
