#!/usr/bin/env python3
"""How many starts of `swing_up` with `task.start` hard can be saved: the share from which the cart, pushed against its motion
with all force, stops before an end of the track, and what any controller then needs for a mean of 667.

Usage: swing_up_ceiling.py [--starts N] [--switches N]

With --switches N every way to push the other way in some of the first N pieces of .12 s is tried, too, where pushing against the
motion does not save the cart. Dynamics: evolve/tasks/environments/swing_up.cpp."""
import argparse
import itertools
import math
import random

STEP, LIMIT, FORCE = .01, 2.4, 10.0


def moved(state, push):
    x, v, angle, speed = state
    sine, cosine = math.sin(angle), math.cos(angle)
    swing, inertia = speed * speed * sine, 4 - 1.5 * cosine * cosine
    acceleration = (-.6 * swing + 1.5 * 9.82 * sine * cosine + 4 * push - .4 * v) / inertia
    turning = (-.9 * swing * cosine + 6 * 9.82 * sine + 6 * (push - .1 * v) * cosine) / (.6 * inertia)
    return x + v * STEP, v + acceleration * STEP, angle + speed * STEP, speed + turning * STEP


def reward(state):
    return (math.cos(state[2]) + 1) / 2 * math.cos(state[0] / LIMIT * math.pi / 2)


def stops(start, pushes):
    """Whether the cart stops inside the track, and what its steps paid."""
    state, paid = start, 0.0
    for push in pushes:
        state = moved(state, push)
        paid += reward(state)
        if abs(state[0]) > LIMIT:
            return False, paid
        if state[1] * start[1] <= 0:
            return True, paid
    return True, paid


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--starts", type=int, default=100_000)
parser.add_argument("--switches", type=int, default=0)
chosen = parser.parse_args()

draws = random.Random(1)
saved = by_switching = 0
paid_by_lost = 0.0
for _ in range(chosen.starts):
    start = (draws.uniform(-LIMIT, LIMIT), draws.uniform(-10, 10), math.pi + draws.uniform(-math.pi / 2, math.pi / 2), draws.uniform(-10, 10))
    against = -math.copysign(FORCE, start[1])
    inside, paid = stops(start, itertools.repeat(against, 1000))
    saved += inside
    if inside:
        continue
    paid_by_lost += paid
    for signs in itertools.product((1, -1), repeat=chosen.switches) if chosen.switches else ():
        pieces = (sign * against for sign in signs for _ in range(12))
        if stops(start, itertools.chain(pieces, itertools.repeat(against, 1000)))[0]:
            by_switching += 1
            break

share = saved / chosen.starts
error = math.sqrt(share * (1 - share) / chosen.starts)
print(f"{chosen.starts} starts: the cart can be stopped inside the track from {share:.4f} of them (standard error {error:.4f})"
      + (f", by another order of pushes from {by_switching} more" if chosen.switches else ""))
print(f"a mean of 667 takes {(667 - paid_by_lost / chosen.starts) / share:.0f} of 1,000 from each of these, where lost ones pay what they pay under that push")
