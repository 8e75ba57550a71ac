"""Labels and example requests: the judgments of people and agents on answers, from which the relevance learns."""
