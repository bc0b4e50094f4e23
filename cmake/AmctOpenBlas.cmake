# Target amct_openblas: OpenBLAS with LAPACK. A current one is wanted: Debian 12's 0.3.21 does not know newer
# Intel processors and is several times slower there. AMCT_OPENBLAS_ROOT (a folder with include/ and lib/) names
# one; otherwise the wheel scipy-openblas32 in .venv serves, whose symbols begin with scipy_.
set(AMCT_OPENBLAS_ROOT "" CACHE PATH "Folder of OpenBLAS: include/cblas.h, include/lapacke.h, lib/lib*openblas*.so")
set(openblas_root "${AMCT_OPENBLAS_ROOT}")
if(NOT openblas_root)
  execute_process(
    COMMAND ${CMAKE_SOURCE_DIR}/.venv/bin/python -c
      "import importlib.util as u, os; print(os.path.dirname(u.find_spec('scipy_openblas32').origin), end='')"
    OUTPUT_VARIABLE openblas_root ERROR_QUIET)
endif()
find_path(AMCT_OPENBLAS_INCLUDE lapacke.h HINTS "${openblas_root}/include" NO_DEFAULT_PATH NO_CACHE)
find_library(AMCT_OPENBLAS_LIBRARY NAMES scipy_openblas openblas HINTS "${openblas_root}/lib"
             NO_DEFAULT_PATH NO_CACHE)
if(NOT AMCT_OPENBLAS_INCLUDE OR NOT AMCT_OPENBLAS_LIBRARY)
  message(FATAL_ERROR "OpenBLAS was not found in '${openblas_root}'. Run tools/setup.sh, which installs the package "
                      "scipy-openblas32 into .venv, or set AMCT_OPENBLAS_ROOT.")
endif()
set(openblas_prefix "")
if(AMCT_OPENBLAS_LIBRARY MATCHES "scipy_openblas")
  set(openblas_prefix "scipy_")
endif()
# CMake adds the folder of a shared library to the RPATH of what is built with it.
add_library(amct_openblas SHARED IMPORTED GLOBAL)
set_target_properties(amct_openblas PROPERTIES IMPORTED_LOCATION "${AMCT_OPENBLAS_LIBRARY}" IMPORTED_NO_SONAME TRUE)
target_include_directories(amct_openblas SYSTEM INTERFACE "${AMCT_OPENBLAS_INCLUDE}")
target_compile_definitions(amct_openblas INTERFACE AMCT_BLAS_PREFIX=${openblas_prefix})
# Programs that decompose nothing do not load it.
target_link_options(amct_openblas INTERFACE LINKER:--as-needed)
