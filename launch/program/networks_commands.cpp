#include <fmt/format.h>

#include "cambrian/engine/models/model_files.hpp"
#include "cambrian/launch/program/command_line.hpp"
#include "cambrian/launch/program/number_options.hpp"

// Options of the commands of the room launch/commands/networks, but for those of texts.
namespace cambrian::launch {

void CommandLine::add_ensemble(CLI::App& sub, std::string& ensemble, std::vector<double>& weights) {
    const auto& names = evolve::ensemble_names;
    sub.add_option("--ensemble", ensemble,
                   "All networks answer together. majority: a vote each, the larger sum of "
                   "probabilities decides between equals; weighted: votes by weights, or the "
                   "weighted mean of numbers; mean: of probabilities or numbers")
        ->check(CLI::IsMember(std::vector<std::string>(names.begin(), names.end())));
    sub.add_option("--weights", weights, "Of --ensemble weighted, one for each network")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("W,W,..");
}

void CommandLine::add_evaluate() {
    CLI::App& sub = add(
        "evaluate", "Evaluate a network on the task it was evolved for, or several side by side",
        "  cambrian evaluate runs/cart_pole-1/best.cmb --episodes 100\n"
        "  cambrian evaluate runs/coal-7/best.cmb --phase test --metrics\n"
        "  cambrian evaluate a.cmb b.cmb c.cmb --ensemble weighted --pairs 3\n"
        "  cambrian evaluate runs/digits-1 --elite 10 --pairs 5 --json",
        [this] { return evaluate_command(context_, evaluate_); });
    sub.add_option("NETWORKS", evaluate_.networks,
                   "Networks (.cmb); checkpoints or directories of runs stand for the networks "
                   "that they keep: parents, and who is carried over")
        ->required();
    sub.add_option("--elite", evaluate_.elite,
                   "How many of each checkpoint, the fittest first; without it all")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1000000}));
    sub.add_flag("--metrics", evaluate_.metrics,
                 "Of rows with right answers: mse, mae, r2, buckets of deviations; of classes "
                 "accuracy, precision, recall, f1, log loss, Brier, confusion, calibration");
    sub.add_flag("--json", evaluate_.json, "Print JSON, with every metric");
    add_ensemble(sub, evaluate_.ensemble, evaluate_.weights);
    CLI::Option* pairs =
        sub.add_option("--pairs", evaluate_.pairs,
                       "Print so many pairs of networks that are right on different rows")
            ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1000000}));
    sub.add_option("--coverage", evaluate_.coverage,
                   "Of --pairs: the least share of rows that one of the two answers right")
        ->check(CLI::Range(0.0, 1.0))
        ->needs(pairs);
    sub.add_option("--episodes", evaluate_.episodes, "Episodes, where the task has episodes")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000}));
    sub.add_option("--config", evaluate_.config, "Evaluate on the task of this config");
    sub.add_option("--phase", evaluate_.phase,
                   "Data to use, or champion: the test that tells whether the task is solved; "
                   "without it the last data that the task has")
        ->check(CLI::IsMember({"train", "validation", "test", "champion"}));
    add_gpu_flags(sub, evaluate_.dump, evaluate_.profile);
    add_overrides(sub, evaluate_.overrides);
}

void CommandLine::add_infer() {
    CLI::App& sub =
        add("infer",
            "Run a network on the rows of a CSV file; nothing else is needed: columns are "
            "found by name, scaled and answered in the units of the data it learnt",
            "  cambrian infer runs/xor-1/best.cmb --input rows.csv -o answers.csv\n"
            "  cambrian infer best.cmb --input rows.csv --join\n"
            "  cambrian infer a.cmb b.cmb c.cmb --ensemble mean --input rows.csv\n"
            "  head -n 20 rows.csv | cambrian infer best.cmb --input -",
            [this] { return infer_command(context_, infer_); });
    sub.add_option("NETWORKS", infer_.networks,
                   "The network, a .cmb file, or a .safetensors that cambrian convert wrote; or "
                   "several that answer together")
        ->required();
    add_ensemble(sub, infer_.ensemble, infer_.weights);
    sub.add_option(
           "--input", infer_.input,
           "CSV file with a header line (commas, semicolons or tabs), or - for standard input")
        ->required();
    sub.add_option("-o,--output", infer_.output,
                   "File for the answers; - or none: standard output");
    sub.add_flag("--join", infer_.join, "Write every column of the input before the answers");
    sub.add_flag(
        "--raw", infer_.raw,
        "Pass all columns by position, as they are, and outputs as the network gives them");
    sub.add_flag("--observe", infer_.observe,
                 "Say on standard error what every layer gives: mean, largest, least, active");
    add_overrides(sub, infer_.overrides);
}

void CommandLine::add_inspect() {
    CLI::App& sub = add("inspect", "Show the structure, genes and origin of a network",
                        "  cambrian inspect runs/xor-1/best.cmb\n"
                        "  cambrian inspect runs/xor-1/best.cmb --dot | dot -Tsvg > best.svg",
                        [this] { return inspect_command(context_, inspect_); });
    sub.add_option("NETWORK", inspect_.network, "The network, a .cmb file")->required();
    CLI::Option* json = sub.add_flag("--json", inspect_.json, "Print JSON");
    sub.add_flag("--dot", inspect_.dot, "Print a graphviz graph")->excludes(json);
}

void CommandLine::add_compare() {
    CLI::App& sub = add("compare", "Compare the DNA of networks",
                        "  cambrian compare runs/xor-1/best.cmb runs/xor-2/best.cmb\n"
                        "  cambrian compare a.cmb b.cmb --measure permutation\n"
                        "  cambrian compare a.cmb b.cmb c.cmb --measure activation --csv -\n"
                        "  cambrian compare runs/xor-1 --csv alike.csv\n"
                        "  cambrian compare runs/xor-1 --cluster 3 --csv clusters.csv\n"
                        "  cambrian compare runs/xor-1 --group 0.3 --linkage complete\n"
                        "  cambrian compare runs/xor-1 --measure history --tree newick",
                        [this] { return compare_command(context_, compare_); });
    sub.add_option("SOURCES", compare_.sources,
                   "Networks (.cmb), checkpoints, or directories of runs")
        ->required();
    sub.add_option(
           "--measure", compare_.measure,
           "strict: weight by weight; permutation: after the units of the later network "
           "are brought into the best order; activation: by what layers give (CKA); history: "
           "the compatibility distance of genes by their history. Distances are weighed as the "
           "run's species.distance says, or as its defaults do between files")
        ->capture_default_str()
        ->check(CLI::IsMember({"strict", "permutation", "activation", "history"}));
    sub.add_option("--csv", compare_.csv,
                   "File for the similarities of all pairs, or - for standard output");
    sub.add_option("--probes", compare_.probes,
                   "activation: sequences of random numbers that networks are asked about")
        ->default_str(std::to_string(default_probes))
        ->check(CLI::Range(2, 4096));
    sub.add_option("--seed", compare_.seed,
                   "activation: key of these numbers; --cluster: of the first centres")
        ->capture_default_str();
    add_grouping(sub);
}

void CommandLine::add_grouping(CLI::App& sub) {
    CLI::Option* clusters =
        sub.add_option("--cluster", compare_.clusters,
                       "So many clusters by k-means, a network being the point of its "
                       "distances (1 - similarity) to all; --csv has a row for each network")
            ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1000000}));
    CLI::Option* within =
        sub.add_option("--group", compare_.group,
                       "Groups that are merged while they are at most so far from each other")
            ->type_name("DISTANCE")
            ->check(nonnegative_number())
            ->excludes(clusters);
    sub.add_option("--groups", compare_.groups, "So many groups, the nearest merged first")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1000000}))
        ->excludes(clusters)
        ->excludes(within);
    sub.add_option("--linkage", compare_.linkage,
                   "How far groups are from each other: by their nearest members (single), all "
                   "(average) or farthest (complete)")
        ->default_str(std::string(default_linkage))
        ->check(CLI::IsMember({"single", "average", "complete"}));
    sub.add_option("--tree", compare_.tree, "Print the tree of all merges")
        ->check(CLI::IsMember({"text", "newick"}));
}

void CommandLine::add_graft(CLI::App& sub) {
    sub.add_option("--at", splice_.at,
                   "Grafts: the slot of A that gets a layer of B; without it both networks as "
                   "a whole, side by side")
        ->type_name("SLOT")
        ->check(whole_number_fault);
    sub.add_option("--from", splice_.from, "Grafts: the slot of B; else that of --at")
        ->type_name("SLOT")
        ->check(whole_number_fault);
    sub.add_option("--combine", splice_.combine,
                   "graft: concat begins as A alone, average and filter as the mean; else "
                   "average")
        ->check(CLI::IsMember({"concat", "add", "average", "filter"}));
    sub.add_option("--gain", splice_.gain,
                   "residual_graft: how much of B is added; 0, the default: the child begins "
                   "as A");
}

void CommandLine::add_splice() {
    CLI::App& sub = add("splice", "Make a child of two networks",
                        "  cambrian splice a.cmb b.cmb -o child.cmb --mode blend --report\n"
                        "  cambrian splice a.cmb b.cmb -o both.cmb --mode graft --combine "
                        "average\n"
                        "  cambrian splice a.cmb b.cmb -o more.cmb --mode residual_graft --at "
                        "1 --gain 0.1",
                        [this] { return splice_command(context_, splice_); });
    sub.add_option("A", splice_.first, "A network, a .cmb file")->required();
    sub.add_option("B", splice_.second, "Another one; the fitter one gives the structure")
        ->required();
    sub.add_option("-o,--output", splice_.output, "File for the child, or - for standard output")
        ->required();
    sub.add_option("--mode", splice_.mode,
                   "How weights are mixed; neat: crossover of single neurons by their history; "
                   "graft: A with all of B, or with a layer of it, beside its own; "
                   "residual_graft: added to what is there")
        ->capture_default_str()
        ->check(CLI::IsMember(
            {"blend", "point", "uniform", "gene", "neuron", "neat", "graft", "residual_graft"}));
    add_graft(sub);
    sub.add_option("--align", splice_.align,
                   "permutation: bring the units of the other parent into the fitter's order")
        ->capture_default_str()
        ->check(CLI::IsMember({"none", "permutation"}));
    sub.add_option("--alpha", splice_.alpha, "blend: share of the other parent")
        ->default_str(fmt::format("{:g}", evolve::SpliceSettings{}.alpha))
        ->check(CLI::Range(0.0F, 1.0F));
    sub.add_option("--split", splice_.split, "point: share of the fitter parent")
        ->default_str(fmt::format("{:g}", evolve::SpliceSettings{}.split))
        ->check(CLI::Range(0.0F, 1.0F));
    sub.add_option("--seed", splice_.seed, "Key of the random numbers")->capture_default_str();
    sub.add_option("--fitness", splice_.fitness,
                   "Fitness of A and of B; else that of the files, unknown as equal")
        ->expected(2)
        ->type_name("A B");
    sub.add_flag("--report", splice_.report, "Print what became of each gene");
}

void CommandLine::add_quantise() {
    CLI::App& sub =
        add("quantise", "Say what a number format makes of a network, and write the network in it",
            "  cambrian quantise runs/digits-1/best.cmb --dtype int8\n"
            "  cambrian quantise best.cmb --dtype int4 --calibrate -o best_int4.cmb\n"
            "  cambrian quantise best.cmb --dtype int8 --scales block",
            [this] { return quantise_command(context_, quantise_); });
    sub.add_option("NETWORK", quantise_.network, "The network, a .cmb file")->required();
    sub.add_option("--dtype", quantise_.dtype,
                   "Number format of matrices, kernels and connections, such as int8; float32: "
                   "none")
        ->required();
    sub.add_option("--scales", quantise_.scales,
                   "What shares a scale: format (as the number format has it), tensor, channel (a "
                   "row of a matrix), block (32 of a row), mx (a block, its scale a power of two)")
        ->capture_default_str();
    sub.add_option("--activation-dtype", quantise_.activation_dtype,
                   "Number format of the rows that enter layers")
        ->capture_default_str();
    sub.add_flag("--calibrate", quantise_.calibrate,
                 "Choose for each tensor the share of its range that codes span, by the "
                 "fitness on the training data of the task");
    sub.add_option("--config", quantise_.config, "Judge it on the task of this config");
    sub.add_option("-o,--output", quantise_.output,
                   "File for the network in its format, or - for standard output");
    add_overrides(sub, quantise_.overrides);
}

void CommandLine::add_convert() {
    CLI::App& sub =
        add("convert", "Write a network in another format, by the endings of the files",
            "  cambrian convert runs/xor-1/best.cmb best.safetensors --dtype F16\n"
            "  cambrian convert best.safetensors again.cmb\n"
            "  cambrian convert best.cmb small.safetensors --inference --dtype int8\n"
            "  cambrian convert torch.safetensors mine.cmb --network configs/xor.json "
            "--rename fc1=slot.0 --rename fc2=head\n"
            "  cambrian convert runs/xor-1/best.cmb network.json\n"
            "  cambrian convert network.json fresh.cmb --seed 3\n"
            "  cambrian convert runs/xor-1/best.cmb best.onnx\n"
            "  cambrian convert Llama-folder llama.cmb\n"
            "  cambrian convert llama.cmb other-folder --family llama --shard-size 2GB\n"
            "  cambrian convert mlp.safetensors mlp.cmb --family torch --activation relu",
            [this] { return convert_command(context_, convert_); });
    sub.add_option("INPUT", convert_.input,
                   "A .cmb, .safetensors or .json file, or the folder or index of a model")
        ->required();
    sub.add_option("OUTPUT", convert_.output, "Another one, or a .onnx; a folder with --family")
        ->required();
    sub.add_option("--dtype", convert_.dtype,
                   "Type of the weights of tensors written, such as F16; else F32");
    sub.add_flag("--inference", convert_.inference,
                 "Write codes and scales of number formats in place of weights: those of its "
                 "layers, or --dtype such as int8 for all");
    add_convert_model(sub);
    sub.add_flag("--force", convert_.force,
                 "Convert even where more than one weight in a hundred would become zero or be "
                 "limited");
    sub.add_flag("--raw", convert_.raw,
                 "Of a .onnx: rows as the network sees them in, outputs as it gives them out");
    sub.add_option("--network", convert_.network,
                   "Config whose network the weights of a .safetensors belong to");
    sub.add_option("--rename", convert_.renames,
                   "Name tensors anew: a whole name, or what is before a dot (repeatable)")
        ->allow_extra_args(false)
        ->type_name("FROM=TO");
    sub.add_option("--seed", convert_.seed, "Key of the weights of a .json; else 1")
        ->check(nonnegative_number());
}

void CommandLine::add_convert_model(CLI::App& sub) {
    std::vector<std::string> families;
    for (const std::string_view name : models::family_choices()) families.emplace_back(name);
    sub.add_option("--family", convert_.family,
                   "Names of a model: of a folder written, or else of what is read (auto: as "
                   "its config.json says, without one from names and shapes)")
        ->check(CLI::IsMember(families));
    sub.add_option("--shard-size", convert_.shard_bytes,
                   "Most bytes of a file in a folder written, such as 2GB; else 5GB")
        ->transform(CLI::AsSizeValue(true))
        ->check(positive_number());
    sub.add_option("--with", convert_.model.fields,
                   "What names and shapes do not tell: a field of all layers that have it, or "
                   "of one module (repeatable)")
        ->allow_extra_args(false)
        ->type_name("[MODULE.]FIELD=VALUE");
    sub.add_option("--heads", convert_.heads, "As --with heads=..");
    sub.add_option("--activation", convert_.activation,
                   "As --with activation=..: of dense layers and convolutions but the last one");
    sub.add_option("--after", convert_.model.insertions,
                   "A layer without weights after a module: a type, or JSON (repeatable)")
        ->allow_extra_args(false)
        ->type_name("MODULE=LAYER");
    sub.add_option("--order", convert_.model.order, "Modules that come first, in their order")
        ->delimiter(',');
    sub.add_option("--blocks", convert_.model.blocks,
                   "pre_norm: in numbered blocks a norm and what follows it is added to what "
                   "enters; plain: one after another")
        ->check(CLI::IsMember({"pre_norm", "plain"}));
    sub.add_option("--input", convert_.model.input, "Extents of what enters, such as 3,32,32")
        ->delimiter(',')
        ->check(positive_number());
}

void CommandLine::add_check() {
    CLI::App& sub =
        add("check",
            "Check a network: gradients against central differences in f64, steps against "
            "sequences, a backend against the reference. Exit code 1 where a bound is passed",
            "  cambrian check runs/xor-1/best.cmb\n"
            "  cambrian check configs/coal.json --all\n"
            "  cambrian check best.cmb --set engine.backend=vulkan --set engine.device=software",
            [this] { return check_command(context_, check_); });
    CheckSettings& check = check_.check;
    sub.add_option("NETWORK", check_.network,
                   "A .cmb file, or a config, whose network gets fresh weights")
        ->required();
    CLI::Option* samples =
        sub.add_option("--samples", check.samples, "Elements of each tensor that are checked")
            ->capture_default_str()
            ->check(CLI::Range(1, 1 << 24));
    sub.add_flag("--all", check_.all, "Check every element")->excludes(samples);
    sub.add_option("--bound", check.bound, "Largest relative error of a gradient in f64")
        ->capture_default_str()
        ->check(positive_number());
    sub.add_option("--backend-bound", check.backend_bound,
                   "Largest relative error of the backend in f32")
        ->capture_default_str()
        ->check(positive_number());
    sub.add_option("--step", check.step, "Of differences, times max(1, |value|)")
        ->capture_default_str()
        ->check(CLI::Range(1e-12, 1.0));
    sub.add_option("--batch", check.batch, "Rows, or sequences")
        ->capture_default_str()
        ->check(CLI::Range(1, 4096));
    sub.add_option("--time", check.time, "Steps of a sequence, for networks with a state")
        ->capture_default_str()
        ->check(CLI::Range(1, 4096));
    sub.add_option("--seed", check.seed, "Key of the random numbers")->capture_default_str();
    sub.add_flag("--json", check_.json, "Print JSON");
    sub.add_option("--set", check_.overrides,
                   "Set a key of the section engine, such as engine.backend=vulkan (repeatable)")
        ->allow_extra_args(false)
        ->type_name("KEY=VALUE");
}

}  // namespace cambrian::launch
