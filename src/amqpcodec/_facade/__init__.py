"""What makes the public modules out of the core and the generated tables: see README.md."""
