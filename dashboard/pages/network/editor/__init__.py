"""The dialog that edits a network: its session state, its parts, a preview, saving and files."""
