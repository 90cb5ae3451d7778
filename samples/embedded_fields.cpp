// An entity that carries its lock with it: it can be released from the entity alone, by code that
// never saw the handle, such as the last stage of a pipeline.

#include <iostream>
#include <string>
#include <utility>

#include "doclock/doclock.h"

struct Invoice {
  std::string id;
  double total = 0;
  bool sent = false;
  // Filled when the lock is granted. It is no part of the JSON form: the store keeps the lock
  // beside the document's own fields.
  doclock::LockFields lock;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Invoice, id, total, sent)

// Says which member it is.
template <>
struct doclock::EntityTraits<Invoice> : doclock::DefaultEntityTraits<Invoice> {
  static constexpr auto kLockFields = &Invoice::lock;
};

namespace {

Invoice TakeForSending(const doclock::LockingRepository<Invoice>& invoices, const std::string& id) {
  auto held = invoices.Lock(id);
  Invoice invoice = *held;
  // From here on the lease is not renewed, and the handle does not unlock when it goes out of
  // scope. The code that has the entity must finish before the end of the lease.
  held.Detach();
  return invoice;
}

void FinishSending(const doclock::LockingRepository<Invoice>& invoices, Invoice invoice) {
  invoice.sent = true;
  invoices.ReleaseLock(invoice);  // writes the entity and unlocks, if the lock is still this one
}

}  // namespace

int main() {
  const doclock::LockManager manager{doclock::OpenStore("memory:")};
  const doclock::LockingRepository<Invoice> invoices{manager, "invoices"};

  Invoice draft;
  draft.id = "2024-0017";
  draft.total = 99.5;
  invoices.Insert(draft);

  const Invoice invoice = TakeForSending(invoices, "2024-0017");
  std::cout << "still locked: " << (invoices.TryLock("2024-0017") ? "no" : "yes") << '\n';

  FinishSending(invoices, invoice);
  std::cout << "sent: " << std::boolalpha << (*invoices.Find("2024-0017"))->sent << '\n';

  // The copy's lock is over: releasing it once more is refused, and writes nothing.
  try {
    invoices.ReleaseLock(invoice);
    return 1;
  } catch (const doclock::LockException& error) {
    std::cout << "a second release: " << error.what() << '\n';
  }
}
