# Device code: firmware built for RISC-V with clang and lld when the library is built, and the headers that kernels include, embedded
# as they are so that an installed library compiles kernels without its source tree.
set(DEVICE_CLANG_VERSIONS 19 18 17 16 15 14)
list(TRANSFORM DEVICE_CLANG_VERSIONS PREPEND "clang-" OUTPUT_VARIABLE device_clang_names)
find_program(BARETILE_CLANG NAMES clang ${device_clang_names} DOC "clang 14 or newer, for RISC-V device code")
if(BARETILE_CLANG)
  string(REGEX MATCH "-[0-9]+$" device_clang_suffix "${BARETILE_CLANG}")
endif()
list(TRANSFORM DEVICE_CLANG_VERSIONS PREPEND "ld.lld-" OUTPUT_VARIABLE device_lld_names)
find_program(BARETILE_LLD NAMES ld.lld${device_clang_suffix} ld.lld ${device_lld_names} DOC "lld, for RISC-V device code")
if(NOT BARETILE_CLANG OR NOT BARETILE_LLD)
  message(FATAL_ERROR "Device code needs clang and lld, 14 or newer: apt-get install clang lld")
endif()

set(DEVICE_FLAGS --target=riscv32-unknown-elf -march=rv32im_zba_zbb -mabi=ilp32 -O2 -mcmodel=medany -mno-relax -ffreestanding -fno-builtin
                 -nostdlib -fno-jump-tables -fno-exceptions -fno-rtti -std=c++20 -Wall -Wextra -Werror)

# baretile_embed_device_code(target): adds the firmware image and the kernel headers to `target` as read-only data.
function(baretile_embed_device_code target)
  set(out ${CMAKE_BINARY_DIR}/device)
  file(MAKE_DIRECTORY ${out})
  set(firmware ${CMAKE_SOURCE_DIR}/src/firmware)
  set(include ${CMAKE_SOURCE_DIR}/include)
  set(sources ${firmware}/boot.S ${firmware}/worker.cc ${firmware}/follower.cc ${firmware}/dispatch.cc)
  file(GLOB isa CONFIGURE_DEPENDS RELATIVE ${include} ${include}/baretile/isa/*)
  list(TRANSFORM isa PREPEND ${include}/ OUTPUT_VARIABLE isa_files)
  set(abi_files ${include}/baretile/bits.h ${include}/baretile/abi.h)
  add_custom_command(
    OUTPUT ${out}/firmware.bin
    COMMAND ${BARETILE_CLANG} ${DEVICE_FLAGS} -I${include} -I${firmware} --ld-path=${BARETILE_LLD} -Wl,-T,${firmware}/layout.ld
            -Wl,--oformat=binary -o ${out}/firmware.bin ${sources}
    DEPENDS ${sources} ${firmware}/device.h ${firmware}/layout.ld ${isa_files} ${abi_files}
    VERBATIM)

  # Each file under the path that kernels include it by.
  file(GLOB_RECURSE kernels CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/kernels/*)
  list(TRANSFORM kernels PREPEND ${CMAKE_SOURCE_DIR}/ OUTPUT_VARIABLE kernel_files)
  set(names baretile/bits.h baretile/abi.h ${isa} ${kernels} kernel.ld)
  set(files ${abi_files} ${isa_files} ${kernel_files} ${CMAKE_SOURCE_DIR}/src/compiler/build/kernel.ld)
  set(data "")
  set(table "")
  foreach(name file IN ZIP_LISTS names files)
    string(MAKE_C_IDENTIFIER ${name} id)
    string(APPEND data "n_${id}: .asciz \"${name}\"\nb_${id}: .incbin \"${file}\"\ne_${id}: .byte 0\n")
    string(APPEND table "  .quad n_${id}, b_${id}, e_${id} - b_${id}\n")
  endforeach()
  file(CONFIGURE OUTPUT ${out}/embedded.S @ONLY CONTENT "  .section .rodata
  .balign 16
  .globl baretile_firmware_begin, baretile_firmware_end
  .hidden baretile_firmware_begin, baretile_firmware_end
baretile_firmware_begin: .incbin \"${out}/firmware.bin\"
baretile_firmware_end: .byte 0
${data}
  .section .data.rel.ro, \"aw\"
  .balign 8
  .globl baretile_embedded_files
  .hidden baretile_embedded_files
baretile_embedded_files:
${table}  .quad 0, 0, 0
  .section .note.GNU-stack, \"\", %progbits
")
  set_source_files_properties(${out}/embedded.S PROPERTIES OBJECT_DEPENDS "${out}/firmware.bin;${files}")
  target_sources(${target} PRIVATE ${out}/embedded.S)
endfunction()

# baretile_embed_text(target symbol=file …): files of the source tree as null-terminated text under a symbol.
function(baretile_embed_text target)
  set(text "  .section .rodata\n")
  set(files "")
  foreach(pair ${ARGN})
    string(REPLACE "=" ";" pair ${pair})
    list(GET pair 0 symbol)
    list(GET pair 1 file)
    string(APPEND text "  .globl ${symbol}\n  .hidden ${symbol}\n${symbol}: .incbin \"${CMAKE_SOURCE_DIR}/${file}\"\n  .byte 0\n")
    list(APPEND files ${CMAKE_SOURCE_DIR}/${file})
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/device/text.S @ONLY CONTENT "${text}  .section .note.GNU-stack, \"\", %progbits\n")
  set_source_files_properties(${CMAKE_BINARY_DIR}/device/text.S PROPERTIES OBJECT_DEPENDS "${files}")
  target_sources(${target} PRIVATE ${CMAKE_BINARY_DIR}/device/text.S)
endfunction()
