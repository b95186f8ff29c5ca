#include "cambrian/engine/text/chat/chat_template.hpp"
#include "cambrian/engine/text/training/tokenizer_training.hpp"
#include "cambrian/launch/program/command_line.hpp"
#include "cambrian/launch/program/number_options.hpp"

// Options of the commands of texts in the room launch/commands/networks.
namespace cambrian::launch {

/// How the chat that another option names becomes a text.
static void add_chat_template(CLI::App& sub, std::string& name, CLI::Option* chat) {
    std::string text = "--chat: ";
    for (const ChatTemplate& each : chat_templates()) text += std::string(each.name) + ", ";
    text += "or a tokenizer_config.json whose template is one of them";
    sub.add_option("--template", name, text)->capture_default_str()->needs(chat);
}

void CommandLine::add_generate() {
    CLI::App& sub = add("generate", "Continue texts by networks that read tokens",
                        "  cambrian generate runs/characters-1/best.cmb --prompt 'The '\n"
                        "  cambrian generate best.cmb --tokenizer tokenizer.json --prompts "
                        "prompts.txt --temperature 0 --json\n"
                        "  cambrian generate a.cmb b.cmb --prompt 'The ' --top-p 0.9 --speed\n"
                        "  cambrian generate model.cmb --tokenizer tokenizer.json --chat "
                        "messages.json --template llama3",
                        [this] { return generate_command(context_, generate_); });
    GenerationSettings& settings = generate_.settings;
    SamplingSettings& sampling = settings.sampling;
    sub.add_option("NETWORKS", generate_.networks,
                   "Networks (.cmb) of one structure; each continues every prompt")
        ->required();
    sub.add_option("--tokenizer", generate_.tokenizer,
                   "tokenizer.json, or \"bytes\"; else the characters or bytes that the network "
                   "was trained on");
    CLI::Option* prompt =
        sub.add_option("--prompt", generate_.prompts, "Text to continue (repeatable)")
            ->allow_extra_args(false);
    CLI::Option* prompts =
        sub.add_option("--prompts", generate_.prompts_file,
                       "File with a prompt in each line, or - for standard input");
    CLI::Option* chat =
        sub.add_option("--chat", generate_.chat,
                       "Instead: messages as JSON, [{\"role\": \"user\", \"content\": ..}, ..], "
                       "which the network answers; - for standard input")
            ->excludes(prompt)
            ->excludes(prompts);
    add_chat_template(sub, generate_.chat_template, chat);
    sub.add_option("--max-tokens", settings.max_tokens, "Most tokens after a prompt")
        ->capture_default_str();
    sub.add_option("--temperature", sampling.temperature,
                   "Divides the logits; 0: always the most likely token")
        ->capture_default_str();
    sub.add_option("--top-k", sampling.top_k, "Only so many of the most likely; 0: all")
        ->capture_default_str();
    sub.add_option("--top-p", sampling.top_p,
                   "Only the fewest of the most likely that have this probability together")
        ->capture_default_str();
    sub.add_option("--min-p", sampling.min_p,
                   "Only those with this share of the probability of the most likely")
        ->capture_default_str();
    sub.add_option("--repetition-penalty", sampling.repetition_penalty,
                   "Makes tokens that were there less likely; 1: no")
        ->capture_default_str();
    sub.add_option("--stop", generate_.stop, "End a text before this word (repeatable)")
        ->allow_extra_args(false);
    sub.add_option("--seed", settings.seed,
                   "Of the choices: of equal seeds, a prompt in the same place becomes the same "
                   "text, whatever stands beside it")
        ->capture_default_str();
    sub.add_flag("!--no-cache", settings.cache,
                 "Pass over the whole text for each token: the same, slower");
    sub.add_option("--block", settings.block, "Positions of the first cache, which grows")
        ->capture_default_str();
    CLI::Option* json =
        sub.add_flag("--json", generate_.json, "Print a line of JSON for each text");
    sub.add_flag("--pieces", generate_.pieces,
                 "--json: before it a line for each piece of a text as soon as it is made")
        ->needs(json);
    sub.add_flag("--speed", generate_.speed,
                 "Say on standard error, or with --json in a last "
                 "line, how fast it was");
    add_overrides(sub, generate_.overrides);
}

void CommandLine::add_tokenize() {
    CLI::App& sub =
        add("tokenize", "Turn a text into ids and back, or learn a tokenizer from texts",
            "  cambrian tokenize text.txt --tokenizer tokenizer.json\n"
            "  echo Hello | cambrian tokenize - --tokenizer tokenizer.json --text\n"
            "  cambrian tokenize ids.txt --tokenizer tokenizer.json --decode\n"
            "  cambrian tokenize --chat messages.json --template chatml --prompt\n"
            "  cambrian tokenize --train text.txt --vocabulary 4096 -o tokenizer.json\n"
            "  cambrian tokenize --train text.txt --kind character -o tokenizer.json",
            [this] { return tokenize_command(context_, tokenize_); });
    CLI::Option* input = sub.add_option("INPUT", tokenize_.input,
                                        "The file with the text, or with --decode the ids; - is "
                                        "standard input");
    CLI::Option* tokenizer = sub.add_option("--tokenizer", tokenize_.tokenizer,
                                            "A tokenizer.json of Hugging Face's format, of the "
                                            "kind BPE, or its folder");
    const auto form = [&](const char* flag, TokenForm value, const char* text) {
        return sub.add_flag_callback(
            flag, [this, value] { tokenize_.form = value; }, text);
    };
    CLI::Option* ids = form("--ids", TokenForm::ids, "Print the ids in a line (the default)");
    CLI::Option* lines =
        form("--text", TokenForm::text, "Print id and name of each token in a line")->excludes(ids);
    CLI::Option* json =
        form("--json", TokenForm::json, "Print JSON")->excludes(ids)->excludes(lines);
    CLI::Option* bare = sub.add_flag("--bare", tokenize_.bare,
                                     "Leave out the tokens that the tokenizer puts around "
                                     "every text");
    CLI::Option* decode = sub.add_flag("--decode", tokenize_.decode, "Turn ids into their text")
                              ->needs(input)
                              ->needs(tokenizer);
    for (CLI::Option* other : {ids, lines, json, bare}) decode->excludes(other);
    sub.add_flag("--special", tokenize_.show_special,
                 "--decode: show special tokens by their names")
        ->needs(decode);
    CLI::Option* chat =
        sub.add_option("--chat", tokenize_.chat,
                       "Messages as JSON, [{\"role\": \"user\", \"content\": ..}, ..]; without "
                       "--tokenizer their text is printed")
            ->excludes(input)
            ->excludes(bare);
    add_chat_template(sub, tokenize_.chat_template, chat);
    sub.add_flag("--prompt", tokenize_.prompt, "--chat: end where the assistant speaks next")
        ->needs(chat);
    CLI::Option* train = sub.add_option("--train", tokenize_.train,
                                        "Texts to learn a tokenizer from, written to --output")
                             ->excludes(input)
                             ->excludes(tokenizer)
                             ->excludes(chat);
    sub.add_option("--kind", tokenize_.kind, "--train: bpe (byte-pair encoding), character or byte")
        ->capture_default_str()
        ->check(CLI::IsMember({"bpe", "character", "byte"}))
        ->needs(train);
    sub.add_option("--vocabulary", tokenize_.vocabulary,
                   "--train: how many tokens, special ones included, bpe has")
        ->default_str(std::to_string(TokenizerTraining{}.vocabulary))
        ->check(CLI::Range(1, 1 << 20))
        ->needs(train);
    sub.add_option("--min-count,--least-count", tokenize_.min_count,
                   "--train: pairs of bpe that stand more rarely stay apart")
        ->default_str(std::to_string(TokenizerTraining{}.min_count))
        ->check(positive_number())
        ->needs(train);
    sub.add_option("--special-tokens", tokenize_.special,
                   "--train: names of special tokens, which get the last ids")
        ->capture_default_str()
        ->needs(train);
    sub.add_option("-o,--output", tokenize_.output,
                   "File for the result; - or none: standard output");
}

}  // namespace cambrian::launch
