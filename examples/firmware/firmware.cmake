# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Board of the toolchain's processor: name in QEMU, clock, memories.
set(board_of_cortex-m3 mps2-an385 25 mps2.ld)
set(board_of_cortex-m4 mps2-an386 25 mps2.ld)
set(board_of_cortex-m55 mps3-an547 32 mps3.ld)
if(NOT board_of_${EXECUTORCH_CPU})
  message(FATAL_ERROR "no board is known for EXECUTORCH_CPU ${EXECUTORCH_CPU}")
endif()
list(GET board_of_${EXECUTORCH_CPU} 1 BOARD_MHZ)
list(GET board_of_${EXECUTORCH_CPU} 2 BOARD_SCRIPT)
set(BOARD_FOLDER ${CMAKE_CURRENT_LIST_DIR}/board)

add_library(board OBJECT ${BOARD_FOLDER}/startup.c ${BOARD_FOLDER}/memory_report.c ${BOARD_FOLDER}/semihosting.c
                         ${BOARD_FOLDER}/platform.cpp)
target_link_libraries(board PUBLIC executorch_headers)
target_compile_definitions(board PRIVATE BOARD_MHZ=${BOARD_MHZ})
target_compile_options(board PRIVATE -Wall -Wextra -Werror -ffunction-sections -fdata-sections $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions
                                     -fno-rtti> -fno-tree-loop-distribute-patterns)

# executorch_add_firmware(name PROGRAM file.pte SAMPLES file [KERNELS set] [MEMORY_HEADER file.h] [STACK_SIZE bytes]):
# <name>.elf, which runs the program on the samples and prints the outputs (see main.c). KERNELS, MEMORY_HEADER: see
# executorch_embed_program.
function(executorch_add_firmware name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "PROGRAM;SAMPLES;KERNELS;MEMORY_HEADER;STACK_SIZE" "")
  if(NOT ARG_STACK_SIZE)
    set(ARG_STACK_SIZE 24576)
  endif()
  get_filename_component(samples ${ARG_SAMPLES} ABSOLUTE)
  executorch_embed_program(LIB_NAME ${name}_program PROGRAM ${ARG_PROGRAM} NAME model KERNELS ${ARG_KERNELS}
                           MEMORY_HEADER ${ARG_MEMORY_HEADER})
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${name}_samples.c
       "__asm__(\".section .rodata.samples,\\\"a\\\"\\n.balign 16\\n.global samples_begin, samples_end\\n\"\n"
       "        \"samples_begin: .incbin \\\"${samples}\\\"\\nsamples_end:\\n.previous\\n\");\n")
  set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/${name}_samples.c PROPERTIES OBJECT_DEPENDS ${samples})
  add_executable(${name}.elf ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/main.c ${CMAKE_CURRENT_BINARY_DIR}/${name}_samples.c)
  target_compile_options(${name}.elf PRIVATE -Wall -Wextra -std=c99)
  target_link_libraries(${name}.elf PRIVATE ${name}_program board)
  target_link_options(${name}.elf PRIVATE -nostartfiles -L${BOARD_FOLDER} -T${BOARD_FOLDER}/${BOARD_SCRIPT}
                      LINKER:--defsym=STACK_SIZE=${ARG_STACK_SIZE} LINKER:-Map=${name}.map LINKER:--no-warn-rwx-segments)
  set_target_properties(${name}.elf PROPERTIES LINK_DEPENDS "${BOARD_FOLDER}/sections.ld;${BOARD_FOLDER}/${BOARD_SCRIPT}")
endfunction()
