"""What a user takes away: tables that are safe to open."""
