"""The lesson: the states of its scenes, their numbers and sentences. How they look is the pages' affair."""
