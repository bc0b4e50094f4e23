"""Bad input gives one clear error line and leaves no output, whatever happens."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import numpy as np
import onnx
import pytest
from amct_cli import AMCT, BUILD, amct, calibrate, make_model, save_batches
from onnx import helper

F32 = np.float32


@pytest.fixture(name="net")
def fixture_net(tmp_path):
    rng = np.random.default_rng(0)
    model = make_model(
        [helper.make_node("Conv", ["x", "w"], ["h"], name="conv1"),
         helper.make_node("Relu", ["h"], ["r"], name="relu1"),
         helper.make_node("Conv", ["r", "w2"], ["y"], name="conv2")],
        {"x": ([1, 3, 8, 8], F32)}, {"y": ([1, 2, 6, 6], F32)},
        {"w": rng.normal(size=(4, 3, 3, 3)).astype(F32), "w2": rng.normal(size=(2, 4, 1, 1)).astype(F32)})
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    save_batches(tmp_path / "calib", [rng.normal(size=(1, 3, 8, 8)).astype(F32) for _ in range(4)])
    return path


def leftovers(folder):
    return sorted(p.name for p in folder.rglob("*") if p.is_file()) if folder.exists() else []


def assert_refused(result, *words, code=1):
    assert result.run.code == code
    assert len(result.run.errors) == 1, result.run.stderr
    assert len([line for line in result.run.stderr.splitlines() if "Traceback" in line]) == 0
    message = result.run.stderr[result.run.stderr.index("error:"):]
    for word in words:
        assert str(word) in message, f"{word!r} is not in: {message}"
    assert leftovers(result.deploy.parent) == []


@pytest.mark.parametrize("content", [b"", b"hello world\n" * 50, b"\x89PNG\r\n\x1a\n" + bytes(100), os.urandom(500)])
def test_not_a_model(tmp_path, net, content):
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(content)
    assert_refused(calibrate(tmp_path, bad, str(tmp_path / "calib"), expect=1), "bad.onnx")


def test_missing_model(tmp_path, net):
    assert_refused(calibrate(tmp_path, tmp_path / "none.onnx", str(tmp_path / "calib"), expect=1), "none.onnx")


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.99])
def test_truncated_model(tmp_path, net, keep):
    content = net.read_bytes()
    net.write_bytes(content[: int(len(content) * keep)])
    assert_refused(calibrate(tmp_path, net, str(tmp_path / "calib"), expect=1), "m.onnx")


def test_missing_external_data(tmp_path, net):
    model = onnx.load(net)
    onnx.save_model(model, net, save_as_external_data=True, location="weights.bin", size_threshold=0)
    (tmp_path / "weights.bin").unlink()
    assert_refused(calibrate(tmp_path, net, str(tmp_path / "calib"), expect=1), "weights.bin")


def test_wrong_data_shape(tmp_path, net):
    data = save_batches(tmp_path / "wrong", [np.zeros((1, 3, 9, 8), F32)])
    assert_refused(calibrate(tmp_path, net, str(data), expect=1), "x", "9", "8")


def test_wrong_data_type(tmp_path, net):
    data = save_batches(tmp_path / "wrong", [np.array([[["a"]]])])
    assert_refused(calibrate(tmp_path, net, str(data), expect=1), "batch0000.npy")


def test_wrong_bin_size(tmp_path, net):
    data = tmp_path / "bin"
    data.mkdir()
    (data / "a.bin").write_bytes(bytes(100))
    assert_refused(calibrate(tmp_path, net, str(data), expect=1), "a.bin", "100", "768")


def test_empty_data_folder(tmp_path, net):
    (tmp_path / "empty").mkdir()
    assert_refused(calibrate(tmp_path, net, str(tmp_path / "empty"), expect=1), "empty")


def test_missing_data_folder(tmp_path, net):
    assert_refused(calibrate(tmp_path, net, str(tmp_path / "none"), expect=1), "none")


def test_unknown_layer_in_skip_layers(tmp_path, net):
    config = tmp_path / "quant.cfg"
    config.write_text('batch_num: 1\nskip_layers: "conv11"\n')
    result = calibrate(tmp_path, net, str(tmp_path / "calib"), f"--calibration_config={config}", expect=1)
    assert_refused(result, "skip_layers", "conv11", "conv1")


@pytest.mark.parametrize("text, words", [
    ('batch_num: 1\nskip_layer: "conv1"\n', ["quant.cfg", "2", "skip_layer"]),
    ("batch_num: many\n", ["quant.cfg", "1"]),
    ("common_config {\n  ifmr_quantize {\n    search_step: -1\n  }\n}\n", ["quant.cfg", "search_step"]),
    ("batch_num: 1 {\n", ["quant.cfg", "1"]),
])
def test_bad_config_field(tmp_path, net, text, words):
    config = tmp_path / "quant.cfg"
    config.write_text(text)
    result = calibrate(tmp_path, net, str(tmp_path / "calib"), f"--calibration_config={config}", expect=1)
    assert_refused(result, *words)


def test_unwritable_folder(tmp_path, net):
    (tmp_path / "out").write_text("a file where a folder is wanted")
    result = calibrate(tmp_path, net, str(tmp_path / "calib"), expect=1)
    assert len(result.run.errors) == 1 and "out" in result.run.errors[0]
    if os.path.ismount("/proc"):
        run = amct("onnx", "calibration", f"--model={net}", "--save_path=/proc/amct/m",
                   f"--data_dir={tmp_path}/calib", cwd=tmp_path)
        assert run.code == 1 and len(run.errors) == 1 and "/proc/amct" in run.errors[0]


def test_the_input_model_is_never_overwritten(tmp_path, net):
    model = tmp_path / "m_deploy_model.onnx"
    net.rename(model)
    before = model.read_bytes()
    run = amct("onnx", "calibration", f"--model={model}", f"--save_path={tmp_path}/m",
               f"--data_dir={tmp_path}/calib", cwd=tmp_path)
    assert run.code == 2 and len(run.errors) == 1 and "overwritten" in run.errors[0]
    assert model.read_bytes() == before


def test_previous_results_survive_a_failed_run(tmp_path, net):
    result = calibrate(tmp_path, net, str(tmp_path / "calib"))
    before = {path.name: path.read_bytes() for path in result.files()}
    wrong = save_batches(tmp_path / "wrong", [np.zeros((1, 3, 9, 8), F32)])
    calibrate(tmp_path, net, str(wrong), expect=1)
    assert {path.name: path.read_bytes() for path in result.files()} == before


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_killed_in_the_middle(tmp_path, number):
    rng = np.random.default_rng(0)
    weights = {f"w{i}": rng.normal(size=(64, 64, 3, 3)).astype(F32) * 0.05 for i in range(12)}
    nodes = [helper.make_node("Conv", [f"h{i}" if i else "x", f"w{i}"], [f"h{i + 1}" if i < 11 else "y"],
                              name=f"conv{i}", pads=[1] * 4) for i in range(12)]
    onnx.save(make_model(nodes, {"x": ([1, 64, 64, 64], F32)}, {"y": ([1, 64, 64, 64], F32)}, weights), tmp_path / "m.onnx")
    save_batches(tmp_path / "calib", [rng.normal(size=(1, 64, 64, 64)).astype(F32)] * 40)
    interrupted = 0
    for delay in (0.02, 0.05, 0.1, 0.2, 0.4):
        process = subprocess.Popen(
            [AMCT, "onnx", "calibration", "--model=m.onnx", "--save_path=out/m", "--data_dir=calib", "--batch_num=40"],
            cwd=tmp_path, env=dict(os.environ, VIRTUAL_ENV=sys.prefix), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        time.sleep(delay)
        process.send_signal(number)
        process.wait(30)
        if process.returncode == 0:
            break
        interrupted += 1
        assert leftovers(tmp_path / "out") == []
    assert interrupted >= 2


def test_usage_errors_are_one_line_with_exit_code_2(tmp_path, net):
    base = ["onnx", "calibration", f"--model={net}", f"--save_path={tmp_path}/out/m"]
    config = tmp_path / "quant.cfg"
    config.write_text("batch_num: 1\n")
    cases = [
        (base + ["--data_dir=calib", "--batch_num=1", f"--calibration_config={config}"], ["batch_num", "calibration_config"]),
        (base + ["--data_dir=calib", "--evaluator=e.py"], ["evaluator", "data_dir"]),
        (["onnx", "calibration", f"--save_path={tmp_path}/out/m", "--data_dir=calib"], ["--model"]),
        (["onnx", "calibration", f"--model={net}", "--data_dir=calib"], ["--save_path"]),
        (base, ["--data_dir"]),
        (base + ["--data_dir=", "calib"], ["--data_dir=", "space"]),
        (base + ["--data_dri=calib"], ["--data_dri", "--data_dir"]),
        (base + ["--data_dir=calib", "--batch_num=0"], ["batch_num", "'0'", "from 1 to 4294967295"]),
        (base + ["--data_dir=calib", "--batch_num=99999999999999999999"], ["batch_num", "from 1 to 4294967295"]),
        (base + ["--data_dir=calib", "--batch_num=two"], ["batch_num", "'two'", "whole number"]),
        (base + ["--data_dir=calib", "--threads=-1"], ["threads", "'-1'", "from 0 to 2147483647"]),
        ([], []),
        (["nonsense"], ["unknown command 'nonsense'"]),
        (["onnx", "nonsense"], ["unknown command 'nonsense'", "amct onnx --help"]),
    ]
    for arguments, words in cases:
        run = amct(*arguments, cwd=tmp_path)
        assert run.code == 2, (arguments, run)
        assert len(run.errors) == 1 and len(run.stderr.strip().splitlines()) == 1, run.stderr
        for word in words:
            assert word in run.errors[0], (word, run.errors[0])


def test_already_quantized_results_are_refused_with_the_way_out(tmp_path, net):
    first = calibrate(tmp_path, net, str(tmp_path / "calib"))
    for model, kind in ((first.fake_quant, "QuantizeLinear/DequantizeLinear"), (first.deploy, "AscendQuant")):
        run = amct("onnx", "calibration", f"--model={model}", f"--save_path={tmp_path}/again/m",
                   f"--data_dir={tmp_path}/calib", cwd=tmp_path)
        assert run.code == 1 and len(run.errors) == 1
        assert "already quantized" in run.errors[0] and kind in run.errors[0] and "float model" in run.errors[0]
        assert leftovers(tmp_path / "again") == []


def test_run_and_diff_take_all_batches_unless_told(tmp_path, net):
    result = calibrate(tmp_path, net, str(tmp_path / "calib"))
    for extra, count in (([], 4), (["--batch_num=0"], 4), (["--batch_num=2"], 2)):
        run = amct("run", result.deploy, "--data=calib", f"--output=y{count}", *extra, cwd=tmp_path)
        assert run.code == 0 and len(leftovers(tmp_path / f"y{count}")) == count
        diff = amct("diff", net, result.fake_quant, "--data=calib", *extra, cwd=tmp_path)
        assert diff.code == 0 and f"on {count} batch(es)" in diff.stdout
    assert amct("run", result.deploy, "--data=calib", "--batch_num=5", cwd=tmp_path).code == 1


def test_libraries_in_the_working_directory_are_found_by_their_bare_name(tmp_path, net):
    import onnxruntime

    engine = next((pathlib.Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so*"))
    (tmp_path / "engine.so").symlink_to(engine)
    (tmp_path / "ops.so").symlink_to(BUILD / "tests" / "runtime" / "libtest_custom_ops.so")
    run = amct("run", net, "--data=calib", "--onnxruntime=engine.so", "--custom_op_library=ops.so", cwd=tmp_path)
    assert run.code == 0, run.stderr


def test_help_and_version(tmp_path):
    assert amct("--version", cwd=tmp_path).stdout.startswith("amct ")
    for arguments in (["--help"], ["onnx", "calibration", "--h"], ["onnx", "calibration", "--help"], ["run", "--help"],
                      ["diff", "--help"], ["check", "--help"]):
        run = amct(*arguments, cwd=tmp_path)
        assert run.code == 0 and "--help" in run.stdout and not run.stderr


def test_documented_command_name(tmp_path):
    done = subprocess.run([AMCT.parent / "amct_onnx", "calibration", "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "--calibration_config" in done.stdout


def test_every_option_is_documented(tmp_path):
    from amct_cli import ROOT

    documented = (ROOT / "docs" / "cli.md").read_text()
    for command in (["onnx", "calibration"], ["run"], ["diff"], ["check"]):
        for name in set(re.findall(r"^ +(--[a-z_-]+)", amct(*command, "--help", cwd=tmp_path).stdout, re.MULTILINE)):
            assert f"`{name}`" in documented, name
