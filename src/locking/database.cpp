#include "locking/database.h"

namespace doclock::locking {

Raced::~Raced() = default;
Unit::~Unit() = default;
Database::~Database() = default;

}  // namespace doclock::locking
