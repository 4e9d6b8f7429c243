"""Measured ratios between amqpcodec and its peers; `python -m bench` prints the table."""
