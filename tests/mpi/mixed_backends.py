"""Under strict math CPU ranks, GPU ranks and any mix of them write the same bytes; a rank without its GPU is missed."""
import json

import harness

CASES = [(2, "cpu"), (1, "vulkan"), (2, ["cpu", "vulkan"]), (3, ["vulkan", "cpu"])]
NO_DRIVER = {"VK_ICD_FILENAMES": "/nonexistent", "VK_DRIVER_FILES": "/nonexistent"}

chosen = harness.options(__doc__)
task = {"type": "cart_pole", "episodes": 3, "steps": 200, "validation": {"every": 4, "episodes": 8}}
experiment = harness.config(chosen, "mixed", 20, 60, task)


def arguments(backend, directory):
    return ["evolve", experiment, "--set", "engine.math=strict", "--set", f"engine.backend={json.dumps(backend)}",
            "--set", f"run.directory={chosen.work / directory}"]


harness.run(chosen, 1, arguments("cpu", "alone"))
expected = harness.results(chosen.work / "alone")
for number, (ranks, backend) in enumerate(CASES):
    text = harness.run(chosen, ranks, arguments(backend, f"case-{number}"))
    if ("vulkan strict" in text) != ("vulkan" in backend):
        harness.fail(f"{ranks} ranks on {backend}: the table of ranks says\n{text}")
    if ("share one device" in text) != (ranks == 3):
        harness.fail(f"{ranks} ranks on {backend}: a shared device, and only that, must be warned of\n{text}")
    harness.same(expected, chosen.work / f"case-{number}", f"{ranks} ranks on {backend}")

# A worker that finds no driver says so and the others go on; a coordinator ends the job.
text = harness.run(chosen, 2, arguments(["cpu", "vulkan"], "missed"), **NO_DRIVER)
if "rank 1 leaves the run" not in text or "no driver is installed" not in text:
    harness.fail(f"a worker without a driver must be told of:\n{text}")
harness.same(expected, chosen.work / "missed", "a worker without a driver")
text = harness.run(chosen, 2, arguments(["vulkan", "cpu"], "refused"), expect=4, **NO_DRIVER)
if text.count("no driver is installed") != 1:
    harness.fail(f"a coordinator without a driver must say so once:\n{text}")

# Under fast math such a mix would give other bits.
def fast(directory):
    return [*arguments(["cpu", "vulkan"], directory), "--set", "engine.math=fast"]


if "would compute other bits" not in harness.run(chosen, 2, fast("fast"), expect=2):
    harness.fail("fast math on different backends must be refused")
harness.run(chosen, 2, [*fast("accepted"), "--set", "engine.mixed=true"])
print(f"{len(CASES)} mixes of backends gave the same bytes")
