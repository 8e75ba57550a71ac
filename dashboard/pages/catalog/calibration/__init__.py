"""Labels of a catalog, and the calibrations that are fitted to them."""
