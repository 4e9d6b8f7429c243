"""The command line: ``amqpcodec dissect`` shows the frames of captures, others analyse them.

Needs rich and pyarrow: ``pip install "amqpcodec[cli]"``. ``main`` has the entry point, ``errors``
the exit statuses.
"""
