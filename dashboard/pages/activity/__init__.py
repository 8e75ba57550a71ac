"""The Activity page: recorded decisions and calls under a filter, as tables, totals, charts and exports."""
