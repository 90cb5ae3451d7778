/// doclock itself, on the store of the URL. Kind "document": a document of 1 KB is locked, changed,
/// stored and unlocked. Kind "name": a named lock.

#include "doclock/doclock.h"

#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "documents.h"
#include "worker.h"

namespace doclock::peers {
namespace {

using bench::Saga;
using bench::SampleSaga;

LockOptions Waiting(const Place& place) { return {.ttl = place.ttl, .wait = kForever}; }

/// Returns what `take` returns, or nothing if the wait was stopped.
template <class TakeFn>
auto UnlessStopped(TakeFn take) -> std::optional<decltype(take())> {
  try {
    return take();
  } catch (const LockException& error) {
    if (error.errc() != Errc::kCancelled) throw;
    return std::nullopt;
  }
}

/// The locks that one caller holds.
template <class Held>
class OurCaller : public Caller {
 public:
  bool Lock(int key, const std::stop_token& stop) final {
    std::optional<Held> held = UnlessStopped([&] { return Take(key, stop); });
    if (!held) return false;
    held_.insert_or_assign(key, std::move(*held));
    return true;
  }
  bool Unlock(int key) final {
    auto node = held_.extract(key);
    try {
      node.mapped().Release();
      return true;
    } catch (const LockException&) {
      return false;
    }
  }

 protected:
  virtual Held Take(int key, const std::stop_token& stop) = 0;

 private:
  std::unordered_map<int, Held> held_;
};

class DocumentCaller final : public OurCaller<Locked<Saga>> {
 public:
  DocumentCaller(const LockingRepository<Saga>& documents, const LockOptions& options)
      : documents_(documents), options_(options) {}

 private:
  Locked<Saga> Take(int key, const std::stop_token& stop) override {
    Locked<Saga> held = documents_.Lock({Key(key), fresh_}, options_, stop);
    held->attempts += 1;
    return held;
  }

  const LockingRepository<Saga> documents_;
  const LockOptions options_;
  const Saga fresh_ = SampleSaga(0);
};

class NameCaller final : public OurCaller<HeldLock> {
 public:
  NameCaller(const LockProvider& names, const LockOptions& options)
      : names_(names), options_(options) {}

 private:
  HeldLock Take(int key, const std::stop_token& stop) override {
    return names_.Acquire("lock/" + std::to_string(key), options_, stop);
  }

  const LockProvider names_;
  const LockOptions options_;
};

class OurPeer final : public Peer {
 public:
  explicit OurPeer(const Place& place) : place_(place), manager_(OpenStore(place.url)) {
    if (place.kind != "document" && place.kind != "name") throw std::runtime_error("unknown kind");
  }

  void Prepare(int keys) override {
    constexpr int kThreads = 64;
    std::vector<std::jthread> threads;
    for (int from = 0; from < kThreads; ++from) {
      threads.emplace_back([this, from, keys] {
        const auto caller = NewCaller();
        for (int key = from; key < keys; key += kThreads) {
          caller->Lock(key, {});
          caller->Unlock(key);
        }
      });
    }
  }
  std::unique_ptr<Caller> NewCaller() override {
    if (place_.kind == "document") {
      return std::make_unique<DocumentCaller>(documents_, Waiting(place_));
    }
    return std::make_unique<NameCaller>(names_, Waiting(place_));
  }

 private:
  const Place place_;
  LockManager manager_;
  const LockingRepository<Saga> documents_{manager_, "documents"};
  const LockProvider names_{manager_, "names"};
};

}  // namespace
}  // namespace doclock::peers

int main(int argc, char** argv) {
  using namespace doclock::peers;
  return Work(argc, argv, [](const Place& place) { return std::make_unique<OurPeer>(place); });
}
