#include "cambrian/engine/core/json/json_text.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"

namespace cambrian::json_text {

namespace {

using nlohmann::json;

/// What the parser says, without its own prefix and position.
std::string reason(const json::exception& error) {
    constexpr int number_overflow = 406;
    const std::string_view text = error.what();
    if (error.id == number_overflow) {
        const std::size_t quote = text.find('\'');
        return "the number " + shortened(text.substr(quote + 1, text.rfind('\'') - quote - 1)) +
               " is beyond every 64-bit float";
    }
    const std::size_t syntax = text.find("syntax error");
    const std::size_t prefix = text.find("] ");
    if (syntax != std::string_view::npos) return shortened(text.substr(syntax));
    return shortened(prefix == std::string_view::npos ? text : text.substr(prefix + 2));
}

/// Looks at a text while it is parsed and keeps nothing but the keys of the objects that are open.
class Check : public json::json_sax_t {
  public:
    explicit Check(const Limits& limits) : limits_(limits) {}

    [[nodiscard]] std::optional<Fault> take() { return std::move(fault_); }

    bool null() override { return count(); }
    bool boolean(bool) override { return count(); }
    bool number_integer(number_integer_t) override { return count(); }
    bool number_unsigned(number_unsigned_t) override { return count(); }
    bool number_float(number_float_t number, const string_t&) override {
        return count() && (std::isfinite(number) || refuse("a number that is not finite"));
    }
    bool binary(binary_t& bytes) override {
        return count() && (!bytes.has_subtype() || refuse("an extension of MessagePack"));
    }
    bool string(string_t& text) override { return count() && is_text(text); }

    bool start_object(std::size_t) override {
        keys_.emplace_back();
        return enter();
    }
    bool end_object() override {
        keys_.pop_back();
        return leave();
    }
    bool start_array(std::size_t) override { return enter(); }
    bool end_array() override { return leave(); }
    bool key(string_t& name) override {
        if (!is_text(name)) return false;
        if (keys_.back().size() == limits_.keys)
            return refuse("more than " + std::to_string(limits_.keys) + " keys in one object");
        return keys_.back().insert(name).second ||
               refuse("the key \"" + shortened(name) + "\" stands twice in one object");
    }
    bool parse_error(std::size_t byte, const std::string&, const json::exception& error) override {
        fault_ = Fault{.why = reason(error), .byte = byte, .is_json = false};
        return false;
    }

  private:
    bool refuse(std::string why) {
        fault_ = Fault{.why = std::move(why), .byte = std::nullopt, .is_json = true};
        return false;
    }
    bool is_text(const std::string& text) {
        if (!is_utf8(text)) return refuse("the text \"" + shortened(text) + "\" is not UTF-8");
        // Files and systems take a NUL for the end of a text.
        return text.find('\0') == std::string::npos ||
               refuse("the text \"" + shortened(text) + "\" holds a NUL character");
    }
    bool count() {
        return ++values_ <= limits_.values ||
               refuse("more than " + std::to_string(limits_.values) + " values");
    }
    bool enter() {
        if (!count()) return false;
        return ++depth_ <= limits_.depth ||
               refuse("nested too deeply, more than " + std::to_string(limits_.depth) + " levels");
    }
    bool leave() {
        --depth_;
        return true;
    }

    const Limits& limits_;
    int depth_ = 0;
    std::size_t values_ = 0;
    std::vector<std::set<std::string>> keys_;
    std::optional<Fault> fault_;
};

std::optional<Fault> too_long(std::string_view text, const Limits& limits) {
    if (text.size() <= limits.length) return std::nullopt;
    return Fault{.why = "a text of " + std::to_string(text.size()) + " bytes, more than " +
                        std::to_string(limits.length),
                 .byte = std::nullopt,
                 .is_json = true};
}

template <class Json>
Json checked(std::string_view text, const Limits& limits) {
    if (const std::optional<Fault> found = fault(text, limits)) throw InputError(found->why);
    return Json::parse(text);
}

}  // namespace

std::optional<Fault> fault(std::string_view text, const Limits& limits) {
    if (std::optional<Fault> found = too_long(text, limits)) return found;
    // The parser takes a NUL byte for the end, whatever follows.
    if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos)
        return Fault{.why = "a NUL byte", .byte = nul + 1, .is_json = true};
    Check check(limits);
    if (json::sax_parse(text, &check)) return std::nullopt;
    return check.take();
}

json parse(std::string_view text, const Limits& limits) {
    return checked<json>(text, limits);
}

nlohmann::ordered_json parse_ordered(std::string_view text, const Limits& limits) {
    return checked<nlohmann::ordered_json>(text, limits);
}

json parse_packed(std::string_view bytes, const Limits& limits) {
    if (const std::optional<Fault> found = too_long(bytes, limits)) throw InputError(found->why);
    Check check(limits);
    if (!json::sax_parse(bytes, &check, json::input_format_t::msgpack))
        throw InputError(check.take()->why);
    return json::from_msgpack(bytes);
}

std::string shown(const json& value, std::size_t longest) {
    return shortened(value.dump(-1, ' ', false, json::error_handler_t::replace), longest);
}

}  // namespace cambrian::json_text
