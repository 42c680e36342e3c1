"""What a user did wrong, in one line."""


class UserError(Exception):
    """Bad input: the command line prints the message alone and exits with code 2."""


def in_a_line(error: BaseException) -> str:
    """The message of a UserError; of any other exception, its type and the first line of its message."""
    said = str(error).strip().splitlines()[:1]
    return str(error) if isinstance(error, UserError) else ": ".join([type(error).__name__, *said])
