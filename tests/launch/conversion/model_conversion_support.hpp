#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/launch/launch_support.hpp"
#include "cambrian/tests/support/model_support.hpp"

namespace cambrian::launch::model_test {

using distributed::NetworkFile;
using distributed::read_network;
using test::Result;
using test::run;
using test::TemporaryDirectory;
using testing::HasSubstr;

using Arguments = std::vector<std::string>;

class ModelConversion : public testing::Test {
  protected:
    Result convert(Arguments arguments) {
        arguments.insert(arguments.begin(), "convert");
        return run(arguments);
    }
    /// The network of a golden model.
    NetworkFile read(const std::string& name, Arguments options = {}) {
        options.insert(options.begin(),
                       {cambrian::test::golden_model(name).string(), path(name + ".cmb")});
        const Result result = convert(options);
        EXPECT_EQ(result.code, 0) << result.err;
        said_ = result.out;
        return read_network(path(name + ".cmb"));
    }
    std::string fails(int code, Arguments arguments) {
        const Result result = convert(std::move(arguments));
        EXPECT_EQ(result.code, code) << result.out << result.err;
        return result.err;
    }
    [[nodiscard]] std::string path(const std::string& name) const { return directory_.file(name); }

    TemporaryDirectory directory_;
    std::string said_;
};

}  // namespace cambrian::launch::model_test
