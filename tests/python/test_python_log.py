"""Log lines of the Python packages: levels, file, form; and the exceptions of the core."""

import os
import re
import subprocess
import sys

import pytest
from amct_core import _native

TWO_LINES = """
from amct_core import _native, logging
log = logging.start('amct_pytorch', 'part')
log.debug('details')
log.info('stages %d', 1)
_native.log_line(30, 'from the core')
"""
FORM = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} - "


def run(folder, code=TWO_LINES, **variables):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("AMCT_")}
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=clean | variables, capture_output=True, text=True, check=True
    )
    assert result.stdout == ""
    return result.stderr.splitlines()


def log_file(folder):
    return (folder / "amct_log" / "amct_pytorch.log").read_text().splitlines()


def test_screen_and_file_have_the_documented_form(tmp_path):
    lines = run(tmp_path)
    assert re.fullmatch(FORM + r"INFO - \[AMCT\]:\[part\]: stages 1", lines[0])
    assert re.fullmatch(FORM + r"WARNING - \[AMCT\]:\[Utils\]: from the core", lines[1])
    assert lines == log_file(tmp_path)


@pytest.mark.parametrize("level, count", [("DEBUG", 3), ("info", 2), ("Warning", 1), ("ERROR", 0)])
def test_levels_are_independent_and_in_any_case(tmp_path, level, count):
    assert len(run(tmp_path, AMCT_LOG_LEVEL=level)) == count
    assert len(log_file(tmp_path)) == 2
    run(tmp_path, AMCT_LOG_FILE_LEVEL=level)
    # A file without lines is not begun: the one of the run before stays.
    assert len(log_file(tmp_path)) == (count or 2)


def test_unknown_level_means_info_and_a_warning(tmp_path):
    lines = run(tmp_path, AMCT_LOG_LEVEL="loud")
    assert len(lines) == 3
    assert "WARNING" in lines[0] and "AMCT_LOG_LEVEL is 'loud'" in lines[0]


def test_a_new_process_replaces_the_file(tmp_path):
    run(tmp_path)
    run(tmp_path)
    assert len(log_file(tmp_path)) == 2


def test_nothing_is_written_by_an_import(tmp_path):
    run(tmp_path, "import amct_onnx, amct_pytorch, amct_tensorflow, amct_caffe")
    assert not list(tmp_path.iterdir())


def test_log_folder_that_cannot_be_made_is_a_warning(tmp_path):
    (tmp_path / "amct_log").write_text("a file")
    lines = run(tmp_path)
    assert len(lines) == 3
    assert sum("cannot be written" in line for line in lines) == 1


def test_root_logger_does_not_repeat_lines(tmp_path):
    assert len(run(tmp_path, "import logging\nlogging.basicConfig(level=10)\n" + TWO_LINES)) == 2


def test_the_core_names_the_file_in_its_exceptions(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        _native.write_file(tmp_path / "file" / "x", b"content")


def test_an_exception_in_a_callback_reaches_the_caller():
    def fail():
        raise KeyError("from the reader")

    layer = _native.Layer("conv", _native.ConvShape(64, 64, (3, 3)), fail)
    with pytest.raises(KeyError, match="from the reader"):
        _native.decompose_network([layer], _native.Options())


def test_versions_agree():
    import amct_caffe
    import amct_onnx
    import amct_pytorch
    import amct_tensorflow

    packages = (amct_onnx, amct_pytorch, amct_tensorflow, amct_caffe)
    assert {package.__version__ for package in packages} == {_native.__version__}
