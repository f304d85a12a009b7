// What libbaretile_sim.so exports. The libttsim_* functions are libttsim's; see its docs/libttsim_api.md.
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void libttsim_set_pci_dma_mem_callbacks(void (*read)(uint64_t paddr, void* dst, uint32_t size),
                                        void (*write)(uint64_t paddr, const void* src, uint32_t size));
void libttsim_init(void);
void libttsim_exit(void);
uint32_t libttsim_pci_config_rd32(uint32_t bus_device_function, uint32_t offset);
void libttsim_pci_config_wr32(uint32_t bus_device_function, uint32_t offset, uint32_t data);
void libttsim_pci_mem_rd_bytes(uint64_t paddr, void* dst, uint32_t size);
void libttsim_pci_mem_wr_bytes(uint64_t paddr, const void* src, uint32_t size);
void libttsim_tile_rd_bytes(uint32_t x, uint32_t y, uint64_t addr, void* dst, uint32_t size);  // refused, as on ttsim
void libttsim_tile_wr_bytes(uint32_t x, uint32_t y, uint64_t addr, const void* src, uint32_t size);
void libttsim_clock(uint32_t n_clocks);

// Beyond libttsim. With a callback, a fault is handed to it (kind: enum FaultKind of fault.h) instead of ending the
// process; the call in progress returns, and every later one but libttsim_exit is a fault too.
typedef void (*BaretileSimFaultCallback)(int kind, const char* message);
void baretile_sim_on_fault(BaretileSimFaultCallback callback);
// A line for every core that is not held in reset: its pc and what it does or waits for. Valid until the next call.
const char* baretile_sim_describe(void);

#ifdef __cplusplus
}
#endif
