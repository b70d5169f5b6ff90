"""The parts of the page on bivariate normal laws."""
