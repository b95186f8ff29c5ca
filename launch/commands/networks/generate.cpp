#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/generation/generator.hpp"
#include "cambrian/engine/generation/stop_words.hpp"
#include "cambrian/engine/network/weight_formats.hpp"
#include "cambrian/engine/text/chat/chat_template.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/evolve/runs/network_codes.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/commands/engine_keys.hpp"
#include "cambrian/launch/commands/input_text.hpp"
#include "cambrian/launch/convert/text_network.hpp"
#include "cambrian/launch/devices/device.hpp"

namespace cambrian::launch {
namespace {

using distributed::NetworkFile;

std::vector<std::string> read_lines(std::istream& in, const std::string& source) {
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) {
        if (line.ends_with('\r')) line.pop_back();
        lines.push_back(std::move(line));
    }
    if (in.bad()) throw InputError(source + " cannot be read (the system refuses it) look at it");
    return lines;
}

/// @param family of a chat, whose text its answer continues; null without one.
std::vector<std::string> prompts_of(const GenerateOptions& options, const ChatTemplate* family) {
    if (family != nullptr)
        return {family->render(parse_chat(read_text(options.chat), options.chat),
                               GenerationPrompt::yes)};
    std::vector<std::string> prompts = options.prompts;
    if (!options.prompts_file.empty()) {
        std::ifstream file;
        const bool standard = options.prompts_file == "-";
        if (!standard) file.open(options.prompts_file);
        if (!standard && !file)
            throw InputError(options.prompts_file +
                             " cannot be read (it is not there, or not for you) name another file");
        for (std::string& line : read_lines(standard ? std::cin : file, options.prompts_file))
            prompts.push_back(std::move(line));
    }
    if (prompts.empty())
        throw ConfigError(
            "there is no prompt (a network continues a text) add --prompt TEXT or --chat FILE");
    return prompts;
}

std::vector<LayerFormats> take_formats(Blueprint& blueprint) {
    std::vector<LayerFormats> all;
    for_each_formats(blueprint,
                     [&](LayerFormats& formats) { all.push_back(std::exchange(formats, {})); });
    return all;
}

/// What of two networks is not the same; empty where nothing is.
std::string difference_of(Blueprint a, Blueprint b) {
    const std::vector<LayerFormats> formats = take_formats(a);
    const std::vector<LayerFormats> others = take_formats(b);
    if (a != b) return "structure";
    const auto [own, other] = std::ranges::mismatch(formats, others);
    if (own == formats.end()) return {};
    const auto text = [](const LayerFormats& each) {
        return fmt::format("weights in {} and rows in {}", weights_text(each),
                           name(each.activations));
    };
    std::string first = text(*own);
    std::string second = text(*other);
    // Of weights in float32 a text leaves scales out.
    if (first == second) {
        first = fmt::format("scales: {}", name(own->scales));
        second = std::string(name(other->scales));
    }
    return fmt::format("number formats: {}, or {}", first, second);
}

std::vector<NetworkFile> networks_of(const std::vector<std::string>& paths) {
    std::vector<NetworkFile> networks;
    for (const std::string& path : paths) {
        networks.push_back(distributed::read_to_answer(path));
        if (const std::string difference =
                difference_of(networks.front().genome.blueprint, networks.back().genome.blueprint);
            !difference.empty())
            throw InputError(fmt::format(
                "{} and {} differ in {} (one program continues the texts of all networks) "
                "start one command for each",
                paths.front(), path, difference));
        const auto& first = networks.front().preparation;
        const auto& other = networks.back().preparation;
        if (first && other && !evolve::other_labels(*first, *other).empty())
            throw InputError(fmt::format(
                "{} and {} differ in their tokens (one tokenizer reads the texts of all networks) "
                "start one command for each",
                paths.front(), path));
    }
    return networks;
}

/// One text as it is made: tokens become pieces of text, up to a stop word.
struct Stream {
    StreamDecoder decoder;
    StopWords stop;
    std::string text{};

    /// What is new and may be shown.
    std::string add(std::int64_t id) { return kept(stop.add(decoder.add(id))); }
    std::string finish() {
        std::string rest = stop.add(decoder.finish());
        return kept(rest + stop.finish());
    }

  private:
    std::string kept(std::string piece) {
        text += piece;
        return piece;
    }
};

/// Seconds of all steps, ascending.
std::vector<double> seconds_of(const GenerationTimes& times) {
    std::vector<double> seconds;
    for (const StepTime& step : times.steps) seconds.push_back(step.seconds);
    std::ranges::sort(seconds);
    return seconds;
}

nlohmann::ordered_json speed_json(const GenerationTimes& times) {
    nlohmann::ordered_json steps = nlohmann::ordered_json::array();
    double seconds = 0.0;
    std::int64_t tokens = 0;
    for (const StepTime& step : times.steps) {
        steps.push_back({step.position, step.seconds});
        seconds += step.seconds;
        tokens += step.tokens;
    }
    nlohmann::ordered_json json;
    json["tokens"] = tokens;
    json["seconds"] = seconds;
    json["tokens_per_second"] = seconds > 0.0 ? static_cast<double>(tokens) / seconds : 0.0;
    json["prefill_seconds"] = times.prefill_seconds;
    json["prepare_seconds"] = times.prepare_seconds;
    json["steps"] = std::move(steps);
    return json;
}

std::string speed_text(const GenerationTimes& times) {
    const nlohmann::ordered_json json = speed_json(times);
    const std::vector<double> seconds = seconds_of(times);
    if (seconds.empty()) return "no tokens\n";
    return fmt::format(
        "{} tokens in {:.3f} s: {:.1f} tokens/s; a step {:.3f} ms (median of {}), prompts {:.3f} "
        "s, "
        "programs and caches {:.3f} s\n",
        json["tokens"].get<std::int64_t>(), json["seconds"].get<double>(),
        json["tokens_per_second"].get<double>(), 1e3 * seconds[seconds.size() / 2], seconds.size(),
        times.prefill_seconds, times.prepare_seconds);
}

/// How texts reach standard output: a single one while it is made, of a chat without its prompt,
/// several one after another.
class Printer {
  public:
    Printer(std::ostream& out, const GenerateOptions& options, std::vector<std::string> prompts)
        : out_(out),
          options_(options),
          prompts_(std::move(prompts)),
          streams_(!options.json && options.networks.size() * prompts_.size() == 1),
          shows_prompt_(streams_ && options.chat.empty()) {}

    void piece(std::size_t network, std::size_t prompt, std::string_view text) {
        // Not sooner: what is refused is told alone.
        if (std::exchange(shows_prompt_, false)) out_ << prompts_[0] << std::flush;
        if (text.empty()) return;
        if (streams_) out_ << text << std::flush;
        if (!options_.pieces) return;
        nlohmann::ordered_json line;
        line["network"] = options_.networks[network];
        line["number"] = prompt + 1;
        line["piece"] = text;
        out_ << one_line(line) << std::flush;
    }
    void text(std::size_t network, std::size_t prompt, const std::string& text,
              const GeneratedText& made) {
        if (options_.json) {
            nlohmann::ordered_json line;
            line["network"] = options_.networks[network];
            line["number"] = prompt + 1;
            line["prompt"] = prompts_[prompt];
            line["text"] = text;
            line["tokens"] = made.tokens.size();
            line["ending"] = name(made.ending);
            out_ << one_line(line);
        } else if (streams_) {
            out_ << '\n';
        } else {
            out_ << fmt::format("--- prompt {}", prompt + 1);
            if (options_.networks.size() > 1) out_ << ", " << options_.networks[network];
            out_ << '\n' << prompts_[prompt] << text << '\n';
        }
    }

  private:
    static std::string one_line(const nlohmann::ordered_json& line) {
        return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
    }

    std::ostream& out_;
    const GenerateOptions& options_;
    std::vector<std::string> prompts_;
    bool streams_;
    bool shows_prompt_;  ///< Before the first piece.
};

}  // namespace

int generate_command(const CommandContext& context, const GenerateOptions& options) {
    const auto [engine_keys, others] = split_overrides(options.overrides);
    if (!others.empty())
        throw ConfigError(
            fmt::format("--set {} has no use here (a generation has no task) set engine keys alone",
                        others.front()));
    const ChatTemplate* const family =
        options.chat.empty() ? nullptr : &find_chat_template(options.chat_template);
    const std::vector<std::string> prompts = prompts_of(options, family);
    const std::vector<NetworkFile> files = networks_of(options.networks);
    const Tokenizer tokenizer =
        tokenizer_of(options.networks[0], files[0].preparation, options.tokenizer);

    std::vector<Prompt> encoded;
    for (const std::string& prompt : prompts)
        encoded.push_back({.tokens = family != nullptr ? family->encode(prompt, tokenizer)
                                                       : tokenizer.encode(prompt),
                           .number = encoded.size()});
    std::vector<std::vector<float>> weights;
    for (const NetworkFile& file : files) weights.push_back(file.genome.weights);
    GenerationSettings settings = options.settings;
    settings.end_tokens = tokenizer.end_tokens();
    for (std::int64_t id = 0; id < tokenizer.size(); ++id)
        settings.known_tokens.push_back(!tokenizer.token(id).empty());

    const auto backend = make_backend(device_settings(engine_section(engine_keys), RankPlace{}));
    Generator generator(*backend, Network(files[0].genome.blueprint), weights);
    std::vector<Stream> streams;
    for (std::size_t i = 0; i < weights.size() * prompts.size(); ++i) {
        // A prompt goes on; an answer in a chat is a text of its own.
        const bool goes_on = options.chat.empty() && !prompts[i % prompts.size()].empty();
        streams.push_back({StreamDecoder(tokenizer, SpecialTokens::leave_out,
                                         goes_on ? Before::text : Before::nothing),
                           StopWords(options.stop)});
    }
    Printer printer(context.out, options, prompts);
    const auto index = [&](std::int64_t network, std::size_t prompt) {
        return static_cast<std::size_t>(network) * prompts.size() + prompt;
    };
    const std::vector<GeneratedText> texts =
        generator.run(encoded, settings, [&](const NewToken& token) {
            Stream& stream = streams[index(token.network, token.prompt)];
            printer.piece(static_cast<std::size_t>(token.network), token.prompt,
                          stream.add(token.id));
            return !stream.stop.found();
        });
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const std::size_t network = i / prompts.size();
        printer.piece(network, i % prompts.size(), streams[i].finish());
        printer.text(network, i % prompts.size(), streams[i].text, texts[i]);
    }
    if (options.speed && options.json)
        context.out << nlohmann::ordered_json{{"speed", speed_json(generator.times())}}.dump()
                    << '\n';
    else if (options.speed)
        context.err << speed_text(generator.times());
    return exit_done;
}

}  // namespace cambrian::launch
