#include "locking/database.h"

namespace doclock::locking {

Unit::~Unit() = default;
Database::~Database() = default;

}  // namespace doclock::locking
