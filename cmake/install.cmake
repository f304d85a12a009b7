# cmake --install: libraries, public headers, the command with its manual page, find_package(baretile) and pkg-config. The tree may be moved
# afterwards. `cpack` makes a Debian package of the same.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/baretile)
set_target_properties(baretile_static PROPERTIES EXPORT_NAME static)
install(TARGETS baretile baretile_static EXPORT baretileTargets)
install(TARGETS baretile_sim LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/baretile DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT baretileTargets NAMESPACE baretile:: DESTINATION ${package_dir})
write_basic_package_version_file(baretileConfigVersion.cmake COMPATIBILITY SameMinorVersion)
file(WRITE ${CMAKE_BINARY_DIR}/baretileConfig.cmake "include(\${CMAKE_CURRENT_LIST_DIR}/baretileTargets.cmake)\n")
install(FILES ${CMAKE_BINARY_DIR}/baretileConfig.cmake ${CMAKE_BINARY_DIR}/baretileConfigVersion.cmake DESTINATION ${package_dir})

# The prefix is found from where the file lies: as many folders up as its own path has.
string(REGEX REPLACE "[^/]+" ".." up ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
list(JOIN STATIC_NEEDS " -l" static_needs)
file(CONFIGURE OUTPUT baretile.pc @ONLY CONTENT [[prefix=${pcfiledir}/@up@
Name: baretile
Description: @PROJECT_DESCRIPTION@
Version: @PROJECT_VERSION@
Cflags: -I${prefix}/@CMAKE_INSTALL_INCLUDEDIR@
Libs: -L${prefix}/@CMAKE_INSTALL_LIBDIR@ -lbaretile
Libs.private: -l@static_needs@ -lstdc++ -lm
]])
install(FILES ${CMAKE_BINARY_DIR}/baretile.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET baretile_cli)
  install(TARGETS baretile_cli)
  # The manual page and the completion come from the commands' own help.
  set(pages ${CMAKE_BINARY_DIR}/pages)
  file(MAKE_DIRECTORY ${pages})
  add_custom_command(OUTPUT ${pages}/baretile.1 ${pages}/baretile.bash
                     COMMAND baretile_cli help --man > ${pages}/baretile.1
                     COMMAND baretile_cli help --completion > ${pages}/baretile.bash
                     DEPENDS baretile_cli)
  add_custom_target(baretile_pages ALL DEPENDS ${pages}/baretile.1 ${pages}/baretile.bash)
  install(FILES ${pages}/baretile.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${pages}/baretile.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME baretile)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "baretile <baretile@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # libfmt, libpcre2, libssl and so on, as dpkg-shlibdeps finds them
# What others' packages depend on; CPack's own would ask for a version of the simulator, which is opened by its path.
get_target_property(soversion baretile SOVERSION)
file(WRITE ${CMAKE_BINARY_DIR}/debian/shlibs "libbaretile ${soversion} baretile (>= ${PROJECT_VERSION})\n")
file(WRITE ${CMAKE_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/debian/shlibs ${CMAKE_BINARY_DIR}/debian/triggers)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "clang (>= 1:14), lld (>= 1:14)")  # kernels are compiled where they run
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS curl)                           # for `baretile chip ttsim`
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Libraries (shared and static), headers, the command baretile, and a simulator of
 the chip that is used where there is no card.")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/baretile RENAME copyright)
include(CPack)
