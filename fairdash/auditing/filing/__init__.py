"""Documents of a finished audit: the report in its evidence, and a filing under the headings of a rule."""
