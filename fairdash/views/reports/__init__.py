"""Exports for the user: tables that are safe to open."""
