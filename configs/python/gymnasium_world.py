"""An environment of gymnasium, or of anything that looks like it, as a simulator: one with a Box of one axis to see, and
a Discrete or a bounded Box of one axis to act. Others are refused. The config says which:

    "task": { "type": "external", "command": ["python3", "gymnasium_world.py"],
              "settings": { "environment": "CartPole-v1" }, "episodes": 3, "processes": 2 }
"""
import math

import gymnasium

import cambrian


class World:
    def __init__(self, settings):
        name = settings["environment"]
        self.environment = gymnasium.make(name)
        seen, acts = self.environment.observation_space, self.environment.action_space
        if not is_row(seen):
            raise SystemExit(f"{name} is seen by {seen} (only a Box of one axis is understood) wrap it to give one")
        self.choices = is_a(acts, "Discrete")  # Else the outputs are the action.
        if not self.choices and not (is_row(acts) and all(map(math.isfinite, acts.high - acts.low))):
            raise SystemExit(f"{name} acts by {acts} (only a Discrete and a bounded Box of one axis are understood) wrap "
                             "it to take one")
        self.observations = int(seen.shape[0])
        self.actions = int(acts.n if self.choices else acts.shape[0])

    def reset(self, seed):
        return self.environment.reset(seed=seed)

    def step(self, outputs):
        space = self.environment.action_space
        if self.choices:
            return self.environment.step(int(getattr(space, "start", 0)) + cambrian.argmax(outputs))
        return self.environment.step(space.low + (space.high - space.low) * [min(max(x, 0.0), 1.0) for x in outputs])


def is_a(space, name):
    return any(kind.__name__ == name for kind in type(space).__mro__)


def is_row(space):
    return is_a(space, "Box") and len(space.shape) == 1


if __name__ == "__main__":
    cambrian.serve(World)
