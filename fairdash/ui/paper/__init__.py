"""Parts of the page on the paper; everything is read from results on disk."""
