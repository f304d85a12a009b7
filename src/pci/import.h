// Chooses what the functions and variables mean that one loaded library imports, leaving the rest of the process alone.
#pragma once
#include <span>

namespace baretile::pci {

struct Redirect {
  const char* symbol;
  void* target;  // address of the function or variable
};

// Rewrites the library's relocations against the named symbols; returns how many were found. `handle` comes from dlopen
// with RTLD_NOW.
int redirect_imports(void* handle, std::span<const Redirect> redirects);

}  // namespace baretile::pci
