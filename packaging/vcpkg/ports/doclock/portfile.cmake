# An overlay port: it builds the sources that this folder is a part of. One for vcpkg's registry fetches a release.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS STORES
  FEATURES
    sqlite      DOCLOCK_WITH_SQLITE
    mongodb     DOCLOCK_WITH_MONGODB
    postgresql  DOCLOCK_WITH_POSTGRESQL)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${STORES}
    -DDOCLOCK_BUILD_TESTS=OFF
    -DDOCLOCK_BUILD_SAMPLES=OFF
    -DDOCLOCK_BUILD_BENCHMARKS=OFF
    -DDOCLOCK_BUILD_CLI=OFF
    -DDOCLOCK_STORE_MODULES=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/doclock)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE
  "${CURRENT_PACKAGES_DIR}/debug/include"
  "${CURRENT_PACKAGES_DIR}/debug/share"
  "${CURRENT_PACKAGES_DIR}/share/doc")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
