"""A file's bytes into a frame, and a report on how they were read: one file a format."""
