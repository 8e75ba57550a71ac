"""The Compare page: several routers on one sub-task, card by card, and where they differ."""
