#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"

namespace cambrian {

/// Buffers by name, so that programs of different graphs share them: an input of any graph is bound
/// to the buffer of its name. Two programs that have an input "weight" see the same weights, and
/// what one of them writes there (Graph::update) the other one reads in its next run.
class NamedBuffers {
  public:
    explicit NamedBuffers(Backend& backend) : backend_(&backend) {}

    struct Bindings {
        std::vector<Binding> inputs;
        std::vector<Binding> outputs;
    };
    /// What Program::run of a graph takes: its inputs by name, what replaces an input in the
    /// input's own buffer, and its other outputs, in order, as they are given. Names that are new
    /// get a buffer of zeros. Throws ShapeError for an input without a name or whose name stands
    /// for another type, shape or population, and for outputs that are missing or left over; then
    /// nothing has changed.
    [[nodiscard]] Bindings bind(const Graph& graph, std::int64_t population,
                                std::span<const Binding> outputs);

    /// The buffer of a name, to fill or read it. Throws ShapeError when there is none.
    [[nodiscard]] Buffer& at(std::string_view name) const;
    [[nodiscard]] bool contains(std::string_view name) const;
    /// In alphabetical order.
    [[nodiscard]] std::vector<std::string> names() const;
    /// Host values of a name, with the population axis in front where every individual has its own.
    /// Throw ShapeError for a name that is not there, or a tensor of another type or shape.
    void write(std::string_view name, const Tensor& value);
    [[nodiscard]] Tensor read(std::string_view name) const;

  private:
    struct Entry {
        ValueType type = ValueType::real;
        Shape shape;  ///< With the population.
        std::unique_ptr<Buffer> buffer;
    };
    [[nodiscard]] const Entry& entry(std::string_view name) const;

    Backend* backend_;
    std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace cambrian
