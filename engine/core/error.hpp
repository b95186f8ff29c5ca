#pragma once

#include <stdexcept>
#include <string>

namespace cambrian {

/// Base of every error a user or a machine can cause. The text reads
/// `<problem> (<why>) <suggestion>`. Our own bugs are contract violations instead (contract.hpp).
class Error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Operands whose shapes, types or axes do not fit an operation, a layer or a network.
class ShapeError : public Error {
  public:
    using Error::Error;
};

/// A wrong experiment config or command line. Exit code 2.
class ConfigError : public Error {
  public:
    using Error::Error;
};

/// An input file that is missing, damaged, truncated, hostile or not of the expected kind. Exit
/// code 3.
class InputError : public Error {
  public:
    using Error::Error;
};

/// A file or a directory that the system does not let be made, opened, written or listed: nothing is
/// known to be wrong with what is there. Exit code 3.
class OutputError : public InputError {
  public:
    using InputError::InputError;
};

/// A compute device that is absent, lost, or out of memory. Exit code 4.
class DeviceError : public Error {
  public:
    using Error::Error;
};

/// A device, the system or a memory limit has no more, after all that could be given back was.
class OutOfMemoryError : public DeviceError {
  public:
    using DeviceError::DeviceError;
};

}  // namespace cambrian
