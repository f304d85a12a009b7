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

# cfg0 (CSRs.md): DisLowCash and DisTriscCache, the state in which all published measurements of this chip were taken. The branch
# predictor is off around the change (DisBp): a predicted branch near it can misfire.
  .macro core name, stack
\name:
  li sp, \stack
  li t0, 2
  li t1, 0x40008
  csrrs zero, 0x7c0, t0
  csrrs zero, 0x7c0, t1
  csrrc zero, 0x7c0, t0
  j \name\()_main
  .endm
  core brisc, 0xFFB01FF0
  core ncrisc, 0xFFB01FF0
  core trisc0, 0xFFB00FF0
  core trisc1, 0xFFB00FF0
  core trisc2, 0xFFB00FF0
