"""A folder that a rotating capture fills, as a stream: see README.md."""
