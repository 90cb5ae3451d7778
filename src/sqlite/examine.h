#pragma once

#include <filesystem>
#include <vector>

#include "doclock/store/store.h"
#include "sqlite/processes/process_coordinator.h"
#include "sqlite/tables/lock_reader.h"

namespace doclock::sqlite {

/// Looks at the file, its disk and its coordinator: see Store::Examine. @throws DatabaseError
std::vector<Finding> ExamineFile(Connection& connection, const ProcessCoordinator& coordinator,
                                 const std::filesystem::path& path);

}  // namespace doclock::sqlite
