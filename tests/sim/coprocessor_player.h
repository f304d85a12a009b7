// Plays a program of tests/diff/program.h on a bare Coprocessor: what three cores running the player's code would do.
#pragma once
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "diff/program.h"
#include "sim/fault.h"
#include "sim/tensix/coprocessor.h"

namespace baretile::diff {

class CoprocessorPlayer {
 public:
  CoprocessorPlayer() : l1_(static_cast<u8*>(std::aligned_alloc(64, kBytes)), &std::free), tensix_(l1_.get()) {
    std::memset(l1_.get(), 0, kBytes);
  }
  u8* l1() { return l1_.get(); }
  sim::Coprocessor& tensix() { return tensix_; }

  Outcome play(const Case& c) {
    for (const Patch& p : c.inputs) std::memcpy(l1_.get() + p.addr, p.bytes.data(), p.bytes.size());
    Outcome outcome;
    try {
      outcome.end = play_lists(c, outcome.message) ? Outcome::End::done : Outcome::End::stuck;
    } catch (const sim::Fault& f) {
      outcome.end = Outcome::End::fault;
      outcome.message = fmt::format("{}: {} [{}]", sim::name_of(f.kind), f.message, f.where);
    }
    outcome.output.assign(l1_.get() + c.out_addr, l1_.get() + c.out_addr + c.out_bytes);
    return outcome;
  }

 private:
  static constexpr u32 kBytes = 1536 * 1024;

  // One action; false if the core has to wait.
  bool act(u32 t, const Action& a) {
    const auto save = [&](u32 value) { std::memcpy(l1_.get() + a.index() * 16, &value, 4); };
    switch (a.act()) {
      case Act::push:
        if (!tensix_.can_push(t)) return false;
        tensix_.push(t, a.value);
        return true;
      case Act::config:
        tensix_.config_write(a.index(), a.value);
        return true;
      case Act::drain:
        return tensix_.idle(t);
      case Act::mop:
        tensix_.mop_config_write(t, a.index(), a.value);
        return true;
      case Act::semaphore:
        a.value & 1 ? tensix_.semaphore_get(a.index()) : tensix_.semaphore_post(a.index());
        return true;
      case Act::gpr:
        tensix_.gpr_write(t, a.index(), a.value);
        return true;
      case Act::save_config:
        save(tensix_.config_read(a.value));
        return true;
      case Act::save_gpr:
        save(tensix_.gpr_read(t, a.value));
        return true;
      case Act::save_semaphore:
        save(tensix_.semaphore_value(a.value));
        return true;
    }
    return false;
  }

  bool play_lists(const Case& c, std::string& waits) {
    size_t at[3] = {};
    for (;;) {
      bool progress = false, done = true;
      for (u32 t = 0; t < 3; t++) {
        const auto& actions = c.thread[t].actions();
        while (at[t] < actions.size() && act(t, actions[at[t]])) {
          progress = true;
          if (at[t]++ % 8 == 7) break;  // the player drains here; close enough: the units run before the next action
        }
      }
      progress |= tensix_.run();
      for (u32 t = 0; t < 3; t++) done &= at[t] == c.thread[t].actions().size() && tensix_.idle(t);
      if (done) return true;
      if (!progress) break;
    }
    for (u32 t = 0; t < 3; t++) waits += fmt::format("T{} {}; ", t, tensix_.describe(t));
    return false;
  }

  std::unique_ptr<u8, void (*)(void*)> l1_;
  sim::Coprocessor tensix_;
};

// The cases in order; a new coprocessor where the epoch of `reference` changes (or for every case without one).
inline std::vector<Outcome> play_on_coprocessor(std::span<const Case> cases, std::span<const Outcome> reference = {}) {
  std::vector<Outcome> outcomes;
  std::unique_ptr<CoprocessorPlayer> player;
  for (size_t i = 0; i < cases.size(); i++) {
    const bool fresh = i == 0 || reference.empty() || reference[i].epoch != reference[i - 1].epoch ||
                       outcomes.back().end != Outcome::End::done;
    if (fresh) player = std::make_unique<CoprocessorPlayer>();
    outcomes.push_back(player->play(cases[i]));
  }
  return outcomes;
}

}  // namespace baretile::diff
