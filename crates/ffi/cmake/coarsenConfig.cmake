# find_package(coarsen): the libraries coarsen::coarsen, which is shared, and coarsen::static.
find_package(Threads REQUIRED)
get_filename_component(_coarsen_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET coarsen::coarsen)
  add_library(coarsen::coarsen SHARED IMPORTED)
  set_target_properties(coarsen::coarsen PROPERTIES
    IMPORTED_LOCATION "${_coarsen_prefix}/lib/libcoarsen_c${CMAKE_SHARED_LIBRARY_SUFFIX}"
    IMPORTED_NO_SONAME TRUE
    INTERFACE_INCLUDE_DIRECTORIES "${_coarsen_prefix}/include")
  add_library(coarsen::static STATIC IMPORTED)
  set_target_properties(coarsen::static PROPERTIES
    IMPORTED_LOCATION "${_coarsen_prefix}/lib/libcoarsen_c.a"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m"
    INTERFACE_INCLUDE_DIRECTORIES "${_coarsen_prefix}/include")
endif()

unset(_coarsen_prefix)
