#include "cambrian/engine/models/module_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/io/listed_shapes.hpp"
#include "cambrian/engine/layers/layer_json.hpp"

namespace cambrian::models {
namespace {

constexpr std::size_t deepest_path = 64;

/// What a part of a name tells of the order in its module.
struct Role {
    int rank = 0;
    std::vector<std::string_view> names;
};
constexpr int rank_of_positions = 1;
constexpr int rank_without_role = 6;
const std::array roles{
    Role{0,
         {"embed_tokens", "wte", "embeddings", "embedding", "embed", "tok_embeddings",
          "token_embedding", "word_embeddings", "tok_emb", "tok_embed", "tok_embedding",
          "token_emb", "token_embedding_table"}},
    Role{rank_of_positions,
         {"wpe", "position_embeddings", "position_embedding", "pos_emb", "pos_embed",
          "pos_embedding", "position_embedding_table"}},
    Role{2, {"input_layernorm", "ln_1", "ln1", "attention_norm", "norm1", "layernorm_before"}},
    Role{3, {"self_attn", "attn", "attention", "self_attention"}},
    Role{4, {"post_attention_layernorm", "ln_2", "ln2", "ffn_norm", "norm2", "layernorm_after"}},
    Role{5, {"mlp", "feed_forward", "ffn"}},
    Role{8, {"norm", "ln_f", "final_norm", "final_layernorm", "norm_f"}},
    Role{9, {"lm_head", "head", "output", "classifier"}}};

int rank_of(std::string_view part) {
    for (const Role& role : roles)
        if (std::ranges::find(role.names, part) != role.names.end()) return role.rank;
    return rank_without_role;
}

std::string_view last_part(std::string_view path) {
    return path.substr(path.rfind('.') + 1);
}

bool names_embedding(std::string_view path) {
    const std::string_view last = last_part(path);
    return rank_of(last) <= rank_of_positions || last.find("emb") != std::string_view::npos;
}

bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// Letters as they come, numbers by their value.
bool naturally_less(std::string_view a, std::string_view b) {
    while (!a.empty() && !b.empty()) {
        if (is_digit(a.front()) && is_digit(b.front())) {
            const auto take = [](std::string_view& text) {
                const auto end = std::ranges::find_if_not(text, is_digit);
                std::string_view digits(text.begin(), end);
                text.remove_prefix(digits.size());
                while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
                return digits;
            };
            const std::string_view x = take(a);
            const std::string_view y = take(b);
            if (x != y) return x.size() != y.size() ? x.size() < y.size() : x < y;
        } else {
            if (a.front() != b.front()) return a.front() < b.front();
            a.remove_prefix(1);
            b.remove_prefix(1);
        }
    }
    return a.size() < b.size();
}

std::string without_digits(std::string text) {
    std::erase_if(text, is_digit);
    return text;
}

/// Tensors by what follows the path of their module.
using Tensors = std::map<std::string, Shape, std::less<>>;

std::string joined_path(const std::string& path, std::string_view part) {
    return path.empty() ? std::string(part) : path + "." + std::string(part);
}

bool has_field(std::string_view type, std::string_view field) {
    return to_json(*default_layer(type)).contains(std::string(field));
}

/// The tensors of a module as those of a layer, or nothing where they are not.
class Matcher {
  public:
    Matcher(const LayerNames& names, const std::string& path, const Tensors& tensors)
        : names_(names), path_(path), tensors_(tensors) {}

    std::optional<FoundModule> run() {
        FoundModule module{path_, &names_, {}, {}, {}, {}};
        std::vector<const TensorName*> missing;
        bool biased = false;
        for (const TensorName& tensor : names_.tensors) {
            const auto found = find(tensor);
            if (found == tensors_.end()) {
                if (tensor.use == TensorUse::needed) return std::nullopt;
                missing.push_back(&tensor);
                continue;
            }
            if (found->second.rank() != tensor.rank) return std::nullopt;
            biased = biased || tensor.use == TensorUse::bias;
            take(module, tensor, *found);
        }
        if (!covers_all(module) || !names_.measure(shapes_, module.fields)) return std::nullopt;
        if (has_field(names_.type, "bias")) module.fields["bias"] = biased ? "true" : "false";
        if (biased || !has_field(names_.type, "bias"))
            for (const TensorName* tensor : missing)
                if (tensor->form != Form::added)
                    module.rules.push_back({"", {tensor->ours.begin(), tensor->ours.end()}});
        return module;
    }

  private:
    [[nodiscard]] Tensors::const_iterator find(const TensorName& tensor) const {
        for (const std::string_view name : tensor.theirs)
            if (const auto found = tensors_.find(name); found != tensors_.end()) return found;
        return tensors_.end();
    }

    void take(FoundModule& module, const TensorName& tensor,
              const std::pair<const std::string, Shape>& found) {
        used_.insert(found.first);
        shapes_.emplace(tensor.ours.front(), found.second);
        const std::string name = joined_path(path_, found.first);
        module.rules.push_back({name, {tensor.ours.begin(), tensor.ours.end()}, tensor.form});
        module.tensors.emplace_back(name, found.second);
    }

    bool covers_all(FoundModule& module) const {
        for (const auto& [name, shape] : tensors_) {
            if (used_.contains(name)) continue;
            if (std::ranges::find(names_.buffers, name) == names_.buffers.end()) return false;
            module.buffers.push_back(joined_path(path_, name));
        }
        return true;
    }

    const LayerNames& names_;
    const std::string& path_;
    const Tensors& tensors_;
    std::set<std::string, std::less<>> used_;
    ShapesOfLayer shapes_;
};

class ModuleFinder {
  public:
    ModuleFinder(const ModuleChoice& choice, std::string_view source)
        : choice_(choice), source_(source) {}

    void visit(const std::string& path, const Tensors& tensors, std::size_t depth) {
        if (depth > deepest_path)
            throw InputError(fmt::format("{}: \"{}\" has too many parts (at most {}) rename it",
                                         source_, shortened(path), deepest_path));
        const auto chosen = choice_.types.find(path);
        const std::string_view type =
            chosen == choice_.types.end() ? std::string_view() : std::string_view(chosen->second);
        if (!type.empty()) visited_.insert(path);
        for (const LayerNames& names : layer_names()) {
            const bool may =
                type.empty() ? !names.only_named || is_named(names, path) : names.type == type;
            if (!may) continue;
            if (auto module = Matcher(names, path, tensors).run()) {
                found_.push_back(std::move(*module));
                return;
            }
        }
        if (!type.empty())
            throw ConfigError(
                fmt::format("--with {}.type={} fits no layer ({} has {}) choose another type", path,
                            type, path, listed_shapes(tensors)));
        refuse_attention(path, tensors);
        visit_parts(path, tensors, depth);
    }

    std::vector<FoundModule> result() {
        for (const auto& [path, type] : choice_.types)
            if (!visited_.contains(path))
                throw ConfigError(fmt::format(
                    "--with {}.type={} fits nothing ({} has no such module) name one of its "
                    "modules",
                    path, type, source_));
        return std::move(found_);
    }

  private:
    /// Of layers whose shapes are those of others only the embedding tells itself by its name.
    static bool is_named(const LayerNames& names, const std::string& path) {
        return names.type == Embedding::name && names_embedding(path);
    }

    void visit_parts(const std::string& path, const Tensors& tensors, std::size_t depth) {
        std::map<std::string, Tensors> parts;
        Tensors own;
        for (const auto& [name, shape] : tensors) {
            const std::size_t dot = name.find('.');
            if (dot == std::string::npos)
                own.emplace(name, shape);
            else
                parts[name.substr(0, dot)].emplace(name.substr(dot + 1), shape);
        }
        if (!own.empty()) visit_levels(path, own);
        std::vector<const std::pair<const std::string, Tensors>*> order;
        for (const auto& part : parts) order.push_back(&part);
        std::ranges::stable_sort(
            order, [&](const auto* a, const auto* b) { return before(path, a->first, b->first); });
        for (std::size_t i = 0; i < order.size(); ++i) {
            const std::size_t first = found_.size();
            visit(joined_path(path, order[i]->first), order[i]->second, depth + 1);
            if (i > 0)
                found_[first].by_letters = by_letters(path, order[i - 1]->first, order[i]->first);
        }
    }

    /// Throws for queries, keys and values whose module is no attention: dense layers one after
    /// another would be another function.
    void refuse_attention(const std::string& path, const Tensors& tensors) const {
        constexpr std::array<std::string_view, 3> columns{"wq", "wk", "wv"};
        std::vector<std::string> parts;
        for (const LayerNames& names : layer_names())
            for (const TensorName& tensor : names.tensors) {
                if (std::ranges::find(columns, tensor.ours.front()) == columns.end()) continue;
                for (const std::string_view name : tensor.theirs) {
                    std::string part = joined_path(path, name.substr(0, name.find('.')));
                    if (tensors.contains(name) && !choice_.types.contains(part))
                        parts.push_back(std::move(part));
                }
            }
        if (parts.size() < 2) return;
        throw InputError(fmt::format(
            "{}: {} are no attention that is known here ({} has {}; one has q_proj, k_proj, "
            "v_proj and o_proj, or their like, and nothing else) rename its tensors, or name each "
            "of these with --with {}.type=..",
            source_, shortened(joined(parts)), shortened(path.empty() ? "the file" : path),
            listed_shapes(tensors), parts.front()));
    }

    /// Recurrent layers one above another: weight_ih_l0, weight_ih_l1, ...
    void visit_levels(const std::string& path, const Tensors& own) {
        std::map<std::size_t, Tensors> levels;
        for (const auto& [name, shape] : own) {
            const std::size_t end = name.rfind("_l");
            const std::string_view digits = end == std::string::npos
                                                ? std::string_view()
                                                : std::string_view(name).substr(end + 2);
            if (digits.empty() || digits.size() > 4 || !std::ranges::all_of(digits, is_digit))
                refuse_tensors(path, own);
            levels[std::stoul(std::string(digits))].emplace(name.substr(0, end), shape);
        }
        for (const auto& [level, tensors] : levels) {
            const std::size_t before = found_.size();
            for (const LayerNames& names : layer_names()) {
                auto module = Matcher(names, path, tensors).run();
                if (!module) continue;
                for (TensorRule& rule : module->rules)
                    if (!rule.theirs.empty()) rule.theirs += fmt::format("_l{}", level);
                for (auto& [name, shape] : module->tensors) name += fmt::format("_l{}", level);
                module->path = joined_path(path, fmt::format("l{}", level));
                found_.push_back(std::move(*module));
                break;
            }
            if (found_.size() == before) refuse_tensors(path, own);
        }
    }

    [[noreturn]] void refuse_tensors(const std::string& path, const Tensors& tensors) const {
        throw InputError(fmt::format(
            "{}: the tensors of \"{}\" are those of no layer ({}) name its type with --with "
            "{}.type=.., or leave them out of the file",
            source_, shortened(path), listed_shapes(tensors), path.empty() ? "NAME" : path));
    }

    /// Where the user puts a part of a module.
    [[nodiscard]] std::size_t place(const std::string& path, const std::string& part) const {
        const std::string whole = joined_path(path, part);
        for (std::size_t i = 0; i < choice_.order.size(); ++i)
            if (choice_.order[i] == whole || choice_.order[i].starts_with(whole + ".")) return i;
        return choice_.order.size();
    }

    /// Whether a part of a module comes before another one.
    [[nodiscard]] bool before(const std::string& path, const std::string& a,
                              const std::string& b) const {
        const std::size_t place_a = place(path, a);
        const std::size_t place_b = place(path, b);
        if (place_a != place_b) return place_a < place_b;
        if (rank_of(a) != rank_of(b)) return rank_of(a) < rank_of(b);
        return naturally_less(a, b);
    }

    /// Whether neither the user, nor a role, nor a number tells which of two parts comes first.
    [[nodiscard]] bool by_letters(const std::string& path, const std::string& a,
                                  const std::string& b) const {
        return place(path, a) == place(path, b) && rank_of(a) == rank_of(b) &&
               without_digits(a) != without_digits(b);
    }

    const ModuleChoice& choice_;
    std::string_view source_;
    std::vector<FoundModule> found_;
    std::set<std::string> visited_;
};

}  // namespace

bool names_positions(std::string_view path) {
    return rank_of(last_part(path)) == rank_of_positions;
}

std::vector<FoundModule> find_modules(const std::map<std::string, Shape>& tensors,
                                      const ModuleChoice& choice, std::string_view source) {
    ModuleFinder finder(choice, source);
    finder.visit("", Tensors(tensors.begin(), tensors.end()), 0);
    return finder.result();
}

}  // namespace cambrian::models
