"""Importing catalogs: documents read as one import or not at all, and the name that it is stored under."""
