"""Documents of a finished audit: the report in its evidence, and a filing with the headings of a rule."""
