"""Experiments drawn at random give on many ranks, and on a GPU under strict math, the bytes that one process gives."""
import json
import random

import harness

chosen = harness.options(__doc__, count=6, first=1, max_ranks=4)


def network(draw, large):
    widths = [draw.choice([48, 64]), 48] if large else draw.sample([2, 3, 5, 8, 16], draw.randint(0, 2))
    layers = [{"type": "dense", "out": width, "activation": draw.choice(["tanh", "relu", "silu"])} for width in widths]
    return {"layers": [*layers, {"type": "dense"}], "grid": {"layers_per_cell": len(layers) + draw.randint(2, 4)}}


def mutation(draw):
    rates = {key: draw.choice([0, 0.05, 0.3]) for key in ("activation_rate", "layer_type_rate", "layer_insert_rate",
                                                        "layer_toggle_rate", "link_add_rate", "link_drop_rate")}
    return {**rates, "weight_rate": draw.choice([0.3, 0.8, 1]), "weight_power": draw.choice([0.02, 0.3]),
            "weight_replace_rate": draw.choice([0, 0, 0.1])}


def splice(draw):
    return {"rate": draw.choice([0, 0.25, 0.8]), "mode": draw.choice(["blend", "point", "uniform"]),
            "alpha": draw.choice([0.5, 0.2]), "split": draw.choice([0.5, 0.7])}


def islands(draw, size):
    count = draw.choice([1, 1, 2, 4])
    if count == 1:
        return {}
    section = {"count": count, "topology": draw.choice(["ring", "torus", "complete", "star", "hypercube", "random"]),
               "every": draw.randint(1, 4), "migrants": draw.randint(1, 3), "choice": draw.choice(["best", "random"]),
               "extinction_every": draw.choice([0, 3])}
    if draw.random() < 0.5:
        cuts = sorted(draw.sample(range(4, size - 4, 4), count - 1))
        section["sizes"] = [b - a for a, b in zip([0, *cuts], [*cuts, size])]
    if draw.random() < 0.5:
        section["overrides"] = [{"mutation": {"weight_power": draw.choice([0.1, 0.5])}, "splice": {"mode": "uniform"}}
                                if draw.random() < 0.5 else {} for _ in range(count)]
    return {"islands": section}


def experiment(draw):
    size = draw.choice([24, 40, 64])
    task = draw.choice([{"type": "xor"}, {"type": "cart_pole", "episodes": 2, "steps": 40, "validation": {"every": 2, "episodes": 3}},
                        {"type": "dataset", "source": {"type": "blobs", "features": 20, "classes": 3, "rows": 90},
                         "loss": {"type": "cross_entropy"}}])
    return {"task": task, "network": network(draw, draw.random() < 0.3), "mutation": mutation(draw), "splice": splice(draw),
            "population": {"size": size, "elite_fraction": draw.choice([0.1, 0.25, 0.5]),
                           "reevaluate": draw.choice(["auto", "always"])},
            "run": {"seed": draw.randint(1, 10**6), "stop": {"generations": draw.randint(4, 9)}},
            "checkpoint": {"every": draw.choice([1, 3, 100])}, "engine": {"backend": "cpu", "math": "strict", "family": draw.choice(["auto", "graph"])}, **islands(draw, size)}


def in_blocks(draw, content):
    """The same experiment in the steady state, often enough: its fitness is final, its rows are blocks of births."""
    if draw.random() < 0.6:
        return content
    size, alone = content["population"]["size"], "islands" not in content
    block = draw.choice([1, 3, 8]) if alone else size // 4
    rows = content["run"]["stop"]["generations"] * draw.randint(1, 2) * size // block
    return {**content, "steady_state": {"window": block * draw.choice([1, 2, 5]), "block": block},
            "population": {**content["population"], "reevaluate": "never"},
            "run": {**content["run"], "stop": {"generations": min(rows, 200)}}}


def selected(draw, content):
    """The same experiment by another strategy, or other parts of selection, often enough."""
    type = draw.choice(["elite", "elite", "species", "species", "age_layers"])
    steady = "steady_state" in content
    selection = {"selection": {"type": draw.choice(["truncation", "tournament", "roulette"])}}
    if type == "elite" or steady:
        if not steady:
            selection["selection"] |= {"parent_fraction": draw.choice([0, 0.2, 1]), "restart_after": draw.choice([0, 2])}
        return {**content, **selection}
    content = {**content, **selection, "strategy": {"type": type}}
    if type == "age_layers":
        return {**content, "age_layers": {"count": 2, "gap": draw.randint(1, 3)}}
    return {**content, "species": {
        "threshold": draw.choice([0.1, 0.5, 3]), "target": draw.choice([0, 3, 8]), "matching": draw.choice(["first", "nearest"]),
        "representative": draw.choice(["random", "best"]), "sharing": draw.choice(["shifted", "ranks"]),
        "survival": draw.choice([0.2, 0.6, 1]), "elitism": draw.choice([0, 1, 2]), "elitism_size": draw.choice([1, 5]),
        "min_size": draw.choice([0, 1, 2]), "stagnation": draw.choice([0, 1, 3]), "protected_species": draw.choice([0, 1, 2]),
        "young_boost": draw.choice([1, 1.5]), "interspecies_rate": draw.choice([0, 0.3])}}


def of_another_task(draw, content):
    """The same experiment on another task, often enough."""
    if draw.random() < 0.5:
        return content
    episodes = {"episodes": draw.choice([1, 3]), "steps": draw.choice([20, 45]), "validation": {"every": 2, "episodes": 3}}
    task = draw.choice([
        {"type": "double_pole", "velocities": draw.choice([True, False]), "steps": 45},
        {"type": "swing_up", "start": draw.choice(["easy", "hard"]), **episodes},
        {"type": "acrobot", **episodes}, {"type": "mountain_car", **episodes}, {"type": "mountain_car_continuous", **episodes},
        {"type": "pendulum", **episodes}, {"type": "t_maze", "episodes": 1},
        {"type": "parity"}, {"type": "multiplexer", "address_bits": 2}, {"type": "retina", "goal": "both"},
        {"type": "narma10", "train_steps": 60}, {"type": "delayed_copy", "delay": 2}, {"type": "mackey_glass"}])
    return {**content, "task": task}


WITH_TIME = ("cart_pole", "double_pole", "swing_up", "acrobot", "mountain_car", "mountain_car_continuous", "pendulum", "t_maze",
             "narma10", "delayed_copy", "mackey_glass")


def with_other_genes(draw, content):
    """The same experiment with neurons as genes, or with learning, often enough."""
    kind = draw.choice(["volumetric", "volumetric", "learning", "neat", "neat", "hyperneat", "evolved"])
    time = content["task"]["type"] in WITH_TIME
    if kind == "learning" and content["task"]["type"] == "dataset" and "steady_state" not in content:
        return {**content, "learning": {"mode": draw.choice(["lamarckian", "baldwinian"]), "steps": 2, "batch": 16}}
    if kind in ("volumetric", "learning"):
        return content
    content = {key: value for key, value in content.items() if key not in ("mutation", "network")}
    content["engine"] = {key: value for key, value in content["engine"].items() if key != "family"}
    if "islands" in content:
        content["islands"] = {key: value for key, value in content["islands"].items() if key != "overrides"}
    content["splice"] = {"rate": content["splice"]["rate"]}
    genes = {"node_add_rate": 0.3, "connection_add_rate": 0.3, "connection_toggle_rate": draw.choice([0, 0.1]),
             "node_delete_rate": draw.choice([0, 0.1]), "connection_delete_rate": draw.choice([0, 0.1])}
    layer = {"type": "neurons"}
    if kind == "neat":
        genes |= {"activation_rate": 0.2, "aggregation_rate": draw.choice([0, 0.2]), "average_rate": draw.choice([0, 0.5]),
                  "activations": draw.sample(["tanh", "sigmoid", "relu", "sin", "gauss", "abs", "square", "elu", "softplus"], 4),
                  "aggregations": ["sum", "product", "max", "min", "mean", "median", "maxabs"]}
        if time:
            genes |= {"feed_forward": draw.choice([True, False]), "delay_rate": 0.2, "largest_delay": draw.choice([1, 3])}
            layer |= draw.choice([{}, {"continuous": True}, {"plastic": True}])
        if layer.get("plastic"):
            genes |= {"plastic_rate": 0.3, "plastic_toggle_rate": 0.1}
    else:
        genes["substrate"] = {"bias": True} if kind == "hyperneat" else {
            "type": "evolved", "bias": True, "search": {"initial_depth": 2, "maximum_depth": 2, "band_threshold": 0.1}}
    return {**content, "genome": {"type": "neat" if kind == "neat" else "hyperneat", **genes}, "network": {"layers": [layer]}}


def others(draw):
    """→ ranks, backend and settings that change no byte."""
    backend = chosen.backend if draw.random() < 0.5 else "cpu"
    ranks = draw.choice([1, 2, 3]) if backend == "vulkan" else draw.choice([ranks for ranks in (1, 2, 3, 4, 6, 8) if ranks <= chosen.max_ranks])
    settings = {"distributed.exchange": draw.choice(["births", "births", "genomes"]),
                "distributed.shard_size": draw.choice(['"auto"', "1", "5", "64"]),
                "engine.threads": draw.choice(["1", "2"])}
    return ranks, backend, settings


for number in range(chosen.first, chosen.first + chosen.count):
    draw = random.Random(f"configuration {number}")
    config = chosen.work / f"{number}.json"
    content = in_blocks(random.Random(f"blocks {number}"), experiment(draw))
    content = selected(random.Random(f"strategy {number}"), content)
    content = of_another_task(random.Random(f"task {number}"), content)
    content = with_other_genes(random.Random(f"genes {number}"), content)
    content["log"] = {"individuals": "all" if number % 2 else "survivors"}
    config.write_text(json.dumps(content))
    alone = chosen.work / f"{number}-alone"
    harness.run(chosen, 1, ["evolve", config, "--quiet", "--set", f"run.directory={alone}", "--set", "engine.backend=cpu"])
    ranks, backend, settings = others(draw)
    directory = chosen.work / f"{number}-others"
    said = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    said += ["--set", f"engine.backend={backend}"] + (["--set", "engine.device=software"] if backend == "vulkan" else [])
    text = harness.run(chosen, ranks, ["evolve", config, "--quiet", "--set", f"run.directory={directory}", *said])
    if "silent" in text:
        harness.fail(f"configuration {number}: an order was lost\n{text}")
    harness.same(harness.results(alone), directory, f"configuration {number}: {ranks} ranks, {backend}, {settings}\n{json.dumps(content)}")
print(f"{chosen.count} random configurations gave the same bytes")
