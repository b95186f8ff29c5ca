#include <set>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/gpu/codegen/shader_compiler.hpp"
#include "cambrian/gpu/codegen/shader_texts.hpp"

namespace cambrian::gpu {
namespace {

/// The next line of a text, taken off its front.
std::string_view take_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

/// The file that an #include line names, without its folders; empty for any other line.
std::string_view included_file(std::string_view line) {
    if (!line.starts_with("#include")) return {};
    const std::size_t open = line.find('"');
    const std::size_t close = line.rfind('"');
    CAMBRIAN_ASSERT(open < close && close != std::string_view::npos);
    const std::string_view path = line.substr(open + 1, close - open - 1);
    return path.substr(path.rfind('/') + 1);
}

void append_file(std::string_view name, std::set<std::string, std::less<>>& done,
                 std::string& text) {
    if (!done.emplace(name).second) return;
    std::string_view rest = shader_text(name);
    CAMBRIAN_ASSERT(!rest.empty());
    while (!rest.empty()) {
        const std::string_view line = take_line(rest);
        if (const std::string_view file = included_file(line); !file.empty()) {
            append_file(file, done, text);
        } else {
            text.append(line).push_back('\n');
        }
    }
}

}  // namespace

std::string shader_prefix() {
    std::string text = "#version 460\n";
    std::set<std::string, std::less<>> done;
    for (const std::string_view name :
         {"prelude.glsl", "elementary.glsl", "ops.glsl", "philox.glsl"})
        append_file(name, done, text);
    return text;
}

}  // namespace cambrian::gpu
