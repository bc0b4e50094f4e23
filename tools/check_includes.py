"""The only direction of dependency: every #include "amct/..." must stay within this table."""

import pathlib
import re
import sys

BASE = {"base"}
ALLOWED = {
    "base": set(),
    "ir": BASE,
    "kernels": BASE,
    "quant": BASE | {"kernels"},
    "decompose": BASE | {"kernels"},
    "config": BASE,
    "formats": BASE | {"ir"},
    "passes": BASE | {"ir", "quant", "decompose", "kernels"},
    "runtime": BASE | {"ir", "formats"},
    "report": BASE | {"config", "decompose"},
    "workflow": BASE | {"ir", "kernels", "quant", "decompose", "config", "formats", "passes", "runtime", "report"},
    "ops": BASE | {"passes", "workflow"},
    "cli": BASE | {"workflow", "report", "decompose"},
    "python": BASE | {"workflow", "decompose"},
}
# Headers of third parties that only these folders may see.
PRIVATE = {
    "onnxruntime_": ("amct/runtime/onnxruntime", "ops/onnxruntime"),
    "hwy/": "amct/kernels",
    "cblas.h": "amct/kernels",
    "lapacke.h": "amct/kernels",
    "CLI/": "cli",
    "spdlog/": "cli",
    "nanobind/": "python",
    "leveldb/": "amct/formats/tensorflow",
}
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')


def problems(root: pathlib.Path):
    for folder in ("amct", "ops", "cli", "python"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            relative = path.relative_to(root).as_posix()
            owner = relative.split("/")[1] if folder == "amct" else folder
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                target = match.group(1)
                if target.startswith("amct/"):
                    used = target.split("/")[1]
                    if used != owner and used not in ALLOWED[owner]:
                        yield f"{relative}:{number}: {owner} must not include {used}"
                for prefix, home in PRIVATE.items():
                    if target.startswith(prefix) and not relative.startswith(home):
                        yield f"{relative}:{number}: only {home} may include {target}"


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    found = list(problems(root))
    for problem in found:
        print(problem, file=sys.stderr)
    if not found:
        print("includes: ok")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
