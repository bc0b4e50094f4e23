"""Log lines of the packages: on the screen (stderr) and in amct_log/<package>.log.

AMCT_LOG_LEVEL and AMCT_LOG_FILE_LEVEL set the two levels: DEBUG, INFO (default), WARNING or ERROR, in any case.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys

from . import _native

FOLDER = "amct_log"
LEVELS = {"DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARNING": logging.WARNING, "ERROR": logging.ERROR}
_FORMAT = "%(asctime)s - %(levelname)s - [AMCT]:[%(part)s]: %(message)s"
_handlers: dict[str, tuple[logging.Handler, logging.Handler]] = {}
_current = "amct_core"


class _Formatter(logging.Formatter):
    """`part` is the logger's name below the package: amct_pytorch.tensor_decompose is tensor_decompose."""

    def format(self, record: logging.LogRecord) -> str:
        record.part = record.name.partition(".")[2] or "Utils"
        return super().format(record)


class _Screen(logging.StreamHandler):
    """Writes to what sys.stderr is at that moment, which notebooks and test runners replace."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self):
        return sys.stderr


class _File(logging.FileHandler):
    """Created by its first line, which replaces the file of an earlier process. No log file is no reason to fail."""

    def __init__(self, path: str, screen: logging.Handler) -> None:
        super().__init__(path, mode="w", encoding="utf-8", delay=True)
        self._screen = screen
        self._broken = False

    def _open(self):
        os.makedirs(os.path.dirname(self.baseFilename), exist_ok=True)
        return super()._open()

    def emit(self, record: logging.LogRecord) -> None:
        if self._broken:
            return
        try:
            super().emit(record)
        except OSError as error:
            self._broken = True
            text = f"the log file '{self.baseFilename}' cannot be written: {error.strerror}"
            self._screen.handle(logging.LogRecord(record.name, logging.WARNING, "", 0, text, None, None))


def _level(variable: str, complaints: list[str]) -> int:
    text = os.environ.get(variable, "")
    if text and text.upper() not in LEVELS:
        complaints.append(f"{variable} is '{text}', expected DEBUG, INFO, WARNING or ERROR; INFO is used")
    return LEVELS.get(text.upper(), logging.INFO)


def start(package: str, part: str) -> logging.Logger:
    """The logger of one part of a package, at the levels that the environment names now.

    Every public function begins with it; the core's own lines go to the package that was started last. The
    package's logger does not pass lines on to the root logger, whose handlers would show them twice.
    """
    global _current
    logger = logging.getLogger(package)
    if package not in _handlers:
        screen = _Screen()
        file = _File(os.path.join(FOLDER, f"{package}.log"), screen)
        _handlers[package] = (screen, file)
        for handler in _handlers[package]:
            handler.setFormatter(_Formatter(_FORMAT))
            logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
    complaints: list[str] = []
    for handler, variable in zip(_handlers[package], ("AMCT_LOG_LEVEL", "AMCT_LOG_FILE_LEVEL")):
        handler.setLevel(_level(variable, complaints))
    _current = package
    _native.set_log_sink(_receive)
    for complaint in complaints:
        logger.warning("%s", complaint)
    return logger.getChild(part)


def _receive(level: int, line: str) -> None:
    logging.getLogger(_current).log(level, "%s", line)


atexit.register(_native.set_log_sink, None)
