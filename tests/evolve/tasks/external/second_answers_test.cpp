#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "cambrian/evolve/tasks/external/external_program.hpp"
#include "cambrian/tests/evolve/support/external_support.hpp"

// Programs that say more than they are asked.
namespace cambrian::evolve::external_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A program that says something more where a file "go" is there, and then removes that.
std::string says_more(const std::string& folder_of_go, const std::string& text, bool ids = false) {
    return R"(
read hello; echo '{"protocol": 1, "level": "network", "observations": 1, "actions": 1, "ids": )" +
           std::string(ids ? "true" : "false") + R"(}'
read judge; echo '{"fitness": [1], "id": 1}'
while [ ! -e ")" +
           folder_of_go + R"(/go" ]; do sleep 0.01; done
echo ')" + text +
           R"('; rm ")" + folder_of_go + R"(/go"; read end
)";
}

/// Lets such a program say it, and waits until it has.
void let_say_more(const testing::TemporaryFolder& place) {
    const std::string go = place.write("go", "");
    while (std::filesystem::exists(go)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// What is said too much is found when the next message is due, if not before.
TEST(ExternalTask, ASecondAnswerMakesThoseBeforeUntrusted) {
    const testing::TemporaryFolder place;
    for (const bool answers : {true, false}) {
        nlohmann::json json = settings(
            {"sh", "-c", says_more(place.path(), answers ? R"({"fitness": [1]})" : "loading")});
        json["level"] = "network";
        const auto made = make(json);
        NumberedNetworks network({1});
        EXPECT_THAT(evaluate(*made->task, network), ElementsAre(1));
        let_say_more(place);
        const auto again = [&] { static_cast<void>(evaluate(*made->task, network)); };
        if (answers)
            EXPECT_THAT(testing::message_of<UntrustedTask>(again),
                        HasSubstr("the program said more than it was asked"));
        else
            EXPECT_NO_THROW(again()) << "by a new program: no line like this was an answer";
        place.write("go", "");  // So that it ends.
    }
}

/// Where answers say what they answer, those that counted were no others.
TEST(ExternalTask, ASecondAnswerWithItsIdIsAFailureLikeOthers) {
    const testing::TemporaryFolder place;
    nlohmann::json json =
        settings({"sh", "-c", says_more(place.path(), R"({"fitness": [1], "id": 1})", true)});
    json["level"] = "network";
    const auto made = make(json);
    NumberedNetworks network({1});
    EXPECT_THAT(evaluate(*made->task, network), ElementsAre(1));
    let_say_more(place);
    EXPECT_THAT(evaluate(*made->task, network), ElementsAre(1)) << "by a new program";
    place.write("go", "");  // So that it ends.
}

TEST(ExternalProgram, AnAnswerToAMessageBeforeIsNotTaken) {
    const std::string script = R"(
read hello; echo '{"protocol": 1, "level": "network", "ids": true, "observations": 1, "actions": 1}'
read judge; echo '{"fitness": [1], "id": 1}'
read judge; echo '{"fitness": [9], "id": 1}'; echo '{"fitness": [2], "id": 2}'; read end
)";
    ExternalProgram program({.command = {"sh", "-c", script},
                             .directory = "",
                             .seconds = patience,
                             .level = ExternalLevel::network});
    const auto judged = [&] {
        program.send_networks({{{"network", 0}}}, {.seeds = {1}, .phase = "train"});
        return program.receive_fitness(1);
    };
    EXPECT_THAT(judged(), ElementsAre(1));
    EXPECT_THAT(testing::message_of<ChildFailure>([&] { static_cast<void>(judged()); }),
                HasSubstr("has id 1 (the message has 2)"));
}

/// A program that says all twice at once ends in a failure, or in answers that are not trusted, as
/// soon as its second answers come before the next message.
TEST(ExternalTask, SecondAnswersNeverGoOnCounting) {
    const auto made = misbehaving(Speech{"network", "json"}, "talks");
    NumberedNetworks network({1});
    std::string said;
    for (int i = 0; i < 200 && said.empty(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(i));
        const std::string thrown = testing::message_of<UntrustedTask>(
            [&] { static_cast<void>(evaluate(*made->task, network)); });
        if (thrown != "no error") said = thrown;
        if (!made->warnings.empty()) said = made->warnings.front();
    }
    EXPECT_THAT(said, HasSubstr("said more than it was asked"));
}

}  // namespace
}  // namespace cambrian::evolve::external_test
