# Build-wide options; the presets in CMakePresets.json set them.
option(AMCT_BUILD_TESTS "Build the unit tests" ON)
option(AMCT_BUILD_BENCHMARKS "Build the benchmarks" OFF)
option(AMCT_BUILD_FUZZERS "Build the libFuzzer targets (Clang only)" OFF)
option(AMCT_ASSERTS "Check AMCT_ASSERT also in optimised builds" OFF)
set(AMCT_SANITIZE "" CACHE STRING "Comma-separated list for -fsanitize, for example address,undefined")
set(AMCT_ORT_INCLUDE_DIR "${CMAKE_SOURCE_DIR}/build/onnxruntime-headers/usr/include/onnxruntime"
    CACHE PATH "Folder that holds onnxruntime_cxx_api.h (tools/setup.sh unpacks it)")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

add_library(amct_options INTERFACE)
target_compile_options(amct_options INTERFACE -Wall -Wextra -Wconversion -Werror)
# g++ 12 warns of impossible overlaps inside std::string (GCC bug 105329).
target_compile_options(amct_options INTERFACE
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
target_include_directories(amct_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_definitions(amct_options INTERFACE AMCT_VERSION="${PROJECT_VERSION}")
if(AMCT_ASSERTS)
  target_compile_definitions(amct_options INTERFACE AMCT_ENABLE_ASSERTS)
endif()
if(AMCT_SANITIZE)
  add_compile_options(-fsanitize=${AMCT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${AMCT_SANITIZE})
endif()
if(AMCT_BUILD_FUZZERS)
  # Coverage for libFuzzer in the libraries too.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
