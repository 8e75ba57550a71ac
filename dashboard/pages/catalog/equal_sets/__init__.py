"""Equal function sets of a catalog: which pairs of tools do the same, judged one pair after the other."""
