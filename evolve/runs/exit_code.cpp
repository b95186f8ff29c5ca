#include "cambrian/evolve/runs/exit_code.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <new>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian {

Failure failure_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const ConfigError& e) {
        return {exit_config, e.what()};
    } catch (const ShapeError& e) {
        return {exit_config, e.what()};
    } catch (const InputError& e) {
        return {exit_input, e.what()};
    } catch (const DeviceError& e) {
        return {exit_device, e.what()};
    } catch (const ContractViolation& e) {
        return {exit_failed, std::string("a bug of Cambrian (") + e.what() +
                                 ") please report it with the config and the command"};
    } catch (const std::bad_alloc&) {
        return {exit_failed,
                "out of memory (the system refused more) use a smaller population, "
                "fewer ranks on a host, or smaller shards"};
    } catch (const std::filesystem::filesystem_error& e) {
        return {exit_input, e.path1().string() + " cannot be used (" + e.code().message() +
                                ") check the path, its permissions and the disk"};
    } catch (const std::exception& e) {
        return {exit_failed, e.what()};
    }
}

std::string error_line(std::string_view text, std::string_view program) {
    return fmt::format("{}: error: {}\n", program, text);
}

}  // namespace cambrian
