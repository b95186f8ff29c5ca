#include "cambrian/engine/graph/builders/formats.hpp"

namespace cambrian {

Var encode(Var x, NumberFormat format, Where where) {
    const FormatAttribute attribute{format, x.rank() == 0 ? 0 : x.shape()[-1]};
    return x.graph->add(Op::encode, std::span(&x, 1), attribute, where);
}

Var decode(Var words, NumberFormat format, std::int64_t length, Where where) {
    const FormatAttribute attribute{format, length};
    return words.graph->add(Op::decode, std::span(&words, 1), attribute, where);
}

}  // namespace cambrian
