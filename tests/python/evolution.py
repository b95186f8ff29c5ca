#!/usr/bin/env python3
"""Evolution asked from a program (cambrian.Evolution). Usage: evolution.py PROGRAM"""
import math

import support
from support import PROGRAM, FolderTest

import cambrian as client  # Found where support looks.

# Outputs that are not finite, whatever is observed.
INFINITE = {"layers": [{"type": "dense", "activation": "gauss", "out": 3},
                       {"type": "dense", "activation": "square", "init": "constant", "init_scale": 1e30}]}


class Evolution(FolderTest):
    def judged(self, name, judge, config):
        """What was asked until the evolution ended by itself."""
        config = {"run": {"stop": {"generations": 1}}, "population": {"size": 4}, "engine": {"threads": 1}, **config}
        asked = []
        with client.Evolution(2, 1, config, program=PROGRAM, directory=self.folder / name) as evolution:
            for networks in evolution:
                asked.append((networks.phase, len(networks)))
                evolution.tell(judge(networks))
        return asked

    def test_no_network_goes_on_in_the_last_generation(self):
        self.assertEqual(self.judged("told", lambda networks: [0.0] * len(networks), {"network": INFINITE}), [("train", 4)])

    def test_the_best_network_fails_when_it_is_validated(self):
        def judge(networks):
            validated = networks.phase == "validation"
            for _ in range(2):
                outputs = networks([[1e30 if validated else 0.5] * 2] * len(networks))
                self.assertEqual(all(math.isnan(row[0]) for row in outputs), validated)
            return [0.0 if validated else -abs(row[0]) for row in outputs]

        network = {"layers": [{"type": "dense", "activation": "square", "out": 3}, {"type": "dense", "activation": "square"}]}
        self.assertEqual(self.judged("validated", judge, {"network": network}), [("train", 4), ("validation", 1)])
        self.assertTrue((self.folder / "validated" / "best.cmb").exists())

    def test_a_program_that_fails_is_told_of(self):
        def judge(networks):
            networks._evolution._process.kill()
            networks._evolution._process.wait()
            networks([[0.0, 0.0]] * len(networks))
            self.fail("a program that was killed answered")

        with self.assertRaisesRegex(RuntimeError, "cambrian ended while networks were judged"):
            self.judged("killed", judge, {})


if __name__ == "__main__":
    support.main()
