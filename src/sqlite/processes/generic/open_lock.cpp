#include "sqlite/processes/open_lock.h"

namespace doclock::sqlite {

OpenLock::OpenLock(const std::filesystem::path&) {}

OpenLock::~OpenLock() = default;

void OpenLock::Release() noexcept {}

}  // namespace doclock::sqlite
