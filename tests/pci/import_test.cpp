#include "pci/import.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>

#include "pci/simulators.h"

namespace baretile {
namespace {

std::string said;

int say(const char* format, va_list args) {
  char text[256];
  vsnprintf(text, sizeof text, format, args);
  said += text;
  return 0;
}
int on_printf(const char* format, ...) {
  va_list args;
  va_start(args, format);
  say(format, args);
  va_end(args);
  return 0;
}
int on_printf_chk(int, const char* format, ...) {
  va_list args;
  va_start(args, format);
  say(format, args);
  va_end(args);
  return 0;
}
void on_exit() { _exit(said.find("not running") != said.npos ? 42 : 41); }

int leave_by_a_redirected_exit() {
  void* library = dlopen(simulator_path("sim").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return 40;
  const pci::Redirect redirects[] = {{"_Exit", reinterpret_cast<void*>(on_exit)},
                                     {"printf", reinterpret_cast<void*>(on_printf)},
                                     {"__printf_chk", reinterpret_cast<void*>(on_printf_chk)}};
  if (pci::redirect_imports(library, redirects) < 2) return 39;
  reinterpret_cast<void (*)()>(dlsym(library, "libttsim_exit"))();  // a mistake, as nothing runs yet
  return 38;
}

// Without a fault callback our simulator prints and leaves as ttsim does, so it stands in for ttsim here.
TEST(RedirectImports, ALibrarysExitAndOutputBecomeOurs) {
  SKIP_WITHOUT_SIMULATOR("sim");
  EXPECT_EXIT(_exit(leave_by_a_redirected_exit()), testing::ExitedWithCode(42), "");
}

TEST(RedirectImports, WhatALibraryDoesNotImportIsNotFound) {
  void* math = dlopen("libm.so.6", RTLD_NOW);
  ASSERT_TRUE(math);
  const pci::Redirect none[] = {{"libttsim_clock", reinterpret_cast<void*>(on_exit)}};
  EXPECT_EQ(pci::redirect_imports(math, none), 0);
}

}  // namespace
}  // namespace baretile
