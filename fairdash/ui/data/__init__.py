"""The parts of the data page: which table, how it is read, its roles, what it holds."""
