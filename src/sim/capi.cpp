// The C interface of libttsim (its docs/libttsim_api.md), so that a driver opens this library exactly like that one,
// and baretile_sim_on_fault for tests that want a fault as a value instead of a dead process.
#include "sim/capi.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>

#include "sim/chip.h"
#include "sim/fault.h"

namespace baretile::sim {
namespace {

struct Library {
  std::unique_ptr<Chip> chip;
  HostMemory host;
  BaretileSimFaultCallback on_fault = nullptr;
  bool failed = false;  // a fault was handed to on_fault: the chip's state is no longer defined
};
// Never destroyed: a driver may hold its device in a static object that ends after ours would.
alignas(Library) std::byte library_storage[sizeof(Library)];
Library& library = *new (library_storage) Library;

void report(const Fault& f) {
  std::string text = f.message;
  if (library.chip && f.kind != FaultKind::configuration) text += fmt::format(" [{}]", library.chip->where());
  if (library.on_fault) {
    library.failed = true;
    library.on_fault(int(f.kind), text.c_str());
    return;
  }
  std::printf("%s: %s\n", std::string(name_of(f.kind)).c_str(), text.c_str());
  std::fflush(nullptr);
  std::_Exit(1);
}

Chip& chip(const char* function) {
  if (!library.chip)
    fault(FaultKind::configuration,
          fmt::format("{}: the simulator is not running; call libttsim_init first", function));
  if (library.failed)
    fault(FaultKind::configuration, fmt::format("{}: the chip has faulted; call libttsim_exit", function));
  return *library.chip;
}

template <class Action>
void guarded(Action action) {
  try {
    action();
  } catch (const Fault& f) {
    report(f);
  } catch (const std::exception& e) {
    report(Fault(FaultKind::internal, e.what()));
  }
}

}  // namespace
}  // namespace baretile::sim

using namespace baretile::sim;

extern "C" {

void libttsim_set_pci_dma_mem_callbacks(void (*read)(uint64_t, void*, uint32_t),
                                        void (*write)(uint64_t, const void*, uint32_t)) {
  guarded([&] {
    if (library.chip)
      fault(FaultKind::configuration, "libttsim_set_pci_dma_mem_callbacks: call it before libttsim_init");
    library.host = {read, write};
  });
}

void libttsim_init(void) {
  guarded([] {
    if (library.chip) fault(FaultKind::configuration, "libttsim_init: the simulator is already running");
    library.failed = false;
    library.chip = std::make_unique<Chip>(shape_from_environment(), library.host);
  });
}

void libttsim_exit(void) {
  guarded([] {
    if (!library.chip) fault(FaultKind::configuration, "libttsim_exit: the simulator is not running");
    library.chip.reset();
    library.failed = false;
  });
}

uint32_t libttsim_pci_config_rd32(uint32_t bus_device_function, uint32_t offset) {
  uint32_t value = ~0u;
  guarded([&] { value = chip("libttsim_pci_config_rd32").pcie().config_read(bus_device_function, offset); });
  return value;
}

void libttsim_pci_config_wr32(uint32_t bus_device_function, uint32_t offset, uint32_t data) {
  guarded([&] { chip("libttsim_pci_config_wr32").pcie().config_write(bus_device_function, offset, data); });
}

void libttsim_pci_mem_rd_bytes(uint64_t paddr, void* dst, uint32_t size) {
  guarded([&] { chip("libttsim_pci_mem_rd_bytes").pcie().bar_read(paddr, dst, size); });
}

void libttsim_pci_mem_wr_bytes(uint64_t paddr, const void* src, uint32_t size) {
  guarded([&] { chip("libttsim_pci_mem_wr_bytes").pcie().bar_write(paddr, src, size); });
}

void libttsim_tile_rd_bytes(uint32_t, uint32_t, uint64_t, void*, uint32_t) {
  guarded([] { fault(FaultKind::not_modelled, "libttsim_tile_rd_bytes: on Blackhole use libttsim_pci_mem_rd_bytes"); });
}

void libttsim_tile_wr_bytes(uint32_t, uint32_t, uint64_t, const void*, uint32_t) {
  guarded([] { fault(FaultKind::not_modelled, "libttsim_tile_wr_bytes: on Blackhole use libttsim_pci_mem_wr_bytes"); });
}

void libttsim_clock(uint32_t n_clocks) {
  guarded([&] {
    if (library.chip) chip("libttsim_clock").scheduler().advance(n_clocks);
  });
}

void baretile_sim_on_fault(BaretileSimFaultCallback callback) { library.on_fault = callback; }

const char* baretile_sim_describe(void) {
  static std::string text;
  guarded([] { text = chip("baretile_sim_describe").describe(); });
  return text.c_str();
}
}
