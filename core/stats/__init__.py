"""Outcomes to statistics: a fold that can always be done again from the events."""
