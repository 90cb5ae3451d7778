# Read by cpack once for each kind of package. An archive holds all parts, and unpacks into a folder of its own; there is
# a .deb of each part, and it unpacks into the system.
if(CPACK_GENERATOR STREQUAL "TGZ")
  set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
else()
  set(CPACK_COMPONENTS_GROUPING IGNORE)
endif()
