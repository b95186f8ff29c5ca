"""A cart that balances a pole, as a simulator of one's own: cart_pole.json evolves it."""
import math
import random

import cambrian


class CartPole:
    observations = ["position", "speed", "angle", "angular speed"]
    actions = ["left", "right"]

    def reset(self, seed):
        start = random.Random(seed)
        self.state = [start.uniform(-0.05, 0.05) for _ in range(4)]
        self.steps = 0
        return self.state

    def step(self, outputs):
        x, v, angle, w = self.state
        force = 10.0 if cambrian.argmax(outputs) == 1 else -10.0
        push = (force + 0.05 * w * w * math.sin(angle)) / 1.1
        turn = (9.8 * math.sin(angle) - math.cos(angle) * push) / (0.5 * (4 / 3 - 0.1 * math.cos(angle) ** 2 / 1.1))
        drive = push - 0.05 * turn * math.cos(angle) / 1.1
        self.state = [x + 0.02 * v, v + 0.02 * drive, angle + 0.02 * w, w + 0.02 * turn]
        self.steps += 1
        fell = abs(self.state[0]) > 2.4 or abs(self.state[2]) > math.radians(12)
        return self.state, 1.0, fell or self.steps >= 500


if __name__ == "__main__":
    cambrian.serve(CartPole)
