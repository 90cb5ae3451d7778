# Read by cpack once for each kind of package. An archive unpacks into a folder of its own; a .deb into the system.
if(CPACK_GENERATOR STREQUAL "TGZ")
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
endif()
