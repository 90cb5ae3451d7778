# cmake -DRECORDS=<built_with.cpp, preprocessed> -DHEADER=<doclock_built_with.h> -P built_with.cmake
file(STRINGS "${RECORDS}" records REGEX "^ *DOCLOCK_RECORD ")
set(text "")
foreach(record IN LISTS records)
  string(REGEX REPLACE "^ *DOCLOCK_RECORD \"(.*)\" (\".*\")$" "DOCLOCK_BUILT_WITH(\\1, \\2)" check "${record}")
  string(APPEND text "${check};\n")
endforeach()
file(WRITE "${HEADER}" "${text}")
