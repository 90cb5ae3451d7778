#include "locking/database.h"

#include "platform/fork_generation.h"

namespace doclock::locking {

Entry& Change::Copy() {
  if (!now) now = was != nullptr ? *was : Entry();
  return *now;
}

Raced::~Raced() = default;
Unit::~Unit() = default;

Database::Database(InChild in_child) noexcept
    : in_child_(in_child), generation_(platform::ForkGeneration()) {}
Database::~Database() = default;

bool Database::IsForked() const noexcept {
  return in_child_ == InChild::kRefused && generation_ != platform::ForkGeneration();
}

}  // namespace doclock::locking
