"""What a user did wrong, in one line."""


class UserError(Exception):
    """Bad input: the command line prints the message alone and exits with code 2."""
