#include "compiler/build/clang.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include "baretile/error.h"
#include "compiler/build/elf.h"

extern char** environ;

namespace baretile::compiler {
namespace fs = std::filesystem;
namespace {

constexpr int kNewestClang = 19, kOldestClang = 14;
constexpr auto kCompileDeadline = std::chrono::seconds(120);

const std::vector<std::string> kCompileFlags{"--target=riscv32-unknown-elf",
                                             "-march=rv32im_zba_zbb",
                                             "-mabi=ilp32",
                                             "-O2",
                                             "-mcmodel=medany",
                                             "-mno-relax",
                                             "-ffreestanding",
                                             "-fno-builtin",
                                             "-nostdlib",
                                             "-fno-jump-tables",
                                             "-fno-exceptions",
                                             "-fno-rtti",
                                             "-fno-ident",
                                             "-std=c++20",
                                             "-w"};

constexpr const char* kDebugFlag = "-DBARETILE_DEBUG";
constexpr const char* kLineFlags[] = {"-gline-tables-only", "-fdebug-default-version=4"};  // they leave the code as is
const std::vector<std::string> kLinkFlags{"-q", "-n", "--no-undefined", "-e", "0"};

fs::path find_program(const std::string& search_path, const std::string& name) {
  for (size_t begin = 0; begin <= search_path.size();) {
    const size_t end = std::min(search_path.find(':', begin), search_path.size());
    const fs::path file = fs::path(search_path.substr(begin, end - begin)) / name;
    if (end > begin && access(file.c_str(), X_OK) == 0) return file;
    begin = end + 1;
  }
  return {};
}

// What tells one installed compiler from another without starting it.
std::string identity(const std::string& program) {
  struct stat s {};
  if (stat(program.c_str(), &s) != 0)
    throw SystemError(fmt::format("cannot examine {}: {}", program, std::strerror(errno)), program, errno);
  return Sha256()
      .add(fmt::format("{} {} {}.{}", program, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec))
      .hex()
      .substr(0, 16);
}

std::string ask_version(const std::string& clang) {
  const ProcessResult r = run_process({clang, "--version"}, std::chrono::seconds(30));
  const std::string line = r.output.substr(0, r.output.find('\n'));
  const size_t at = line.find("version ");
  const int major = at == std::string::npos ? 0 : std::atoi(line.c_str() + at + 8);
  if (r.exit_code != 0 || major < kOldestClang)
    throw SystemError(
        fmt::format("{} is not clang {} or newer, it says \"{}\"; install a newer one: apt-get install clang lld",
                    clang, kOldestClang, line),
        clang);
  return line;
}

std::string join(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

void run_tool(const std::vector<std::string>& command, const std::string& source, const char* what) {
  const ProcessResult r = run_process(command, kCompileDeadline);
  if (r.exit_code == 0) return;
  throw CompileError(fmt::format("{} {} failed with status {}:\n{}", what, source, r.exit_code, r.output), source,
                     join(command), r.output);
}

std::vector<std::string> compiler(const Toolchain& tools, const fs::path& headers, const CompileMode& mode,
                                  std::initializer_list<std::string> work) {
  std::vector<std::string> command{tools.clang};
  command.insert(command.end(), kCompileFlags.begin(), kCompileFlags.end());
  if (mode.debug) command.emplace_back(kDebugFlag);
  if (mode.lines) command.insert(command.end(), std::begin(kLineFlags), std::end(kLineFlags));
  command.insert(command.end(), {"-I" + headers.string(), "-I" + (headers / "kernels").string()});
  command.insert(command.end(), work);
  return command;
}

// Everything the child writes, until it closes its end.
std::string drain(int fd, std::chrono::steady_clock::time_point until, bool& timed_out) {
  std::string output;
  char chunk[4096];
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    pollfd p{fd, POLLIN, 0};
    const int ready = poll(&p, 1, int(std::max<i64>(left, 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) {
      timed_out = true;
      return output;
    }
    const ssize_t n = read(fd, chunk, sizeof(chunk));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return output;
    output.append(chunk, size_t(n));
  }
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command, std::chrono::seconds deadline) {
  const std::string& program = command.front();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw SystemError(fmt::format("cannot start {}: pipe: {}", program, std::strerror(errno)), program, errno);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  pid_t child = 0;
  const int error = posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  ProcessResult result;
  bool timed_out = false;
  if (error == 0) result.output = drain(ends[0], std::chrono::steady_clock::now() + deadline, timed_out);
  close(ends[0]);
  if (error != 0) throw SystemError(fmt::format("cannot start {}: {}", program, std::strerror(error)), program, error);
  if (timed_out) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (timed_out)
    throw SystemError(fmt::format("{} did not end within {} s and was killed", join(command), deadline.count()),
                      program);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

Toolchain find_toolchain(const KernelCache& cache, const std::string& search_path) {
  Toolchain tools;
  std::string suffix;
  tools.clang = find_program(search_path, "clang");
  for (int v = kNewestClang; tools.clang.empty() && v >= kOldestClang; --v) {
    suffix = fmt::format("-{}", v);
    tools.clang = find_program(search_path, "clang" + suffix);
  }
  if (tools.clang.empty()) {
    const std::optional<std::string> last = cache.read_text("compiler-last");
    if (!last)
      throw SystemError(
          "no clang in PATH, and no kernel was compiled before; install the device compiler: apt-get install clang lld",
          "clang");
    tools.version = *last;
    return tools;
  }
  const std::string known = "compiler-" + identity(tools.clang);
  if (const std::optional<std::string> version = cache.read_text(known)) {
    tools.version = *version;
  } else {
    tools.version = ask_version(tools.clang);
    cache.write_text(cache.folder() / known, tools.version);
    cache.write_text(cache.folder() / "compiler-last", tools.version);
  }
  tools.lld = find_program(search_path, "ld.lld" + suffix);
  for (int v = kNewestClang; tools.lld.empty() && v >= kOldestClang; --v)
    tools.lld = find_program(search_path, fmt::format("ld.lld-{}", v));
  return tools;
}

std::string compile_flags(bool debug) {
  return join(kCompileFlags) + (debug ? kDebugFlag : "") + " | " + join(kLinkFlags);
}

bool precompile(const Toolchain& tools, const fs::path& headers, const fs::path& file) {
  if (tools.clang.empty()) return false;
  const fs::path header = headers / "kernels/compute.h", temporary = temporary_beside(file);
  const std::vector<std::string> command = compiler(tools, headers, {}, {"-x", "c++-header", header, "-o", temporary});
  std::error_code error;
  if (run_process(command, kCompileDeadline).exit_code == 0) fs::rename(temporary, file, error);
  return fs::exists(file, error);
}

KernelImage compile_kernel(const Toolchain& tools, const fs::path& headers, const fs::path& source, CompileMode mode) {
  if (tools.clang.empty() || tools.lld.empty())
    throw SystemError(fmt::format("kernel {} is not in the cache and {} is not in PATH; install the device compiler: "
                                  "apt-get install clang lld",
                                  source.string(), tools.clang.empty() ? "clang" : "ld.lld"),
                      tools.clang.empty() ? "clang" : "ld.lld");
  const fs::path object = fs::path(source).replace_extension(".o"), linked = fs::path(source).replace_extension(".elf");
  const std::vector<std::string> compile = compiler(tools, headers, mode, {"-c", source, "-o", object});
  std::vector<std::string> faster = compile;
  faster.insert(faster.end(), {"-include-pch", mode.precompiled});
  if (mode.precompiled.empty() || run_process(faster, kCompileDeadline).exit_code != 0) {
    run_tool(compile, source, "compiling");
    std::error_code ignored;  // damaged, as the source is right; a read-only cache keeps it
    if (!mode.precompiled.empty()) fs::remove(mode.precompiled, ignored);
  }
  std::vector<std::string> link{tools.lld};
  link.insert(link.end(), kLinkFlags.begin(), kLinkFlags.end());
  for (const std::string& word :
       {std::string("-T"), (headers / "kernel.ld").string(), object.string(), std::string("-o"), linked.string()})
    link.push_back(word);
  run_tool(link, source, "linking");
  std::ifstream in(linked, std::ios::binary);
  const std::vector<u8> bytes{std::istreambuf_iterator<char>(in), {}};
  std::error_code ignored;  // what cannot be removed is overwritten by the next build of this kernel
  fs::remove(object, ignored);
  if (!mode.lines) fs::remove(linked, ignored);
  return read_kernel_elf(bytes, source);
}

}  // namespace baretile::compiler
