#include "locking/database.h"

#include <utility>

#include "platform/fork_generation.h"

namespace doclock::locking {

Entry& Change::Edit() {
  if (!now) now = was != nullptr ? *was : Entry();
  return *now;
}

void Change::RefuseBy(std::string index) {
  outcome = OpStatus::kConflict;
  detail = std::make_unique<OpDetail>();
  detail->index = std::move(index);
}

void Change::Fail(OpStatus result, Errc code, std::string text) {
  outcome = result;
  detail = std::make_unique<OpDetail>();
  detail->code = code;
  detail->message = std::move(text);
}

Kept::~Kept() = default;
Unit::~Unit() = default;

Database::Database(InChild in_child) noexcept
    : in_child_(in_child), generation_(platform::ForkGeneration()) {}
Database::~Database() = default;

bool Database::IsForked() const noexcept {
  return in_child_ == InChild::kRefused && generation_ != platform::ForkGeneration();
}

}  // namespace doclock::locking
