#include "locking/database.h"

#include <utility>

#include "platform/fork_generation.h"

namespace doclock::locking {

Entry& Document::Edit() {
  if (!decision.entry) decision.entry = loaded.entry != nullptr ? *loaded.entry : Entry();
  return *decision.entry;
}

void Outcome::RefuseBy(std::string index) {
  status = OpStatus::kConflict;
  detail = std::make_unique<OpDetail>();
  detail->index = std::move(index);
}

void Outcome::Fail(OpStatus result, Errc code, std::string text) {
  status = result;
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
