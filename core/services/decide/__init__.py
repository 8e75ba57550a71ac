"""What a decision is made with: catalogs, routing, What if, the log of decisions."""
