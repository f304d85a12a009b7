// Products shared out over a rectangle of the grid, a team. A block of output tiles belongs to one tile of the team:
// tile (r, c) makes blocks (r, c), (r, c + columns), … At each step of k the left operand's block serves a whole row of
// the team and the right one's a column: one tile of the row (column), the next one for the next step, reads it from
// DRAM and multicasts it to the others. All tiles take part in all rounds, so that slots of the input ring are at the
// same place in all of them.
#pragma once
#include "baretile/isa/grid.h"
#include "noc.h"

namespace baretile::kernel {

struct Team {
  u32 rows = mailbox().launch.team_rows, columns = mailbox().launch.team_columns;
  u32 row = mailbox().info.row, column = mailbox().info.column;  // of this tile
};

// body(batch, row, column, mine) for each block of this tile; in a round that has none for it another one stands for it
// that is not `mine`.
template <class Body>
inline void team_blocks(u32 batches, u32 rows, u32 columns, Body body) {
  const Team team;
  for (u32 b = 0; b < batches; ++b)
    for (u32 row = team.row; row - team.row < rows; row += team.rows)
      for (u32 column = team.column; column - team.column < columns; column += team.columns)
        body(b, least(row, rows - 1), least(column, columns - 1), row < rows && column < columns);
}

// NCRISC's end of the input ring in a tile of a team; read() is for pages that are its own.
template <u32 slot>
class TeamReader : public Reader<slot> {
 public:
  TeamReader() {
    Cast::prepare(kNocMulticast);
    Cast::at(kNiuTag) = kCastId << 10;
    Cast::at(kNiuExclude) = 0;
    Post::prepare(kNocAtomicPosted);
    Post::at(kNiuLen) = kNocAtomicIncrement32;
    Post::at(kNiuData) = 1;
    Post::at(kNiuRetCoord) = Port::here();
    Post::at(kNiuRetLo) = abi::kMailbox + offsetof(abi::Mailbox, scratch) + 16;  // simulators answer even so
  }

  // A slot for each step and operand, the left one first. What is asked for is sent on three positions later and handed
  // to T0 two later again. A tile promises its slot for a step only when it has what came kTeamSteps steps before,
  // which keeps the words of different steps apart.
  template <class... Operands>
  void product(u32 steps, const Operands&... operands) {
    constexpr u32 kCount = sizeof...(Operands), kSent = 3, kHandedOn = abi::kTeamAhead, kBytes[] = {Operands::kBytes...};
    static_assert(kCount >= 2 && kCount <= abi::kTeamOperands && kHandedOn < abi::kTeamSteps * kCount);
    this->flush();
    const u32 positions = kCount * steps;
    u32 slots[4];  // by position
    const auto at = [&](u32 p) { return Position{p % kCount, step_ + p / kCount}; };
    for (u32 p = 0; p < positions + kHandedOn; ++p) {
      if (p < positions) {
        const u32 address = slots[p % 4] = this->ring_.reserve();
        if (sends(at(p))) {
          use_id(kFirstId + p % 4);
          u32 n = 0;
          (void)((n++ == p % kCount && (this->request(operands, p / kCount, address), true)) || ...);
        } else {
          promise(at(p));
        }
      }
      if (const u32 q = p - kSent; q < positions && sends(at(q)))
        send(at(q), slots[q % 4], kBytes[q % kCount], kFirstId + q % 4);
      if (p >= kHandedOn) hand_on(at(p - kHandedOn));
    }
    step_ += steps;
    use_id(0);
  }
  // Instead of read() for a block that is not this tile's: its ring stays in step with the others.
  void skip(u32 slots) {
    for (; slots != 0; --slots) this->ring_.reserve(), this->ring_.push(1);
  }
  // Waits for all that was read or sent and hands it on.
  void finish() {
    Reader<slot>::finish();
    all_arrived();
    for (u32 n = 0; n < abi::kTeamWords; ++n) mailbox().team[n].arrived = 0;
  }

 private:
  using typename Reader<slot>::Port;
  using Cast = Niu<0, 1>;
  using Post = Niu<0, 2>;
  static constexpr u32 kFirstId = 4, kCastId = 15;  // transaction ids; the base has 0 to 3

  // An operand and the number of a step in the launch. Operand 0, the left one, is shared by a row of the team.
  struct Position {
    u32 operand, step;
    u32 word() const { return operand * abi::kTeamSteps + step % abi::kTeamSteps; }
  };
  u32 sharers(Position p) const { return p.operand == 0 ? team_.columns : team_.rows; }
  u32 sender(Position p) const { return p.step % sharers(p); }
  bool sends(Position p) const { return sender(p) == (p.operand == 0 ? team_.column : team_.row); }
  u32 coord(Position p, u32 sharer) const {
    return p.operand == 0 ? noc_coord(kTensixColumns[sharer], kTensixRow0 + team_.row)
                          : noc_coord(kTensixColumns[team_.column], kTensixRow0 + sharer);
  }
  static u32 address_of(volatile u32& word) { return reinterpret_cast<u32>(&word); }

  static void use_id(u32 id) {
    Port::wait_idle();
    Port::at(kNiuTag) = id << 10;
  }
  // Tells the sender that it may write here.
  void promise(Position p) {
    Post::wait_idle();
    Post::at(kNiuTargLo) = address_of(mailbox().team[p.word()].ready);
    Post::at(kNiuTargCoord) = coord(p, sender(p));
    Post::at(kNiuCmd) = 1;
  }
  void send(Position p, u32 address, u32 bytes, u32 id) {
    volatile u32 &ready = mailbox().team[p.word()].ready, &arrived = mailbox().team[p.word()].arrived;
    Port::wait_idle();  // a counter read may overtake a request
    wait_until<Core::ncrisc, abi::waypoint("READ")>([&] { return Port::counter(kNiuOutstanding + 4 * id) == 0; });
    wait_until<Core::ncrisc, abi::waypoint("REDY")>([&] { return ready == sharers(p) - 1; });
    ready = 0;
    multicast(p, address, bytes);
    all_arrived();  // writes may overtake each other
    arrived = p.step + 1;
    (void)arrived;  // read back before the fence, it is in L1
    fence();
    multicast(p, address_of(arrived), 4);
  }
  void hand_on(Position p) {
    volatile u32& arrived = mailbox().team[p.word()].arrived;
    wait_until<Core::ncrisc, abi::waypoint("SHRD")>([&] { return arrived == p.step + 1; });
    this->ring_.push(1);
  }
  // To the same address of the others.
  void multicast(Position p, u32 address, u32 bytes) {
    const u32 last = sharers(p) - 1;
    if (last == 0) return;
    for (u32 part; bytes != 0; address += part, bytes -= part) {
      part = least(bytes, kNocMaxPacket);
      Cast::wait_idle();
      Cast::at(kNiuTargLo) = address, Cast::at(kNiuRetLo) = address;
      Cast::at(kNiuRetCoord) = coord(p, last) | coord(p, 0) << 12;
      Cast::at(kNiuLen) = part;
      Cast::at(kNiuCmd) = 1;
      acknowledged_ += last;
    }
  }
  void all_arrived() {
    wait_until<Core::ncrisc, abi::waypoint("CAST")>([&] { return Cast::counter(kNiuWriteAcks) == acknowledged_; });
  }

  Team team_;
  u32 step_ = 0, acknowledged_ = Cast::counter(kNiuWriteAcks);
};

}  // namespace baretile::kernel
