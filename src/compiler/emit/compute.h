// The five functions of a compute kernel as text. T1 comes first: it decides where in Dst everything lies.
#pragma once
#include "compiler/emit/plan.h"

namespace baretile::compiler {

// The headers that kernels begin with, and those of the operations in the text.
std::string operation_headers(const std::string& text);

class ComputeEmitter {
 public:
  // `ahead`: what is made of reductions alone is made once, before the tiles that need it, and takes slots of its own.
  explicit ComputeEmitter(const Plan& plan, bool ahead = false)
      : plan_(plan), kernel_(plan.kernel()), padding_(zero_padding(plan.spec)), ahead_(ahead) {}

  std::string text();  // throws Unsupported when Dst does not suffice
  // What becomes of tile i, j in Dst rows 0 to 63, which is the only load, there. Throws KernelTooLarge if that takes
  // more rows. In custom/neighbours.cpp.
  Code on_tile();

 private:
  // What one core does for a tile of a stage, and around the loop over a stage's tiles.
  using StageBody = std::function<void(Code&, const Stage&)>;
  struct Bodies {
    StageBody tile, before = {}, after = {};
    std::string idle = "return";  // what a team's tile does in a round that has no block for it
  };

  // Common to all cores: compute.cpp
  void for_items(Code& code, const Bodies& bodies) const;
  void for_block(Code& code, bool unrolled, const std::function<void(Code&)>& body) const;
  Code index_lines(const Code& body) const;
  std::string column(const std::string& n) const;
  std::string edge(char axis) const;  // a condition, empty when it always holds
  void if_edge(Code& code, char axis, const std::string& statement) const;
  std::string row_groups() const;  // of split matrices in this tile
  std::string page(const Access& access, std::string_view row, std::string_view col) const;

  // The cores around T1: data_cores.cpp
  void reader(Code& code) const;    // NCRISC
  void unpacker(Code& code) const;  // T0
  void packer(Code& code) const;    // T2
  void writer(Code& code) const;    // BRISC
  void read_product(Code& code, const Product& product) const;
  void read_groups(Code& code, const Product& product) const;
  void unpack_product(Code& code, const Product& product) const;
  void unpack_groups(Code& code, const Product& product) const;
  void unpack_load(Code& code, const Stage& stage, size_t n) const;
  void pack_output(Code& code, u32 output) const;

  // T1: math.cpp
  void math(Code& code);
  void math_tile(Code& code, const Stage& stage);
  void run_product(Code& code, const Product& product);
  void run_groups(Code& code, const Product& product, u32 base) const;
  void bring_loads(Code& code, const Stage& stage);
  void fold(Code& code, const Stage& stage);
  void make_ahead(Code& code, const std::vector<u32>& reduces);
  void make_outputs(Code& code, const Stage& stage);
  void mask_output(Code& code, const Output& output, const Place& place) const;
  u32 add_value(ChunkProgram& program, std::map<u32, u32>& made, u32 step) const;
  bool grouped(const Product& p) const { return by_groups(kernel_, p.left); }
  Place new_rows(u32 rows);
  Place new_slot() { return new_rows(plan_.slot_rows); }

  const Plan& plan_;
  const ComputeKernel& kernel_;
  const Padding padding_;
  const bool ahead_;
  u32 next_row_ = 0, kept_rows_ = 0;  // kept: of what outlives a stage
  bool several_products_ = false;     // recorded in turn, each before it runs
  // By step: slots of reductions and what is made of them ahead, and of the current stage's loads and contractions.
  std::map<u32, Place> place_of_;
  std::map<const Stage*, std::map<u32, Place>> load_place_;
  std::map<u32, std::vector<Place>> output_place_;  // by output: a slot, or those of a split page's high and low parts
};

}  // namespace baretile::compiler
