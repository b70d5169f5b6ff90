"""Documents from a finished audit: the report, and a filing with the headings that a rule requires."""
