#!/usr/bin/env python3
"""Holds the house: what each folder may include, what stays out of headers, and where one fact has one place.

Usage: architecture_test.py SOURCE_DIRECTORY
"""
import os
import re
import sys

# Folders in the order of their arrows: a file includes headers of its own folder and of folders above it.
ENGINE = """
engine/core engine/core/json engine/core/simd engine/weights engine/tensor
engine/graph engine/graph/builders engine/graph/rules engine/graph/plan engine/graph/passes engine/graph/gradient
engine/graph/dump engine/backend engine/eager
engine/layers/support engine/layers/custom engine/layers/convolution engine/layers/normalisation engine/layers/recurrent engine/layers
engine/io engine/io/csv engine/text/unicode engine/text engine/text/chat engine/text/training
engine/network engine/network/archive engine/network/builders engine/network/bytecode engine/network/observe
engine/generation engine/models
engine/reference engine/check engine/onnx
engine/cpu/execution engine/cpu/gemm engine/cpu/conv engine/cpu/kernels engine/cpu/fused engine/cpu/lanes
engine/cpu/bytecode engine/cpu
engine/train engine/train/trainer
""".split()
GPU = """
gpu/vulkan gpu/codegen gpu/codegen/fused gpu/execution gpu/codegen/rows
gpu/kernels gpu/kernels/order gpu/kernels/index gpu/kernels/reduce gpu/kernels/matmul gpu/kernels/attention
gpu/kernels/fused gpu/kernels/scan gpu gpu/absent
""".split()
EVOLVE = """
evolve/analysis evolve/genome evolve/variation evolve/variation/graft evolve/variation/neat evolve/variation/hyperneat evolve/strategy evolve/tasks evolve/tasks/environments evolve/tasks/dataset
evolve/tasks/table evolve/tasks/samples evolve/tasks/host evolve/tasks/external evolve/evaluation evolve/plugins evolve/runs
""".split()
DISTRIBUTED = """
distributed/communicator distributed distributed/generation distributed/protocol distributed/worker distributed/coordinator
""".split()
LAUNCH = """
launch launch/config launch/devices launch/convert launch/show launch/trials launch/report/data launch/report launch/commands launch/commands/runs launch/commands/networks launch/commands/catalogue launch/program launch/scaling
""".split()
MODULES = {
    "engine": ENGINE,
    "gpu": ENGINE + GPU,
    "evolve": ENGINE + EVOLVE,
    "distributed": ENGINE + EVOLVE + DISTRIBUTED,
    "launch": ENGINE + GPU + EVOLVE + DISTRIBUTED + LAUNCH,
}

MAX_FILES = 30  # Of a folder, without its README.

# What no public header shows its users.
FOREIGN = re.compile(r'#include [<"](mpi\.h|vulkan/|volk\.h|cblas\.h|spdlog/|nlohmann/json\.hpp|cereal/)')
FOREIGN_ROOMS = re.compile(r"^gpu/vulkan/")

# Instructions of a kind of processor are written in one vocabulary.
INTRINSICS = re.compile(r"#include <(immintrin|x86intrin|arm_neon)\.h>")
INTRINSICS_ROOM = "engine/core/simd/"

# A library's functions give other bits on another machine: what reaches a result has our own (engine/core/elementary*.hpp).
LIBRARY_FUNCTION = re.compile(
    r"\bstd::(pow|exp|exp2|expm1|log|log2|log10|log1p|a?sin|a?cos|a?tan|atan2|sinh|cosh|tanh|erfc?|cbrt|hypot|[tl]gamma)\(")
# The oracle, what is only shown or answered, and pictures.
LIBRARY_ROOMS = re.compile(
    r"^(engine/reference/|launch/|evolve/(analysis/metrics|evaluation/answers|genome/preparation|tasks/table/baselines)\.cpp"
    r"|evolve/tasks/environments/(acrobot|drawings|pendulum)\.cpp)")

# What is true of an op, a format or an activation stands in its row: a switch over them is a second table.
SWITCH = re.compile(r"\bcase (Op|BytecodeOp|NumberFormat|StoredType|Activation)::")
TABLES = {"engine/reference/interpret.cpp", "engine/graph/builders/scan.cpp"}
# Outside of the rooms of ops, nobody asks which op a node is; inside, a file asks for a few.
COMPARISON = re.compile(r"[!=]= Op::")
ROOMS_OF_OPS = re.compile(r"^(engine/(graph|reference|cpu)|gpu)/")
MAX_COMPARISONS = 4

# Files of a module are compiled in batches: a constant of one would stand for that of a header in all after it.
SHARED_CONSTANT = re.compile(r"^inline constexpr [\w:<>, ]+?[ &](\w+)[ ={\[]", re.M)
OWN_CONSTANT = re.compile(r"^(?:static )?constexpr [\w:<>, ]+?[ &](\w+)[ ={\[]", re.M)
TYPE = re.compile(r"^(?:struct|class|enum class|enum|using) (\w+)(?: final)?(?: :| \{| =)", re.M)


def sources(root):
    for module in MODULES:
        for folder, _, names in os.walk(os.path.join(root, module)):
            for name in names:
                if name.endswith((".hpp", ".cpp", ".inl")):
                    yield module, os.path.relpath(os.path.join(folder, name), root)


def check_includes(module, path, text):
    order = MODULES[module]
    folder = os.path.dirname(path)
    if folder not in order:
        yield f"{path}: the folder has no place in the order of tests/architecture_test.py"
        return
    for target in re.findall(r'#include [<"]cambrian/([^">]+)', text):
        if target.startswith("tests/"):
            yield f"{path}: includes a test ({target})"
            continue
        other = os.path.dirname(target)
        if other not in order or order.index(other) > order.index(folder):
            yield f"{path}: {folder} comes before {other} and must not include it ({target})"
    for target in re.findall(r'#include "((?!cambrian/)[^"]+)"', text):
        yield f"{path}: includes of ours start with cambrian/ ({target})"


def check_text(path, text):
    if path.endswith(".hpp") and not FOREIGN_ROOMS.match(path):
        for line in re.findall(r"#include .*", text):
            if FOREIGN.match(line):
                yield f"{path}: a foreign interface in a header ({line})"
    if INTRINSICS.search(text) and not path.startswith(INTRINSICS_ROOM):
        yield f"{path}: instructions of one kind of processor outside of {INTRINSICS_ROOM}"
    if LIBRARY_FUNCTION.search(text) and not LIBRARY_ROOMS.match(path):
        yield f"{path}: a function of the library, of other bits on another machine: use those of engine/core/elementary*.hpp"
    if SWITCH.search(text) and path not in TABLES:
        yield f"{path}: a switch on ops, formats or activations outside of their table"
    comparisons = len(COMPARISON.findall(text))
    if comparisons and not ROOMS_OF_OPS.match(path):
        yield f"{path}: asks which op a node is ({comparisons} times): give the row of the op a property"
    elif comparisons > MAX_COMPARISONS:
        yield f"{path}: asks {comparisons} times which op a node is: give the rows of the ops a property"


def check_constants(texts):
    """texts: of every path of a module."""
    shared = {}
    for path, text in texts.items():
        if path.endswith(".hpp"):
            for name in SHARED_CONSTANT.findall(text):
                shared[name] = path
    for path, text in texts.items():
        if path.endswith(".cpp"):
            for name in OWN_CONSTANT.findall(text):
                if name in shared:
                    yield f"{path}: {name} hides that of {shared[name]} from files compiled in one batch with it: give it another name"


def check_types(texts):
    """A type of a source in a namespace within cambrian must not hide one of all modules, without a word of the compiler."""
    shared = {}
    for path, text in texts.items():
        if path.endswith(".hpp") and "\nnamespace cambrian {" in text:
            for name in TYPE.findall(text):
                shared[name] = path
    for path, text in texts.items():
        if path.endswith(".cpp") and "\nnamespace cambrian::" in text:
            for name in TYPE.findall(text):
                if name in shared:
                    yield f"{path}: {name} hides that of {shared[name]} from files compiled in one batch with it: give it another name"


def check_folders(root):
    for module in list(MODULES) + ["tests", "configs"]:
        for folder, _, names in os.walk(os.path.join(root, module)):
            path = os.path.relpath(folder, root)
            if path.startswith(("tests/golden", "tests/fuzz/corpus")) or "__pycache__" in path:
                continue  # Cases, not rooms.
            count = len([name for name in names if name != "README.md"])
            if count > MAX_FILES:
                yield f"{path}: {count} files in one folder (at most {MAX_FILES}): give its parts rooms of their own"


def main():
    root = sys.argv[1]
    failures = []
    count = 0
    texts = {module: {} for module in MODULES}
    for module, path in sorted(sources(root)):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        failures += check_includes(module, path, text)
        failures += check_text(path, text)
        texts[module][path] = text
        count += 1
    for of_module in texts.values():
        failures += check_constants(of_module)
    failures += check_types({path: text for of_module in texts.values() for path, text in of_module.items()})
    failures += check_folders(root)
    if failures:
        print("the architecture is broken:\n  " + "\n  ".join(failures))
        return 1
    print(f"{count} files keep the order of their folders")
    return 0


if __name__ == "__main__":
    sys.exit(main())
