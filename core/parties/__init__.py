STOP_TOKEN = "[[DONE]]"
"""What a user party writes at the end of its last message, and only there."""
