"""Components of the Paper page, which computes nothing and shows stored results."""
