"""Tests of the audit of an existing price."""
