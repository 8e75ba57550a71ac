"""The Setup page: the text for each client, its first request, and the configurations of this machine."""
