// What baretile throws. One class for whoever must act; the message is one sentence that names the object, the value and the next step.
//   try { … } catch (const baretile::Error& e) { std::cerr << e.what(); }
#pragma once
#include <stdexcept>
#include <string>
#include <utility>

#pragma GCC visibility push(default)
namespace baretile {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The caller: a shape, dtype, axis, argument or file content that cannot be used.
struct UsageError : Error {
  using Error::Error;
};

// Nobody yet: valid, but not done here; the message says what would support it.
struct Unsupported : Error {
  using Error::Error;
};

// The owner of the machine: a path, permission or missing program.
struct SystemError : Error {
  SystemError(const std::string& message, std::string path_, int error_number_ = 0)
      : Error(message), path(std::move(path_)), error_number(error_number_) {}
  std::string path;
  int error_number;  // errno, or 0
};

// Hardware or firmware: a deadline passed, a read of all ones, a core that stopped.
struct DeviceError : Error {
  DeviceError(const std::string& message, std::string where_, std::string waited_for_ = {})
      : Error(message), where(std::move(where_)), waited_for(std::move(waited_for_)) {}
  std::string where;       // tile and core, as "tile 3-4, TRISC1"
  std::string waited_for;  // the name of the wait that ended, or empty
};

// Us: generated code did not build.
struct CompileError : Error {
  CompileError(const std::string& message, std::string source_path_, std::string command_, std::string output_)
      : Error(message), source_path(std::move(source_path_)), command(std::move(command_)), output(std::move(output_)) {}
  std::string source_path, command, output;
};

// The author of a kernel: a simulator stopped at something the hardware does not allow, or that it does not model.
struct SimFault : Error {
  SimFault(const std::string& message, std::string kind_) : Error(message), kind(std::move(kind_)) {}
  std::string kind;  // the simulator's own word, as "UndefinedBehavior" or "not_modelled"
};

// Us: an invariant of baretile does not hold.
struct InternalError : Error {
  using Error::Error;
};

}  // namespace baretile
#pragma GCC visibility pop
