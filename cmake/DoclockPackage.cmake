# Packages of the command alone, with its libraries inside: `cpack -G DEB` and `cpack -G TGZ` in the build folder.
# (Libraries and headers are installed by `cmake --install`.)

set(CPACK_PACKAGE_NAME doclock)
set(CPACK_PACKAGE_VENDOR "doclock")
# Debian wants a name and an address. A publisher of packages sets here the address for their users; mail to
# .invalid goes nowhere.
set(DOCLOCK_PACKAGE_CONTACT "doclock developers <doclock@packages.invalid>"
    CACHE STRING "Maintainer of the packages, as: Name <address>")
if(NOT DOCLOCK_PACKAGE_CONTACT MATCHES "^[^<>]+ <[^<> @]+@[^<> @]+>$")
  message(FATAL_ERROR "DOCLOCK_PACKAGE_CONTACT is \"${DOCLOCK_PACKAGE_CONTACT}\"; it must be: Name <address>")
endif()
set(CPACK_PACKAGE_CONTACT "${DOCLOCK_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Named locks and locked documents, over a database you already have")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_FILE_NAME "doclock-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_STRIP_FILES ON)
# One package of one component.
set(CPACK_COMPONENTS_ALL cli)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_SOURCE_DIR}/cmake/DoclockCpackOptions.cmake")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
include(CPack)
