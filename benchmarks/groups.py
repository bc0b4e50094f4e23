"""The groups of measurements on synthetic models; each yields rows of the table as they are known."""

import statistics

import synthetic_models
from measure import FOLDER, Row, amct, cores, interleaved, peer

SHAPE = f"{synthetic_models.INPUT}:" + ",".join(map(str, synthetic_models.INPUT_SHAPE))
TITLES = {"resnet18": "ResNet-18", "resnet50": "ResNet-50", "mobilenetv2": "MobileNetV2"}
REPEATS = 5
HFMG = "batch_num: {}\ncommon_config {{ hfmg_quantize {{ num_of_bins: 4096 }} }}\n"
SPEED_BATCHES = 32
MEMORY_BATCHES = (32, 256)
GIGABYTE = 1e9


def model_and_data(name, batches):
    return (synthetic_models.model_file(FOLDER, name),
            synthetic_models.data_folder(FOLDER, batches))


def calibration():
    """Opening the model, running, observing and the search for factors, against ONNX Runtime alone."""
    targets = {"resnet18": (1.3, 1.2), "resnet50": (1.3, 1.2), "mobilenetv2": (2.0, 2.0)}
    for name, (ifmr_target, hfmg_target) in targets.items():
        model, data = model_and_data(name, SPEED_BATCHES)

        def ours(config=None):
            _, stats = amct(model, data, SHAPE, SPEED_BATCHES, config)
            return stats["stage_seconds"]["calibrate"]

        def alone():
            seconds = peer("run", model, data, cores())[1]
            return seconds["open"] + seconds["run"], seconds["run"]

        # Two runs of the engine alone per round: what they differ by is the noise of the machine.
        ifmr, hfmg, first, second = interleaved(
            REPEATS, ours, lambda: ours(HFMG.format(SPEED_BATCHES)), alone, alone)
        whole, run = min(first, second)
        noise = abs(first[0] - second[0]) / whole
        for algorithm, seconds, target in (("IFMR", ifmr, ifmr_target), ("HFMG", hfmg, hfmg_target)):
            yield Row(f"calibration {TITLES[name]} {algorithm} / engine alone", seconds, whole,
                      seconds / whole, f"<= {target}",
                      note=f"({seconds / run:.2f} of its runs without opening, noise {noise:.1%})")


def quantize():
    """Whole quantization as processes from start to end, against quantize_static."""
    for name in TITLES:
        model, data = model_and_data(name, SPEED_BATCHES)
        prepared = FOLDER / f"{name}_prepared.onnx"
        peer("prepare", model, prepared)
        for method, target, repeats in (("MinMax", 1, 3), ("Entropy", 10, 1), ("Percentile", 10, 1)):
            def theirs():
                return peer("quantize", method, prepared, data, FOLDER / "peer.onnx")

            def ours():
                return amct(model, data, SHAPE, SPEED_BATCHES)[0].seconds

            rounds = [(ours(), theirs()) for _ in range(repeats)]
            seconds = min(mine for mine, _ in rounds)
            process = min(child.seconds for _, (child, _) in rounds)
            call = min(inner["seconds"] for _, (_, inner) in rounds)
            (FOLDER / "peer.onnx").unlink()
            yield Row(f"quantize {TITLES[name]}, times faster than {method}", seconds, process,
                      process / seconds, f">= {target}",
                      note=f"(call alone {call:.2f} s, {call / seconds:.1f})")
        prepared.unlink()


def memory():
    """Largest resident size of the whole process with all default options."""
    def peak(name, batches):
        model, data = model_and_data(name, batches)
        _, stats = amct(model, data, SHAPE, batches, compare=True)
        return stats["peak_memory_bytes"] / GIGABYTE

    few = statistics.median(peak("resnet18", MEMORY_BATCHES[0]) for _ in range(3))
    many = peak("resnet18", MEMORY_BATCHES[1])
    yield Row(f"memory ResNet-18, {MEMORY_BATCHES[1]} / {MEMORY_BATCHES[0]} batches", many, few,
              many / few, "<= 1.1", "GB")
    large = peak("resnet50", MEMORY_BATCHES[0])
    yield Row("memory ResNet-50, batch 1, in GB", large, None, large, "< 0.8", "GB")
