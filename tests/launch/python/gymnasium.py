"""What the example needs of gymnasium: an environment with its interface, whose rewards are for the right choice."""
import math


class Space:
    def __init__(self, **members):
        self.__dict__.update(members)


class Box(Space):
    pass


class Discrete(Space):
    pass


class MultiBinary(Space):
    pass


class RightChoice:
    """The second of two actions is right where the observation is positive."""

    def __init__(self, seen, acts):
        self.observation_space, self.action_space = seen, acts
        self.box = isinstance(acts, Box)

    def reset(self, seed=None):
        self.steps = 0
        self.state = (seed % 1000) / 500.0 - 1.0
        return [self.state], {}

    def step(self, action):
        if self.box:
            assert len(action) == 1 and -1.0 <= action[0] <= 1.0
        else:
            assert action - self.action_space.start in (0, 1)
        right = (action[0] > 0.0 if self.box else action == self.action_space.start + 1) == (self.state > 0.0)
        self.state = -self.state
        self.steps += 1
        return [self.state], 1.0 if right else 0.0, False, self.steps == 10, {}


class Numbers(list):
    """As much of numpy's arithmetic as a range of actions needs."""

    def __add__(self, other):
        return Numbers(a + b for a, b in zip(self, other))

    def __sub__(self, other):
        return Numbers(a - b for a, b in zip(self, other))

    def __mul__(self, other):
        return Numbers(a * b for a, b in zip(self, other))


def box(low, high):
    return Box(shape=(1,), low=Numbers([low]), high=Numbers([high]))


def make(name):
    anything = box(-math.inf, math.inf)
    two = Discrete(n=2, start=0)
    return RightChoice(*{
        "Choice-v0": (anything, two), "Box-v0": (anything, box(-1.0, 1.0)), "Later-v0": (anything, Discrete(n=2, start=5)),
        "Binary-v0": (anything, MultiBinary(n=2, shape=(2,))), "Unbounded-v0": (anything, anything),
        "Above-v0": (anything, box(0.0, math.inf)), "Place-v0": (Discrete(n=4, start=0), two),
        "Image-v0": (Box(shape=(2, 2)), two)}[name])
