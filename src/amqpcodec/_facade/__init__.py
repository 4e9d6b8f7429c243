"""What makes the public modules out of the compiled core and the generated tables."""
