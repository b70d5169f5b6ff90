"""The parts of the lesson: a scene a file."""
