"""Labels, what is learnt from them, calibrations, equal function sets."""
