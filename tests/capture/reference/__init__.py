"""An independent, slow reader of captures: files to packets to segments to bytes in order."""
