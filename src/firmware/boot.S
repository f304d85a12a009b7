# Reset entry of the five cores: core i (order of isa::Core) starts at address 4 * i, with nothing set up but the PC.
# A simulator keeps registers and local RAM over a reset, so nothing here or later relies on their being zero.
  .section .start, "ax"
  .globl _start
_start:
  j brisc
  j ncrisc
  j trisc0
  j trisc1
  j trisc2

# abi::kPositionTrap: the host overwrites a hung kernel with jumps to here that leave the way back in t6.
  addi t6, t6, -4
  sw t6, 0(tp)
  j .

# abi::kInvalidateCaches: where the host restarts BRISC, so that the other cores see those jumps.
  li t0, 0xFFEF02E4  # RISCV_IC_INVALIDATE_InvalidateAll: config word 185
  li t1, 0x1F
  sw t1, 0(t0)
  j .

# cfg0 (CSRs.md): DisLowCash and DisTriscCache, the state in which all published measurements of this chip were taken. The branch
# predictor is off around the change (DisBp): a predicted branch near it can misfire.
  .macro core name, index, stack
\name:
  li sp, \stack
  li tp, 0x6380 + 32 * \index  # its abi::CoreDebug
  li t0, 2
  li t1, 0x40008
  csrrs zero, 0x7c0, t0
  csrrs zero, 0x7c0, t1
  csrrc zero, 0x7c0, t0
  j \name\()_main
  .endm
  core brisc, 0, 0xFFB01FF0
  core ncrisc, 1, 0xFFB01FF0
  core trisc0, 2, 0xFFB00FF0
  core trisc1, 3, 0xFFB00FF0
  core trisc2, 4, 0xFFB00FF0
