"""``amqpcodec replay``: the messages of a capture or of a table to a live broker."""
