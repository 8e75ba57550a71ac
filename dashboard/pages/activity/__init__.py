"""The Activity page: recorded decisions and calls under a filter, as tables, totals and charts, and exports."""
