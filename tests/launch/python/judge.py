"""Judges networks by what the client computes of them, and writes that down where task.settings say so."""
import sys

sys.path.insert(0, sys.argv[1])
import cambrian  # noqa: E402


def judge(network):
    policy = network.policy()
    outputs = [policy(row) for row in network.settings["rows"]]
    if "outputs" in network.settings:
        with open(network.settings["outputs"], "w", encoding="utf-8") as file:
            file.writelines(",".join(map(repr, row)) + "\n" for row in outputs)
    policy.reset()
    if [policy(row) for row in network.settings["rows"]] != outputs:
        raise AssertionError("a policy that was reset computes something else")
    with open(network.settings.get("names", "/dev/null"), "a", encoding="utf-8") as file:
        file.write(f"{network.individual},{network.phase},{network.round},{network.seeds}\n")
    return -sum(abs(row[0] - 0.5 * sum(seen)) for row, seen in zip(outputs, network.settings["rows"]))


cambrian.serve_networks(judge, observations=["p", "q"], actions=["r"])
