"""Labels, learnt models, calibrations, equal function sets."""
