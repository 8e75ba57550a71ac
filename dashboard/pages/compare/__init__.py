"""The Compare page: several routers on one sub-task, card by card, and their differences."""
