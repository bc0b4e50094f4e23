"""The C++ core of AMCT, as the packages amct_* use it."""



def set_log_sink(sink: object | None) -> None:
    """
    Hands every log line of the core to sink(level, line), with the levels of Python's logging module; None drops them.
    """

def log_line(level: int, line: str) -> None:
    """Hands one line to the sink."""
