"""What the example needs of gymnasium: an environment with its interface, whose rewards are for the right choice."""


class Space:
    def __init__(self, **members):
        self.__dict__.update(members)


class RightChoice:
    """The second of two actions is right where the observation is positive."""

    observation_space = Space(shape=(1,))

    def __init__(self, box):
        self.box = box
        self.action_space = Space(shape=(1,), low=Numbers([-1.0]), high=Numbers([1.0])) if box else Space(n=2)

    def reset(self, seed=None):
        self.steps = 0
        self.state = (seed % 1000) / 500.0 - 1.0
        return [self.state], {}

    def step(self, action):
        if self.box:
            assert len(action) == 1 and -1.0 <= action[0] <= 1.0
        right = (action[0] > 0.0 if self.box else action == 1) == (self.state > 0.0)
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


def make(name):
    return RightChoice({"Choice-v0": False, "Box-v0": True}[name])
