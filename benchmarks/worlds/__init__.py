"""Small simulated portfolios (worlds) for which the correct answers of an audit are known."""
