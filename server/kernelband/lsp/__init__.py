"""The language server: everything that LSP can say, for any editor.

``app`` puts it together: ``server`` holds the state of a connection, ``features/`` one file for each kind of request.
"""
