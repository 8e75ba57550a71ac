"""The findings of a catalog: the table, one finding in full, and the words and colours of severities."""
