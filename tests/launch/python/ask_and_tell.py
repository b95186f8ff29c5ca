"""Exclusive or by ask and tell: prints how often it was asked, and the best fitness told of."""
import sys

sys.path.insert(0, sys.argv[1])
import cambrian  # noqa: E402

ROWS = [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)]
asked, best = 0, 0.0
with cambrian.Evolution(observations=2, actions=1, program=sys.argv[2], directory=sys.argv[3],
                        config={"population": {"size": 20}, "run": {"stop": {"generations": 3}}}) as evolution:
    for networks in evolution:
        asked += 1
        assert len(networks) == (20 if networks.phase == "train" else 1)  # A whole generation.
        fitness = [4.0] * len(networks)
        for a, b, right in ROWS:
            for i, (output,) in enumerate(networks([[a, b]] * len(networks))):
                fitness[i] -= (output - right) ** 2
        best = max([best] + fitness)
        evolution.tell(fitness)
print(asked, best)
