# amct_add_library(<folder name> [LINK targets...] [LINK_PRIVATE targets...]): one static library per folder, of every .cpp in it.
# The target is amct_<name>; only the targets listed here may be included (tools/check_includes.py).
function(amct_add_library name)
  cmake_parse_arguments(ARG "" "" "LINK;LINK_PRIVATE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(amct_${name} STATIC ${sources})
  target_link_libraries(amct_${name} PUBLIC ${ARG_LINK} PRIVATE amct_options ${ARG_LINK_PRIVATE})
  target_include_directories(amct_${name} PUBLIC ${CMAKE_SOURCE_DIR})
endfunction()

# amct_add_test(<folder name> [LINK targets...]): one GoogleTest program per folder of tests/.
function(amct_add_test name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_executable(test_${name} ${sources})
  target_link_libraries(test_${name} PRIVATE amct_options ${ARG_LINK} GTest::gtest_main)
  target_compile_definitions(test_${name} PRIVATE
    AMCT_TEST_DIR="${CMAKE_SOURCE_DIR}/tests" AMCT_BUILD_DIR="${CMAKE_BINARY_DIR}")
  gtest_discover_tests(test_${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS unit TIMEOUT 300
    # Where ONNX Runtime is found unless the user's environment names another one.
    ENVIRONMENT_MODIFICATION "PATH=path_list_prepend:${CMAKE_SOURCE_DIR}/.venv/bin")
endfunction()
