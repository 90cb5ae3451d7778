// A process of a history: locks, works, writes and reads for a while, and records what it asked for
// and what it was told. See scripts/histories.sh.

#include <iostream>
#include <thread>

#include "histories/worker/broken_store.h"
#include "histories/worker/queue_watch.h"
#include "histories/worker/transfers.h"
#include "histories/worker/workload.h"

namespace doclock::histories {
namespace {

using namespace std::chrono_literals;

/// The store, which may be away at first.
std::shared_ptr<Store> Open(const Settings& settings, Record& record) {
  for (int tries = 0;; ++tries) {
    try {
      auto store = OpenStore(settings.store);
      if (!settings.broken.empty()) store = Break(std::move(store), settings.broken);
      return settings.queue ? WatchQueue(std::move(store), record) : store;
    } catch (const StoreException&) {
      if (tries == 100) throw;
      std::this_thread::sleep_for(200ms);
    }
  }
}

Client OpenClient(const std::shared_ptr<Store>& store, const Settings& settings) {
  for (int tries = 0;; ++tries) {
    try {
      return {store, settings};
    } catch (const StoreException&) {
      if (tries == 100) throw;
      std::this_thread::sleep_for(200ms);
    }
  }
}

void Finish(const Settings& settings, Record& record, const Client& client) {
  Workload(settings, record, client, 0).Finish();
  if (settings.transfers > 0) Transfers(settings, record, client, 1).Finish();
}

void Run(const Settings& settings) {
  Record record(settings.out, settings.process);
  const std::shared_ptr<Store> store = Open(settings, record);
  const std::vector<Client> clients{OpenClient(store, settings), OpenClient(store, settings)};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(settings.seconds);
  if (settings.finish) return Finish(settings, record, clients.front());
  std::vector<std::jthread> threads;
  for (int i = 0; i < settings.threads + settings.transfers; ++i) {
    const Client& client = clients[static_cast<std::size_t>(i) % clients.size()];
    threads.emplace_back([&, i] {
      if (i < settings.threads) return Workload(settings, record, client, i).Run(end);
      Transfers(settings, record, client, i).Run(end);
    });
  }
}

}  // namespace
}  // namespace doclock::histories

int main(int argc, char** argv) {
  try {
    doclock::histories::Run(doclock::histories::ReadSettings(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "history worker: " << error.what() << "\n";
    return 1;
  }
}
