"""ONNX files through AMCT's reader and writer: nothing is lost, and they compute the same."""
import os
import pathlib
import subprocess
import warnings

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from onnx_compare import canonical, first_difference

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEVER = 1 << 60


def find_tool():
    folders = [os.environ["AMCT_BUILD_DIR"]] if "AMCT_BUILD_DIR" in os.environ else [
        ROOT / "build/release", ROOT / "build/dev"]
    for folder in folders:
        tool = pathlib.Path(folder) / "tests/formats/onnx/amct_roundtrip"
        if tool.exists():
            return tool
    pytest.fail("amct_roundtrip is not built; build it, or set AMCT_BUILD_DIR")


def run_tool(jobs, cwd=None):
    """Answers of the tool for (mode, input, output, bytes), one for each job."""
    lines = "".join("\t".join(map(str, job)) + "\n" for job in jobs)
    done = subprocess.run([find_tool()], input=lines, capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stderr
    answers = done.stdout.splitlines()
    assert len(answers) == len(jobs), done.stdout[-2000:]
    return answers


def save_and_check(model, folder, mode="text"):
    source, target = folder / "source.onnx", folder / "target.onnx"
    source.write_bytes(model.SerializeToString())
    assert run_tool([(mode, source, target, NEVER)]) == ["ok"]
    written = onnx.load(target)
    assert canonical(written) == canonical(model), first_difference(model, written)
    return written


class Case:
    """A model of the onnx package's backend tests with its inputs."""

    def __init__(self, name, path, inputs):
        self.name, self.path, self.inputs = name, path, inputs


def read_inputs(folder, model):
    """Inputs of a test stored as files, or None where one is no tensor."""
    inputs = []
    for index, info in enumerate(model.graph.input):
        path = folder / f"input_{index}.pb"
        if not path.exists():
            break
        if not info.type.HasField("tensor_type"):
            return None
        inputs.append(numpy_helper.to_array(onnx.load_tensor(path)))
    return inputs


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """Every model of the backend tests: those in files and those that the package generates."""
    from onnx.backend.test.case import model as model_cases
    from onnx.backend.test.case import node as node_cases

    found = []
    data = pathlib.Path(onnx.__file__).parent / "backend/test/data"
    for path in sorted(data.rglob("*.onnx")):
        folder = path.parent / "test_data_set_0"
        inputs = read_inputs(folder, onnx.load(path)) if folder.is_dir() else None
        found.append(Case(f"{path.parent.name}/{path.stem}", path, inputs))
    folder = tmp_path_factory.mktemp("generated")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        generated = node_cases.collect_testcases(None) + model_cases.collect_testcases()
    for test in generated:
        if test.model is None:
            continue
        path = folder / f"{test.name}.onnx"
        path.write_bytes(test.model.SerializeToString())
        inputs = list(test.data_sets[0][0]) if test.data_sets else None
        found.append(Case(test.name, path, inputs))
    return found


@pytest.fixture(scope="module")
def written(cases, tmp_path_factory):
    """The files that AMCT made of the cases; each also went through the text form and back."""
    folder = tmp_path_factory.mktemp("written")
    targets = [folder / f"{index}.onnx" for index in range(len(cases))]
    answers = run_tool([("text", case.path, target, NEVER)
                        for case, target in zip(cases, targets)])
    failed = [f"{case.name}: {answer}" for case, answer in zip(cases, answers) if answer != "ok"]
    assert not failed, "\n".join(failed[:20])
    return targets


def test_every_backend_model_keeps_all_its_content(cases, written):
    assert len(cases) > 1500
    for case, target in zip(cases, written):
        before, after = onnx.load(case.path), onnx.load(target)
        assert canonical(before) == canonical(after), (
            f"{case.name}: {first_difference(before, after)}")


RANDOM_OPERATORS = {"Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike",
                    "RandomUniform", "RandomUniformLike"}


def compute(path, inputs):
    """Outputs in ONNX Runtime, or None where it does not run the model."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        names = [value.name for value in session.get_inputs()]
        return session.run(None, dict(zip(names, inputs)))
    except Exception:  # ONNX Runtime raises many types of its own; both files must agree anyhow
        return None


def compute_by_reference(path, inputs):
    """Outputs of the onnx package's own evaluator, or None where it does not run the model."""
    try:
        session = ReferenceEvaluator(onnx.load(path))
        return session.run(None, dict(zip(session.input_names, inputs)))
    except Exception:  # of whatever type its operators raise
        return None


def same(left, right):
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, np.ndarray) and left.dtype != object:
        return left.dtype == right.dtype and left.shape == right.shape and (
            left.tobytes() == right.tobytes())
    return np.array_equal(left, right)


def test_every_backend_model_computes_the_same(cases, written):
    computed = 0
    for case, target in zip(cases, written):
        operators = {node.op_type for node in onnx.load(case.path).graph.node}
        if case.inputs is None or operators & RANDOM_OPERATORS:
            continue
        before = compute(case.path, case.inputs)
        after = compute(target, case.inputs)
        if before is None and after is None:
            before = compute_by_reference(case.path, case.inputs)
            after = compute_by_reference(target, case.inputs)
        assert (before is None) == (after is None), case.name
        if before is None:
            continue
        assert same(before, after), case.name
        computed += 1
    print(f"{computed} of {len(cases)} models computed the same before and after")
    assert computed > 1700


def unknown_field(number, payload):
    """A length-delimited field that no schema knows."""
    tag = number << 3 | 2
    return bytes([tag & 0x7F | 0x80, tag >> 7, len(payload)]) + payload


def with_unknown(message, payload=b"later"):
    message.MergeFromString(unknown_field(999, payload))


def rich_model():
    """Uses every part of the format that AMCT itself has no use for."""
    weight = numpy_helper.from_array(np.arange(4, dtype=np.float32).reshape(2, 2), "w")
    weight.doc_string = "a weight"
    weight.metadata_props.add(key="t", value="u")
    sparse = helper.make_sparse_tensor(
        helper.make_tensor("sp", TensorProto.FLOAT, [1], [5.0]),
        helper.make_tensor("", TensorProto.INT64, [1], [1]), [4])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 2], "an input")
    x.type.denotation = "TENSOR"
    x.type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    x.type.tensor_type.shape.dim.add(dim_value=-1)
    x.metadata_props.add(key="a", value="b")
    sequence = helper.make_tensor_sequence_value_info("seq", TensorProto.FLOAT, [None])
    body = helper.make_graph([helper.make_node("Add", ["x", "w"], ["inner"])], "then", [],
                             [helper.make_tensor_value_info("inner", TensorProto.FLOAT, None)],
                             doc_string="body")
    nodes = [
        helper.make_node("If", ["c"], ["a"], then_branch=body, else_branch=body, doc_string="why"),
        helper.make_node("local", ["a", "", "sp"], ["y", ""], domain="my", overload="v2",
                         sparse=sparse, kind=helper.make_tensor_type_proto(1, [1])),
        helper.make_node("SequenceConstruct", ["y"], ["seq"], name=""),
    ]
    nodes[0].metadata_props.add(key="n", value="m")
    nodes[1].device_configurations.add(configuration_id="two", pipeline_stage=1)
    graph = helper.make_graph(
        nodes, "", [x, helper.make_tensor_value_info("c", TensorProto.BOOL, [])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None), sequence], [weight],
        "graph text", [helper.make_tensor_value_info("a", TensorProto.FLOAT, ["batch", 2]),
                       helper.make_tensor_value_info("w", TensorProto.FLOAT, [2, 2]),
                       helper.make_tensor_value_info("nowhere", TensorProto.FLOAT, [2])],
        sparse_initializer=[sparse])
    graph.quantization_annotation.add(tensor_name="a").quant_parameter_tensor_names.add(
        key="SCALE_TENSOR", value="w")
    graph.metadata_props.add(key="g", value="h")
    function = helper.make_function("my", "local", ["p", "q", "r"], ["s", "t"],
                                    [helper.make_node("Identity", ["p"], ["s"])],
                                    [helper.make_opsetid("", 20)], ["alpha"])
    function.overload = "v2"
    model = helper.make_model(graph, functions=[function], ir_version=11, doc_string="model text",
                              producer_name="maker", producer_version="1",
                              opset_imports=[helper.make_opsetid("ai.onnx", 20),
                                             helper.make_opsetid("my", 1)])
    model.domain, model.model_version = "org.example", 7
    model.training_info.add().initialization.name = "init"
    model.configuration.add(name="two", num_devices=2)
    helper.set_model_props(model, {"key": "value", "empty": ""})
    with_unknown(model)
    with_unknown(model.graph)
    with_unknown(model.graph.node[0])
    with_unknown(model.graph.node[0].attribute[0])
    with_unknown(model.graph.input[0])
    with_unknown(model.graph.input[0].type)
    with_unknown(model.graph.initializer[0])
    with_unknown(model.opset_import[0])
    return model


def test_documentation_annotations_functions_and_unknown_fields_survive(tmp_path):
    written = save_and_check(rich_model(), tmp_path)
    assert written.SerializeToString().count(b"later") == 8


def conv_model(folder):
    """Weights in external files of the onnx package's own making, in a folder of their own."""
    rng = np.random.default_rng(0)
    initializers = [
        numpy_helper.from_array(rng.standard_normal((8, 3, 3, 3), np.float32), "w"),
        numpy_helper.from_array(rng.standard_normal(8, np.float32), "b"),
    ]
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w", "b"], ["y"])], "conv",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    inline = onnx.ModelProto()
    inline.CopyFrom(model)
    folder.mkdir()
    onnx.save(model, folder / "m.onnx", save_as_external_data=True, size_threshold=0,
              all_tensors_to_one_file=False)
    return inline


X = np.random.default_rng(1).standard_normal((1, 3, 8, 8), np.float32)


def test_external_data_are_read_beside_the_model_from_any_working_folder(tmp_path):
    inline = conv_model(tmp_path / "model")
    other = tmp_path / "elsewhere"
    other.mkdir()
    answers = run_tool([("save", "../model/m.onnx", "../out/m.onnx", NEVER)], cwd=other)
    assert answers == ["ok"]
    assert canonical(onnx.load(tmp_path / "out/m.onnx")) == canonical(inline)
    # The output does not need the input's folder.
    expected = compute(tmp_path / "model/m.onnx", [X])
    (tmp_path / "model").rename(tmp_path / "gone")
    assert same(compute(tmp_path / "out/m.onnx", [X]), expected)


def heavy_model():
    """3 MB of constants: in an initializer, in a Constant node, and inside both branches of an If."""
    rng = np.random.default_rng(2)

    def data(name):
        return numpy_helper.from_array(rng.standard_normal((512, 512), np.float32), name)

    def branch(name):
        inner = helper.make_graph(
            [helper.make_node("MatMul", ["a", f"{name}_w"], [f"{name}_y"])], name, [],
            [helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, [1, 512])],
            [data(f"{name}_w")])
        return inner

    nodes = [helper.make_node("Constant", [], ["k"], value=data("")),
             helper.make_node("MatMul", ["x", "w"], ["h"]),
             helper.make_node("MatMul", ["h", "k"], ["a"]),
             helper.make_node("If", ["c"], ["y"], then_branch=branch("t"), else_branch=branch("e"))]
    graph = helper.make_graph(
        nodes, "heavy", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 512]),
                         helper.make_tensor_value_info("c", TensorProto.BOOL, [])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 512])], [data("w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_constants_above_the_limit_go_to_external_data_that_engines_read(tmp_path):
    source = tmp_path / "source.onnx"
    onnx.save(heavy_model(), source)
    assert run_tool([("save", source, tmp_path / "out/m.onnx", 1 << 20)]) == ["ok"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["m.onnx", "m.onnx.data"]
    assert (tmp_path / "out/m.onnx").stat().st_size < 4096
    (tmp_path / "out").rename(tmp_path / "moved")
    onnx.checker.check_model(str(tmp_path / "moved/m.onnx"))
    # Read back and written inline, nothing is missing.
    again = tmp_path / "again.onnx"
    assert run_tool([("save", tmp_path / "moved/m.onnx", again, NEVER)]) == ["ok"]
    x = np.random.default_rng(3).standard_normal((1, 512), np.float32)
    for condition in (True, False):
        inputs = [x, np.array(condition)]
        expected = compute(source, inputs)
        assert expected is not None
        assert same(compute(tmp_path / "moved/m.onnx", inputs), expected)
        assert same(compute(again, inputs), expected)


def test_onnx_runtime_takes_big_constants_from_memory(tmp_path):
    source, target = tmp_path / "source.onnx", tmp_path / "target.onnx"
    model = heavy_model()
    onnx.save(model, source)
    assert run_tool([("serialize", source, target, 1024)]) == ["ok"]
    [weight] = model.graph.initializer
    # The value borrows the array's memory and has to live as long as the session.
    value = ort.OrtValue.ortvalue_from_numpy(numpy_helper.to_array(weight))
    options = ort.SessionOptions()
    options.add_external_initializers(["w"], [value])
    session = ort.InferenceSession(target.read_bytes(), options,
                                   providers=["CPUExecutionProvider"])
    x = np.random.default_rng(4).standard_normal((1, 512), np.float32)
    outputs = session.run(None, {"x": x, "c": np.array(True)})
    assert same(outputs, compute(source, [x, np.array(True)]))


def test_models_above_two_gigabytes_load(tmp_path):
    size = 3 << 30
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[size // 4],
                         data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="w.bin")
    with open(tmp_path / "w.bin", "wb") as file:
        file.truncate(size)  # a hole: takes no space
    graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "big", [],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [tensor])
    (tmp_path / "m.onnx").write_bytes(helper.make_model(graph).SerializeToString())
    answers = run_tool([("load", tmp_path / "m.onnx", "", 0),
                        ("serialize", tmp_path / "m.onnx", tmp_path / "engine.onnx", 1024)])
    assert answers == ["ok", "ok"]


def test_what_is_written_passes_the_checker_of_onnx(tmp_path):
    model = heavy_model()
    written = save_and_check(model, tmp_path, mode="save")
    onnx.checker.check_model(written)
