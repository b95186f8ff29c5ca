"""An environment of gymnasium, or of anything that looks like it, as a simulator. The config says which:

    "task": { "type": "external", "command": ["python3", "gymnasium_world.py"],
              "settings": { "environment": "CartPole-v1" }, "episodes": 3, "processes": 2 }
"""
import gymnasium

import cambrian


class World:
    def __init__(self, settings):
        self.environment = gymnasium.make(settings["environment"])
        space = self.environment.action_space
        self.choices = hasattr(space, "n")  # Else the outputs are the action.
        self.observations = int(self.environment.observation_space.shape[0])
        self.actions = int(space.n if self.choices else space.shape[0])

    def reset(self, seed):
        return self.environment.reset(seed=seed)

    def step(self, outputs):
        if self.choices:
            return self.environment.step(cambrian.argmax(outputs))
        space = self.environment.action_space
        return self.environment.step(space.low + (space.high - space.low) * [min(max(x, 0.0), 1.0) for x in outputs])


if __name__ == "__main__":
    cambrian.serve(World)
