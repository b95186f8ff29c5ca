#include "cambrian/evolve/variation/weight_resize.hpp"

#include <algorithm>
#include <string_view>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/layers/support/initial.hpp"
#include "cambrian/evolve/genome/genome_layout.hpp"

namespace cambrian::evolve {

namespace {

/// How an axis comes from another: `removed` elements go and `added` come before those that stay.
struct AxisChange {
    std::int64_t removed = 0;
    std::int64_t added = 0;
    std::int64_t kept = 0;
};

AxisChange change_of(const TensorAxes& before, const TensorAxes& after, std::size_t axis) {
    const std::int64_t longer = after.extents[axis] - before.extents[axis];
    const std::int64_t in_kernel = after.causal ? longer : longer / 2;
    const std::int64_t shift = axis >= after.first_centred ? in_kernel : 0;
    AxisChange change{.removed = std::max<std::int64_t>(-shift, 0),
                      .added = std::max<std::int64_t>(shift, 0)};
    change.kept =
        std::min(before.extents[axis] - change.removed, after.extents[axis] - change.added);
    return change;
}

/// Edits from left to right: what lies before an edit is already as it will be.
class TensorResize {
  public:
    TensorResize(std::vector<WeightEdit>& edits, std::int64_t at, const TensorAxes& before,
                 const TensorAxes& after, std::span<const float> values)
        : edits_(edits), at_(at), before_(before), after_(after), values_(values) {}

    /// The part of axes from `axis` on that begins at an element of the new tensor.
    void resize(std::size_t axis, std::int64_t first) {
        const std::vector<std::int64_t>& old = before_.extents;
        const std::vector<std::int64_t>& own = after_.extents;
        if (std::equal(old.begin() + static_cast<std::ptrdiff_t>(axis), old.end(),
                       own.begin() + static_cast<std::ptrdiff_t>(axis))) {
            return;
        }
        const AxisChange change = change_of(before_, after_, axis);
        const std::int64_t old_part = elements_from(old, axis + 1);
        const std::int64_t part = elements_from(own, axis + 1);
        edit(first, change.removed * old_part, change.added * part);
        for (std::int64_t i = 0; i < change.kept; ++i) {
            resize(axis + 1, first + (change.added + i) * part);
        }
        const std::int64_t done = change.added + change.kept;
        edit(first + done * part, (old[axis] - change.removed - change.kept) * old_part,
             (own[axis] - done) * part);
    }

  private:
    void edit(std::int64_t first, std::int64_t erased, std::int64_t added) {
        if (erased == 0 && added == 0) {
            return;
        }
        const auto part =
            values_.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(added));
        edits_.push_back({at_ + first, erased, {part.begin(), part.end()}});
    }

    std::vector<WeightEdit>& edits_;
    std::int64_t at_;
    const TensorAxes& before_;
    const TensorAxes& after_;
    std::span<const float> values_;
};

/// Sets to zero what new inputs of units that were there before are weighted with.
void mute_new_inputs(const TensorAxes& before, const TensorAxes& after, std::span<float> values) {
    const std::size_t rank = after.extents.size();
    std::vector<std::int64_t> place(rank, 0);
    for (float& value : values) {
        bool is_new_input = false;
        bool is_new_unit = false;
        for (std::size_t axis = 0; axis < rank; ++axis) {
            const AxisChange change = change_of(before, after, axis);
            const bool is_new =
                place[axis] < change.added || place[axis] >= change.added + change.kept;
            const bool numbers_units = axis >= after.first_output && axis < after.last_output;
            is_new_unit = is_new_unit || (is_new && numbers_units);
            is_new_input = is_new_input || (is_new && !numbers_units);
        }
        if (is_new_input && !is_new_unit) {
            value = 0.0F;
        }
        for (std::size_t axis = rank; axis > 0 && ++place[axis - 1] == after.extents[axis - 1];
             --axis) {
            place[axis - 1] = 0;
        }
    }
}

/// The rows of the ends of a link as axes of its projection; those of a gain are of one end.
TensorAxes link_axes(const Blueprint& blueprint, std::span<const Shape> shapes, const Link& link,
                     const ParameterSpec& parameter) {
    const auto target = shapes[static_cast<std::size_t>(link.target)].extents();
    TensorAxes axes{{target.begin(), target.end()}, 0, target.size(), 0, 0};
    if (parameter.shape.rank() > 1) {
        const Shape row = link.source == input_port
                              ? input_row(blueprint)
                              : shapes[static_cast<std::size_t>(link.source) + 1];
        axes.extents.insert(axes.extents.end(), row.extents().begin(), row.extents().end());
    }
    axes.first_centred = axes.extents.size();
    return axes;
}

/// The two blueprints, and the edits between them so far.
class Resize {
  public:
    Resize(RandomStream& rng, const Blueprint& before, const Blueprint& after, NewWeights added)
        : rng_(rng),
          before_(before),
          after_(after),
          added_(added),
          shapes_before_(chain_shapes(before)),
          shapes_after_(chain_shapes(after)) {}

    std::optional<std::vector<WeightEdit>> run() {
        for (const GeneWeights& gene : gene_weights(after_)) {
            if (!(gene.link < 0 ? add_layer(gene) : add_link(gene))) {
                return std::nullopt;
            }
        }
        return std::move(edits_);
    }

  private:
    bool add_layer(const GeneWeights& gene) {
        const AnyLayer& layer = layer_at(after_, gene.slot);
        const AnyLayer& old_layer = layer_at(before_, gene.slot);
        if (layer == old_layer) {
            return true;
        }
        const auto slot = static_cast<std::size_t>(gene.slot);
        const std::vector<ParameterSpec> specs = layer.parameters();
        const std::vector<ParameterSpec> old_specs = old_layer.parameters();
        const auto named = [](const std::vector<ParameterSpec>& all, const std::string& name) {
            return std::ranges::find(all, name, &ParameterSpec::name);
        };
        std::int64_t at = gene.offset;
        auto old = old_specs.begin();
        for (std::size_t i = 0; i < specs.size(); ++i) {
            for (; old != old_specs.end() && named(specs, old->name) == specs.end(); ++old) {
                edits_.push_back({at, old->shape.elements()});
            }
            if (old == old_specs.end() || old->name != specs[i].name) {
                edits_.push_back({at, 0, initial_values(specs[i])});
            } else {
                const auto index = static_cast<std::size_t>(old - old_specs.begin());
                if (!resize(at, tensor_axes(old_layer, index, *old, shapes_before_[slot]),
                            tensor_axes(layer, i, specs[i], shapes_after_[slot]), specs[i])) {
                    return false;
                }
                ++old;
            }
            at += specs[i].shape.elements();
        }
        for (; old != old_specs.end(); ++old) {
            edits_.push_back({at, old->shape.elements()});
        }
        return true;
    }

    bool add_link(const GeneWeights& gene) {
        const Link& link = after_.links[static_cast<std::size_t>(gene.link)];
        const ParameterSpec spec = gene_parameters(after_, gene).front();
        const ParameterSpec old_spec = gene_parameters(before_, gene).front();
        const TensorAxes axes = link_axes(after_, shapes_after_, link, spec);
        if (spec.shape.rank() == old_spec.shape.rank()) {
            return resize(gene.offset, link_axes(before_, shapes_before_, link, old_spec), axes,
                          spec);
        }
        // A gain that becomes a projection is its diagonal; there is no way back.
        return old_spec.shape.rank() == 1 && spread_gain(gene.offset, link, axes);
    }

    bool resize(std::int64_t at, const TensorAxes& before, const TensorAxes& after,
                const ParameterSpec& spec) {
        if (before.extents == after.extents && before.parts == after.parts) {
            return true;
        }
        const bool comparable = before.extents.size() == after.extents.size();
        if (!comparable && added_ == NewWeights::keep_function) {
            return false;
        }
        std::vector<float> values = initial_values(spec);
        if (!comparable) {
            edits_.push_back({at, elements_from(before.extents, 0), std::move(values)});
            return true;
        }
        const std::vector<TensorAxes> old_parts = part_axes(before);
        const std::vector<TensorAxes> parts = part_axes(after);
        std::span<float> rest(values);
        for (std::size_t part = 0; part < parts.size(); ++part) {
            const std::int64_t count = elements_from(parts[part].extents, 0);
            const auto own = rest.first(static_cast<std::size_t>(count));
            if (added_ == NewWeights::keep_function) {
                mute_new_inputs(old_parts[part], parts[part], own);
            }
            resize_tensor(edits_, at, old_parts[part], parts[part], own);
            at += count;
            rest = rest.subspan(own.size());
        }
        return true;
    }

    /// Zeros around gains: element i of the source reaches element i of the target, as before.
    bool spread_gain(std::int64_t at, const Link& link, const TensorAxes& axes) {
        const auto rank = axes.last_output;
        const Shape source_before = link.source == input_port
                                        ? input_row(before_)
                                        : shapes_before_[static_cast<std::size_t>(link.source) + 1];
        const Shape& target_before = shapes_before_[static_cast<std::size_t>(link.target)];
        const Shape target(std::span(axes.extents).first(rank));
        const Shape source(std::span(axes.extents).subspan(rank));
        if (source_before.rank() != source.rank() || target_before.rank() != target.rank()) {
            return false;
        }
        std::int64_t written = 0;  // elements of the projection that are as they will be
        const auto zeros_up_to = [&](std::int64_t end) {
            if (end > written) {
                const auto count = static_cast<std::size_t>(end - written);
                edits_.push_back({at + written, 0, std::vector<float>(count, 0.0F)});
            }
            written = end;
        };
        for (std::int64_t i = 0; i < target_before.elements(); ++i) {
            const std::int64_t row = moved(i, target_before, target);
            const std::int64_t column = moved(i, source_before, source);
            if (row < 0 || column < 0) {
                return false;
            }
            zeros_up_to(row * source.elements() + column);
            ++written;
        }
        zeros_up_to(target.elements() * source.elements());
        return true;
    }

    /// Where an element of a row lies in a row of other extents; -1: nowhere.
    static std::int64_t moved(std::int64_t element, const Shape& before, const Shape& after) {
        std::int64_t result = 0;
        std::int64_t stride = 1;
        for (int axis = before.rank() - 1; axis >= 0; --axis) {
            const std::int64_t index = element % before[axis];
            if (index >= after[axis]) {
                return -1;
            }
            result += index * stride;
            stride *= after[axis];
            element /= before[axis];
        }
        return result;
    }

    std::vector<float> initial_values(const ParameterSpec& spec) {
        std::vector<float> values(static_cast<std::size_t>(spec.shape.elements()));
        fill_initial(spec, rng_, values);
        return values;
    }

    RandomStream& rng_;
    const Blueprint& before_;
    const Blueprint& after_;
    NewWeights added_;
    std::vector<Shape> shapes_before_;
    std::vector<Shape> shapes_after_;
    std::vector<WeightEdit> edits_;
};

}  // namespace

void resize_tensor(std::vector<WeightEdit>& edits, std::int64_t at, const TensorAxes& before,
                   const TensorAxes& after, std::span<const float> values) {
    CAMBRIAN_EXPECT(before.extents.size() == after.extents.size());
    TensorResize(edits, at, before, after, values).resize(0, 0);
}

std::optional<std::vector<WeightEdit>> resize_weights(RandomStream& rng, const Blueprint& before,
                                                      const Blueprint& after, NewWeights added) {
    return Resize(rng, before, after, added).run();
}

}  // namespace cambrian::evolve
