"""Models of one small portfolio as their libraries export them, with the libraries' own predictions."""
