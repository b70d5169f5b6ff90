"""Documents made from a finished audit: the report, and a filing under the headings that a rule requires."""
