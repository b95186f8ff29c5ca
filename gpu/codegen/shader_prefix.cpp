#include <set>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/gpu/codegen/shader_texts.hpp"

namespace cambrian::gpu {
namespace {

/// The next line of a text, taken off its front.
std::string_view take_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

/// The path that an #include line names; empty for any other line.
std::string_view included_file(std::string_view line) {
    if (!line.starts_with("#include")) return {};
    const std::size_t open = line.find('"');
    const std::size_t close = line.rfind('"');
    CAMBRIAN_ASSERT(open < close && close != std::string_view::npos);
    return line.substr(open + 1, close - open - 1);
}

void append_file(std::string_view path, std::set<std::string, std::less<>>& done,
                 std::string& text) {
    if (!done.emplace(path).second) return;
    std::string_view rest = shader_text(path);
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

std::string whole_shader_text(std::string_view path) {
    std::string text;
    std::set<std::string, std::less<>> done;
    append_file(path, done, text);
    return text;
}

std::string shader_prefix() {
    std::string text = "#version 460\n";
    std::set<std::string, std::less<>> done;
    for (const std::string_view path :
         {"cambrian/gpu/shaders/prelude.glsl", "cambrian/gpu/shaders/elementary.glsl",
          "cambrian/gpu/shaders/ops.glsl", "cambrian/gpu/shaders/philox.glsl"})
        append_file(path, done, text);
    return text;
}

}  // namespace cambrian::gpu
