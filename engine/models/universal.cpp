#include "cambrian/engine/models/universal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/layers/layer_json.hpp"
#include "cambrian/engine/models/field_options.hpp"

namespace cambrian::models {
namespace {

constexpr std::string_view pre_norm = "pre_norm";
/// What find_modules measures beside the fields of a layer.
constexpr std::array<const char*, 4> measured{"group_channels", "group_out_channels", "queries",
                                              "keys"};

bool is_norm(const FoundModule& module) {
    return module.names->type.ends_with("_norm");
}
bool has_activation(const FoundModule& module) {
    return module.names->type == Dense::name || module.names->type.starts_with("conv");
}

/// "model.layers.3." of "model.layers.3.mlp"; empty outside of numbered blocks.
std::string block_of(const std::string& path) {
    std::size_t end = 0;
    for (std::size_t begin = 0; (end = path.find('.', begin)) != std::string::npos;
         begin = end + 1) {
        const std::string_view part = std::string_view(path).substr(begin, end - begin);
        if (!part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos)
            return path.substr(0, end + 1);
    }
    return "";
}

/// Modules that become one layer of the chain: one, or those of a residual.
struct Run {
    bool residual = false;
    std::vector<const FoundModule*> modules;
};

/// Whether a norm stands before something else in its block.
bool has_blocks(const std::vector<FoundModule>& modules) {
    for (std::size_t i = 0; i + 1 < modules.size(); ++i) {
        const std::string block = block_of(modules[i].path);
        if (!block.empty() && is_norm(modules[i]) && block_of(modules[i + 1].path) == block)
            return true;
    }
    return false;
}

std::vector<Run> runs_of(const std::vector<FoundModule>& modules, bool residuals) {
    std::vector<Run> runs;
    for (const FoundModule& module : modules) {
        const std::string block = block_of(module.path);
        const bool begins = residuals && !block.empty() && is_norm(module);
        const bool joins = residuals && !begins && !runs.empty() && runs.back().residual &&
                           block_of(runs.back().modules.front()->path) == block;
        if (joins)
            runs.back().modules.push_back(&module);
        else
            runs.push_back({begins, {&module}});
    }
    return runs;
}

/// The shape of a row that enters the first module.
Shape first_row(const UniversalOptions& options, const FoundModule& first,
                std::string_view source) {
    if (!options.input.empty()) return Shape(std::span<const std::int64_t>(options.input));
    if (first.names->type == Embedding::name) return {1};
    for (const char* field : {"in", "features"})
        if (const auto found = first.fields.find(field);
            found != first.fields.end() && first.names->type != BatchNorm::name)
            return {std::stoll(found->second)};
    throw InputError(fmt::format(
        "{} does not tell what enters \"{}\" (a {} sees an image) give --input, such as --input "
        "3,32,32",
        source, shortened(first.path), first.names->type));
}

class Assembler {
  public:
    Assembler(const TensorFiles& files, const UniversalOptions& options,
              const std::vector<FoundModule>& modules, FieldOptions& fields)
        : files_(files),
          options_(options),
          modules_(modules),
          fields_(fields),
          types_(fields.types()) {}

    UniversalPlan run() {
        if (options_.blocks.empty() && has_blocks(modules_))
            fields_.miss("--blocks pre_norm or plain", "whether blocks add to what enters them");
        const std::vector<Run> runs = runs_of(modules_, options_.blocks == pre_norm);
        row_ = first_row(options_, modules_.front(), files_.source());
        const Shape input = row_;
        for (const Run& run : runs) add_run(run, &run == &runs.back());
        fields_.require_all_told(files_.source());
        return finish(input);
    }

  private:
    void add_run(const Run& run, bool last) {
        if (!run.residual) {
            add_module(*run.modules.front(), chain_, last, "");
            return;
        }
        std::vector<AnyLayer> inner;
        const std::size_t first = layers_.size();
        const std::size_t slot = chain_.size();
        for (const FoundModule* module : run.modules)
            add_module(*module, inner, module == run.modules.back(), fmt::format("slot.{}.", slot));
        chain_.emplace_back(Residual{.layers = std::move(inner)});
        if (last)  // The head.
            for (std::size_t i = first; i < layers_.size(); ++i)
                layers_[i].weights.replace(0, fmt::format("slot.{}.", slot).size(), "head.");
    }

    /// Appends the layer of a module, and what is inserted after it.
    void add_module(const FoundModule& module, std::vector<AnyLayer>& to, bool last,
                    const std::string& outer) {
        require_ids(module);
        LayerFields fields = module.fields;
        for (const char* name : measured) fields.erase(name);
        fields_.fill(module, fields, has_activation(module) && !last);
        measure_input(module, fields);
        require_features(module);
        AnyLayer layer = layer_of(module, fields);
        const std::string name =
            outer.empty() ? (last ? std::string("head.") : fmt::format("slot.{}.", to.size()))
                          : fmt::format("{}layers.{}.", outer, to.size());
        pass(layer, module.path);
        layers_.push_back({module, name, to_json(layer).dump()});
        const std::size_t place = to.size();
        to.push_back(std::move(layer));
        for (AnyLayer& extra : fields_.inserted_after(module.path)) {
            if (outer.empty() && last)  // No head any more.
                layers_.back().weights = fmt::format("slot.{}.", place);
            pass(extra, "what is after " + module.path);
            to.push_back(std::move(extra));
        }
    }

    /// Throws for an embedding by its name alone that would read vectors as ids.
    void require_ids(const FoundModule& module) const {
        if (module.names->type != Embedding::name || layers_.empty() ||
            types_.contains(module.path))
            return;
        const FoundModule& before = layers_.back().module;
        const bool tables = before.names->type == Embedding::name;
        throw InputError(fmt::format(
            "{}: \"{}\" is an embedding by its name and comes after \"{}\" (what enters it is "
            "no id{}) {}name its type with --with {}.type=.., or leave it out of the file",
            files_.source(), shortened(module.path), shortened(before.path),
            module.by_letters ? "; only letters tell this order" : "",
            module.by_letters || tables
                ? fmt::format("let the chain begin with it by --order {}, ", module.path)
                : "",
            module.path));
    }

    /// Whether the first axis of what enters a module is that of channels, not of steps.
    [[nodiscard]] bool has_channels() const {
        const auto convolves = [](const ModuleLayer& layer) {
            return layer.module.names->type.starts_with("conv");
        };
        return row_.rank() > 2 || (row_.rank() == 2 && std::ranges::any_of(layers_, convolves));
    }

    /// Throws for a norm by its tensors alone that has as many features as channels enter it: it
    /// may be one of channels.
    void require_features(const FoundModule& module) const {
        if (fields_.misses_any() || !is_norm(module) || module.names->type == BatchNorm::name ||
            types_.contains(module.path) || !has_channels() ||
            std::to_string(row_[0]) != module.fields.at("features"))
            return;
        throw InputError(fmt::format(
            "{}: \"{}\" is a {} of {} features by its tensors, and {} enters it ({}) give what "
            "is between with --after, or its type with --with {}.type={}",
            files_.source(), shortened(module.path), module.names->type,
            module.fields.at("features"), row_.text(), module.names->alike, module.path,
            module.names->type));
    }

    /// Fields that follow from the input, or from other fields.
    void measure_input(const FoundModule& module, LayerFields& fields) {
        if (const auto found = module.fields.find("group_channels"); found != module.fields.end()) {
            const std::int64_t width = std::stoll(found->second);
            if (row_.rank() > 1 && row_[0] % width == 0)
                fields["groups"] = std::to_string(row_[0] / width);
        }
        measure_outputs(module, fields);
        if (!module.fields.contains("queries")) return;
        const auto causal = fields.find("causal");
        if (causal != fields.end() && causal->second == "true" && !fields.contains("window"))
            fields_.miss("--with window=1024", "how many positions attention looks back on");
        const std::int64_t queries = std::stoll(module.fields.at("queries"));
        const std::int64_t keys = std::stoll(module.fields.at("keys"));
        const auto given = fields.find("heads");
        if (given == fields.end()) return;  // Missed.
        const nlohmann::json heads = nlohmann::json::parse(given->second);
        const bool fits = heads.is_number_unsigned() && heads.get<std::int64_t>() > 0 &&
                          queries % heads.get<std::int64_t>() == 0 &&
                          keys % (queries / heads.get<std::int64_t>()) == 0;
        if (!fits)
            throw ConfigError(fmt::format(
                "--with heads={} does not fit {} (queries have {} elements, keys {}) give another "
                "number",
                given->second, module.path, queries, keys));
        const std::int64_t width = queries / heads.get<std::int64_t>();
        fields["head_dim"] = std::to_string(width);
        fields["kv_heads"] = std::to_string(keys / width);
    }

    /// The channels of all groups of a transposed convolution, one group where none are told. What
    /// is no number of groups is refused with its layer.
    static void measure_outputs(const FoundModule& module, LayerFields& fields) {
        const auto width = module.fields.find("group_out_channels");
        if (width == module.fields.end() || fields.contains("out_channels")) return;
        const auto given = fields.find("groups");
        const auto groups =
            given == fields.end() ? nlohmann::json(1U) : nlohmann::json::parse(given->second);
        const auto most = static_cast<std::uint64_t>(std::stoll(module.fields.at("in_channels")));
        if (groups.is_number_unsigned() && groups.get<std::uint64_t>() <= most)
            fields["out_channels"] =
                std::to_string(std::stoull(width->second) * groups.get<std::uint64_t>());
    }

    static AnyLayer layer_of(const FoundModule& module, const LayerFields& fields) {
        nlohmann::json json{{"type", module.names->type}};
        for (const auto& [field, text] : fields) json[field] = nlohmann::json::parse(text);
        return layer_from_json(json, module.path);
    }

    void pass(AnyLayer& layer, const std::string& path) {
        if (fields_.misses_any()) return;  // Shapes are not known then.
        try {
            layer.resolve(row_);
            row_ = layer.output_shape(row_);
        } catch (const ShapeError& error) {
            throw ShapeError(fmt::format(
                "{}: {} does not fit where it stands: {} (the order is {}) give another with "
                "--order, or what is between with --after",
                files_.source(), path, error.what(), order_text()));
        }
    }

    [[nodiscard]] std::string order_text() const {
        std::vector<std::string> paths;
        for (const FoundModule& module : modules_) paths.push_back(module.path);
        return shortened(joined(paths), 500);
    }

    UniversalPlan finish(const Shape& input) {
        UniversalPlan result;
        Blueprint& blueprint = result.plan.blueprint;
        blueprint.input_features = input.elements();
        if (input.rank() > 1) blueprint.input_shape = input;
        blueprint.output_features = row_.elements();
        blueprint.grid = one_cell(chain_.size() - 1);
        check(blueprint.grid);
        blueprint.head = std::move(chain_.back());
        chain_.pop_back();
        blueprint.slots.resize(static_cast<std::size_t>(blueprint.grid.slots()));
        for (std::size_t i = 0; i < chain_.size(); ++i)
            blueprint.slots[i] = Slot{.layer = std::move(chain_[i])};
        blueprint = Network(std::move(blueprint)).blueprint();
        for (const ModuleLayer& layer : layers_) {
            for (TensorRule rule : layer.module.rules) {
                for (std::string& name : rule.ours) name = layer.weights + name;
                result.plan.rules.push_back(std::move(rule));
            }
            result.plan.buffers.insert(result.plan.buffers.end(), layer.module.buffers.begin(),
                                       layer.module.buffers.end());
        }
        result.layers = std::move(layers_);
        return result;
    }

    const TensorFiles& files_;
    const UniversalOptions& options_;
    const std::vector<FoundModule>& modules_;
    FieldOptions& fields_;
    std::map<std::string, std::string, std::less<>> types_;  ///< Told by the user.
    Shape row_;
    std::vector<AnyLayer> chain_;
    std::vector<ModuleLayer> layers_;
};

/// Tables of learned positions become those of the embeddings before them, with a line on each.
std::vector<FoundModule> with_positions(std::vector<FoundModule> modules,
                                        const FieldOptions& fields,
                                        std::vector<std::string>& notes) {
    const auto types = fields.types();
    const auto is_table = [&](const FoundModule& module) {
        return module.names->type == Embedding::name;
    };
    std::vector<FoundModule> result;
    for (FoundModule& module : modules) {
        const bool joins = is_table(module) && names_positions(module.path) &&
                           !types.contains(module.path) && !result.empty() &&
                           is_table(result.back()) && !result.back().fields.contains("positions") &&
                           result.back().fields.at("features") == module.fields.at("features");
        if (!joins) {
            result.push_back(std::move(module));
            continue;
        }
        FoundModule& embedding = result.back();
        embedding.fields["positions"] = module.fields.at("vocabulary");
        embedding.rules.push_back({module.rules.front().theirs, {"position_table"}});
        embedding.tensors.push_back(std::move(module.tensors.front()));
        notes.push_back(
            fmt::format("{} is taken for the positions of {}, its first row for the "
                        "first of them",
                        module.path, embedding.path));
    }
    return result;
}

/// What modules may be that have the tensors of those that they were taken for, a line for a type,
/// and which follow one another for no better reason than their letters.
std::vector<std::string> notes_of(const std::vector<FoundModule>& modules,
                                  const FieldOptions& fields) {
    std::vector<std::string> notes;
    std::set<std::string_view> told;
    const auto types = fields.types();  // Of these modules the user knows it.
    for (const FoundModule& module : modules) {
        const LayerNames& names = *module.names;
        if (!names.alike.empty() && !types.contains(module.path) && told.insert(names.type).second)
            notes.push_back(fmt::format("{} is taken for {}: {}",
                                        module.path.empty() ? "." : module.path, names.type,
                                        names.alike));
    }
    std::vector<std::string> pairs;
    for (std::size_t i = 1; i < modules.size(); ++i)
        if (modules[i].by_letters)
            pairs.push_back(fmt::format("{} after {}", modules[i].path, modules[i - 1].path));
    if (!pairs.empty())
        notes.push_back(fmt::format(
            "only letters tell this order: {} (--order gives another; branches beside one another "
            "are no chain)",
            shortened(joined(pairs), 300)));
    return notes;
}

/// Whether a layer has an activation, or one in it.
bool has(const Blueprint& blueprint, Activation activation) {
    const auto in = [activation](const AnyLayer& layer) {
        return std::ranges::count(layer.activations(), activation) > 0;
    };
    return in(blueprint.head) || std::ranges::any_of(blueprint.slots, [&](const auto& slot) {
               return slot && in(slot->layer);
           });
}

}  // namespace

UniversalPlan universal_plan(const TensorFiles& files, const UniversalOptions& options) {
    if (!options.blocks.empty() && options.blocks != pre_norm && options.blocks != "plain")
        throw ConfigError(fmt::format(
            "--blocks is {} (allowed: pre_norm, plain) choose one of them", options.blocks));
    FieldOptions fields(options);
    std::map<std::string, Shape> tensors;
    for (const auto& [name, entry] : files.entries()) {
        const Shape& shape = entry.place.shape;
        if (std::ranges::find(shape.extents(), 0) != shape.extents().end())
            throw InputError(fmt::format(
                "{}: tensor \"{}\" is {} (no layer has an extent of 0) leave it out of the file",
                files.source(), shortened(name), shape.text()));
        tensors.emplace(name, shape);
    }
    if (tensors.empty())
        throw InputError(
            fmt::format("{} is no model (it has no tensors) name another file", files.source()));
    std::vector<std::string> notes;
    const std::vector<FoundModule> modules = with_positions(
        find_modules(tensors, {fields.types(), options.order}, files.source()), fields, notes);
    UniversalPlan result = Assembler(files, options, modules, fields).run();
    fields.require_all_used(modules);
    std::ranges::move(notes_of(modules, fields), std::back_inserter(notes));
    if (has(result.plan.blueprint, Activation::gelu))
        notes.emplace_back(
            "gelu is nn.GELU(approximate=\"tanh\"): nn.GELU() is activation=exact_gelu");
    result.plan.notes = std::move(notes);
    return result;
}

}  // namespace cambrian::models
