#include "compiler/build/build.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "baretile/error.h"
#include "baretile/kernel.h"
#include "compiler/build/cache.h"
#include "compiler/build/clang.h"
#include "compiler/build/embedded.h"

namespace baretile::compiler {
namespace {

std::atomic<u64> compiled_kernels{0}, cached_kernels{0}, build_nanoseconds{0};

// One distinct source: where its image is wanted.
struct Job {
  std::string key;
  const KernelSource* source;
  KernelImage image;
};

bool debug_wanted(const BuildOptions& options) {
  if (options.debug) return *options.debug;
  const char* value = std::getenv("BARETILE_DEBUG");
  const std::string_view text = value ? value : "0";
  if (text != "0" && text != "1")
    throw UsageError(fmt::format("BARETILE_DEBUG={}: use 1 to build kernels with bt_print and bt_assert, or 0", text));
  return text == "1";
}

// A fifth of a kernel's compilation is reading the same headers, and precompiling them takes half of one: it begins to
// pay with the fourth kernel. Debugging changes what they say and is rare.
std::filesystem::path precompiled_headers(const KernelCache& cache, const Toolchain& tools, bool debug,
                                          size_t kernels) {
  constexpr size_t kPays = 4;
  const std::string name = Sha256().add(compile_flags(debug)).add(tools.version).hex().substr(0, 16);
  const std::filesystem::path folder = cache.headers(),  // made once, before threads look at them
      file = folder / fmt::format("compute-{}.pch", name);
  if (debug) return {};
  if (std::filesystem::exists(file) || (kernels >= kPays && precompile(tools, folder, file))) return file;
  return {};
}

KernelImage build_one(const KernelCache& cache, const Toolchain& tools, const Job& job, CompileMode mode) {
  const FileLock lock = cache.lock(job.key);
  if (std::optional<KernelImage> done = cache.load(job.key)) {  // another process was faster
    ++cached_kernels;
    return std::move(*done);
  }
  lock.write(job.source->text);
  if (job.source->text.find("#include \"compute.h\"\n") == std::string::npos) mode.precompiled.clear();
  KernelImage image = compile_kernel(tools, cache.headers(), lock.path, mode);
  image.key = job.key;
  cache.store(image);
  ++compiled_kernels;
  return image;
}

// Compiles what the cache lacks; the first error ends the build and is thrown once all compilers have stopped.
void build_missing(const KernelCache& cache, const Toolchain& tools, std::span<Job* const> missing, bool debug) {
  const CompileMode mode{debug, debug, precompiled_headers(cache, tools, debug, missing.size())};
  std::atomic<size_t> next{0};
  std::exception_ptr error;
  std::mutex error_mutex;
  const auto work = [&] {
    try {
      for (size_t i = next++; i < missing.size(); i = next++)
        missing[i]->image = build_one(cache, tools, *missing[i], mode);
    } catch (...) {
      const std::lock_guard guard(error_mutex);
      if (!error) error = std::current_exception();
      next = missing.size();
    }
  };
  {
    std::vector<std::jthread> threads;
    const size_t jobs = std::min<size_t>(missing.size(), std::max(1u, std::thread::hardware_concurrency()));
    for (size_t i = 1; i < jobs; ++i) threads.emplace_back(work);
    work();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace

std::vector<KernelImage> build_kernels(std::span<const KernelSource> sources, const BuildOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const char* path = std::getenv("PATH");
  const KernelCache cache(options.cache_folder.empty() ? cache_root() / "kernels"
                                                       : std::filesystem::path(options.cache_folder));
  const Toolchain tools = find_toolchain(cache, options.search_path.empty() ? (path ? path : "") : options.search_path);
  const bool debug = debug_wanted(options);
  std::vector<Job> jobs;
  std::map<std::string, size_t> by_key;
  std::vector<size_t> job_of;
  for (const KernelSource& source : sources) {
    Sha256 sha;
    std::string key = sha.add(source.text).add(embedded_hash()).add(compile_flags(debug)).add(tools.version).hex();
    const auto [at, fresh] = by_key.try_emplace(std::move(key), jobs.size());
    if (fresh) jobs.push_back({at->first, &source, {}});
    job_of.push_back(at->second);
  }
  std::vector<Job*> missing;
  for (Job& job : jobs) {
    if (std::optional<KernelImage> image = cache.load(job.key)) {
      job.image = std::move(*image);
      ++cached_kernels;
    } else {
      missing.push_back(&job);
    }
  }
  if (!missing.empty()) {
    build_missing(cache, tools, missing, debug);
    cache.trim(options.cache_bytes);
  }
  std::vector<KernelImage> images;
  for (size_t i = 0; i < sources.size(); ++i) {
    images.push_back(jobs[job_of[i]].image);
    images.back().name = sources[i].name;
    images.back().source = cache.path(images.back().key, ".cc");
    images.back().debug = debug;
  }
  build_nanoseconds += u64((std::chrono::steady_clock::now() - start).count());
  return images;
}

KernelSource user_source(const std::string& name, const std::string& text) {
  return {name, fmt::format("#line 1 \"{}.cc\"\n{}", name, text)};
}

BuildStats build_stats() { return {compiled_kernels, cached_kernels, double(build_nanoseconds) * 1e-9}; }

}  // namespace baretile::compiler

namespace baretile {

KernelImage compile_kernel(const std::string& name, const std::string& text) {
  const compiler::KernelSource source = compiler::user_source(name, text);
  return compiler::build_kernels({&source, 1}).front();
}

}  // namespace baretile
