"""A package: the browser of a worker is closed after the last of these tests that it runs, because no other test can run an event loop beside it."""
