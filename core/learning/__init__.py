"""Labels and example requests: what people and agents say about answers, and what the relevance learns from it."""
