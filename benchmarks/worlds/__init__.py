"""Small portfolios whose answers are known, for every question of an audit."""
