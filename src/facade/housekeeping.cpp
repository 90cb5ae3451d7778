#include <stdexcept>

#include "doclock/detail/facade.h"
#include "engine/engine.h"

namespace doclock::detail {
namespace {

/// So many locks per call of the store: none of the calls holds up the others for long.
constexpr std::int64_t kPurgeBatch = 500;

}  // namespace

void EnsureIndexOf(const Binding& binding, std::vector<std::string> fields, bool unique) {
  if (fields.empty()) throw std::invalid_argument("EnsureIndex: no fields");
  for (const std::string& field : fields) (void)Filter{}.OrderBy(field);  // refuses bad names
  StoreOf(binding.engine).EnsureIndex(*binding.collection, IndexSpec{std::move(fields), unique});
}

std::int64_t PurgeAll(const Binding& binding) {
  const auto budget = binding.engine->options().call_budget.ms();
  std::int64_t total = 0;
  for (;;) {
    const std::int64_t count =
        StoreOf(binding.engine).Purge(*binding.collection, kPurgeBatch, budget);
    total += count;
    if (count < kPurgeBatch) return total;
  }
}

}  // namespace doclock::detail
