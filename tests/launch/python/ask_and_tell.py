"""Exclusive or by ask and tell: prints how often it was asked, and the best fitness told of."""
import json
import sys

sys.path.insert(0, sys.argv[1])
import cambrian  # noqa: E402

ROWS = [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)]


# Nothing is taken from the task of a file that is extended: neither episodes nor processes.
extended = sys.argv[3] + "-extended.json"
with open(extended, "w") as file:
    json.dump({"population": {"size": 20}, "task": {"type": "external", "command": ["none"], "processes": 2, "episodes": 5,
                                                    "episode_seeds": "fixed"}}, file)


def evolution(generations, **more):
    return cambrian.Evolution(observations=2, actions=1, program=sys.argv[2], directory=sys.argv[3],
                              config={"extends": extended, "run": {"stop": {"generations": generations}}}, **more)


def judged(networks):
    for bad in (float("nan"), 1e39):  # Are refused before anything is asked.
        try:
            networks([[bad, 0.0]] * len(networks))
        except ValueError:
            continue
        raise AssertionError(f"the observation {bad} was taken")
    fitness = [4.0] * len(networks)
    for a, b, right in ROWS:
        for i, (output,) in enumerate(networks([[a, b]] * len(networks))):
            fitness[i] -= (output - right) ** 2
    return fitness


def refuses(networks):
    """What comes after tell() is of other networks."""
    try:
        networks([[0.0, 0.0]] * len(networks))
    except RuntimeError as error:
        assert "call ask()" in str(error), error
        return True
    return False


asked, best, former = 0, 0.0, None
with evolution(3) as first:
    for networks in first:
        asked += 1
        assert former is None or refuses(former)
        assert len(networks) == (20 if networks.phase == "train" else 1)  # A whole generation.
        fitness = judged(networks)
        best = max([best] + fitness)
        first.tell(fitness)
        assert refuses(networks)
        former = networks
rounds = []
with evolution(4, resume=True) as second:
    for networks in second:
        rounds.append(networks.round)
        fitness = judged(networks)
        best = max([best] + fitness)
        second.tell(fitness)
assert rounds[0] == 3, rounds  # Goes on.
print(asked, best)
