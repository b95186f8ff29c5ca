"""A device that is not there, or too small, ends a run with exit code 4 and leaves its checkpoint as it was."""
import shutil

import harness

# On two ranks a third of the errors, or all.
chosen = harness.options(__doc__, faulty_loader="", all=0)
task = {"type": "cart_pole", "episodes": 2, "steps": 60}
experiment = harness.config(chosen, "devices", 8, 40, task)
alone = chosen.work / "alone"
harness.run(chosen, 1, ["evolve", experiment, "--quiet", "--set", f"run.directory={alone}"])
expected = harness.results(alone)

begun = chosen.work / "begun"
harness.run(chosen, 1, ["evolve", experiment, "--quiet", "--set", f"run.directory={begun}", "--set", "run.stop.generations=4"])
checkpoint = (begun / "checkpoint.cmb").read_bytes()
directory = chosen.work / "run"


def begin_again():
    """What was committed before an error stays: each error meets the same run."""
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(begun, directory)


NO_DRIVER = {"VK_ICD_FILENAMES": "/nonexistent", "VK_DRIVER_FILES": "/nonexistent"}
CASES = [([], NO_DRIVER, 4, "no driver is installed"),
         (["--set", "engine.device=local_rank"], {}, 4, "there is no GPU"),
         (["--set", "engine.device=GTX"], {}, 4, "the devices of this host are: 0 "),
         (["--set", "engine.device=99"], {}, 4, "engine.device is 99"),
         (["--set", "engine.memory_limit=100B"], {}, 4, "raise the limit"),
         (["--set", "engine.memory_limit=2KiB"], {}, 4, "raise the memory limit")]
if chosen.faulty_loader:
    for call, at in (("vkQueueSubmit", 1), ("vkQueueSubmit", 4), ("vkGetSemaphoreCounterValue", 6)):
        CASES.append((["--set", "engine.memory_limit=1GiB"], {"LD_LIBRARY_PATH": chosen.faulty_loader, "CAMBRIAN_FAULT_CALL": call, "CAMBRIAN_FAULT_AT": str(at),
                           "CAMBRIAN_FAULT_RESULT": "-4"}, 4, "the Vulkan device is lost"))
met = 0
for ranks, cases in ((1, CASES), (2, CASES if chosen.all else CASES[::3])):
    for extra, environment, code, message in cases:
        met += 1
        begin_again()
        text = harness.run(chosen, ranks, ["resume", directory, "--quiet", "--set", "run.stop.generations=8", *extra],
                           expect=code, **environment)
        if message not in text:
            harness.fail(f"{ranks} ranks, {extra}: {message!r} is not in\n{text}")
        if (directory / "checkpoint.cmb").read_bytes() != checkpoint:
            harness.fail(f"{ranks} ranks, {extra}: the checkpoint has changed")
# Less memory than the population needs: it is evaluated in parts, and nothing else changes.
begin_again()
harness.run(chosen, 1, ["resume", directory, "--quiet", "--set", "run.stop.generations=8", "--set", "engine.memory_limit=128KiB"])
harness.same(expected, directory, "a run resumed after errors of its device, with little memory")
print(f"{met} errors of devices left the checkpoint as it was")
