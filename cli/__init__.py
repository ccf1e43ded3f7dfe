"""The face: reads files and environment, prints, calls the other rooms."""
