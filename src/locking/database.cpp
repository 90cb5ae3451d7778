#include "locking/database.h"

namespace doclock::locking {

Entry& Change::Copy() {
  if (!now) now = was != nullptr ? *was : Entry();
  return *now;
}

Raced::~Raced() = default;
Unit::~Unit() = default;
Database::~Database() = default;

}  // namespace doclock::locking
