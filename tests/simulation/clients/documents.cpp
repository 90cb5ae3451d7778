/// Locks of documents, and the ways to give them back.

#include "simulation/clients/client.h"

namespace doclock::simulation {
namespace {

std::string NameOf(const Entry& entry) { return "entries/" + entry.id; }

}  // namespace

void Client::Use(Locked<Entry> handle, const Wish& wish) {
  Tell("holds " + wish.lock + " with fence " + std::to_string(handle.fence()));
  Holding<Locked<Entry>> holding(*this, handle, wish);
  if (!program_->killed()) invariants_.CheckRead(wish.lock, handle->write, wish.read_floor);
  for (std::uint64_t saves = luck_.Below(3); saves > 0; --saves) {
    Sleep(1500ms);
    Write(
        wish.lock, handle.fence(), *handle,
        [&] {
          Await<Nothing>("save " + handle->write, [&](auto token) { handle.SaveAsync(token); });
        },
        AnotherSeat());
  }
  Sleep(3000ms);
  GiveBack(handle, wish, holding);
}

void Client::GiveBack(Locked<Entry>& handle, const Wish& wish, Holding<Locked<Entry>>& holding) {
  const std::string& document = wish.lock;
  holding.End();
  switch (luck_.Below(8)) {
    case 0:
      return;  // the handle's destructor
    case 1:
      throw Tired();
    case 2:
      return static_cast<void>(
          Await<Nothing>("discard " + document, [&](auto token) { handle.DiscardAsync(token); }));
    case 3:
      return GiveBackByValue(handle, document);
    case 4:
      if (!Invariants::MayBeErased(document)) break;
      return static_cast<void>(
          Await<Nothing>("erase " + document, [&](auto token) { handle.EraseAsync(token); }));
    default:
      break;
  }
  Release(handle, document);
}

void Client::Release(Locked<Entry>& handle, const std::string& document) {
  const auto release = [&] {
    Await<Nothing>("release " + document + " with " + handle->write,
                   [&](auto token) { handle.ReleaseAsync(token); });
  };
  try {
    return Write(document, handle.fence(), *handle, release, AnotherSeat());
  } catch (const ConflictException&) {
    Tell("is refused the seat, and has the lock still");
  }
  try {
    Write(document, handle.fence(), *handle, release);
  } catch (const std::logic_error& error) {
    invariants_.Break("a refused write leaves its lock held", document + ": " + error.what());
  }
}

void Client::GiveBackByValue(Locked<Entry>& handle, const std::string& document) {
  const std::int64_t fence = handle.fence();
  Await<Nothing>("detach " + document, [&](auto token) { handle.DetachAsync(token); });
  Entry entry = *handle;
  if (luck_.Chance(400)) {
    Tell("sends " + document + " with its lock to any process");
    if (!program_->killed()) program_->letters().push_back({std::move(entry), fence});
    return;
  }
  Sleep(1000ms);
  ReleaseByValue(entry, fence);
}

void Client::ReleaseByLetter() {
  if (program_->letters().empty()) return Find();
  Letter letter = std::move(program_->letters().front());
  program_->letters().pop_front();
  ReleaseByValue(letter.entry, letter.fence);
}

void Client::ReleaseByValue(Entry& entry, std::int64_t fence) {
  const std::string document = NameOf(entry);
  Write(
      document, fence, entry,
      [&] {
        Await<Nothing>("release " + document + " by value with " + entry.write, [&](auto token) {
          program_->entries->ReleaseLockAsync(std::as_const(entry), token);
        });
      },
      AnotherSeat());
}

void Client::HoldDocument(bool create) {
  const std::string key = luck_.Pick(kEveryDocument);
  const Wish wish = WishFor("entries/" + key, Options());
  Entry entry{key};
  if (create) {
    entry.Continue(invariants_.NewWrite(wish.lock, 0));
    entry.seat = AnotherSeat().value_or(0);
  }
  auto handle = AwaitLock<Locked<Entry>>(wish, [&](auto token) {
    if (create) {
      program_->entries->LockAsync(std::as_const(entry), wish.options, token);
    } else {
      program_->entries->LockAsync(key, wish.options, token);
    }
  });
  Use(std::move(handle), wish);
}

void Client::HoldNext() {
  const LockOptions options = Options();
  std::map<std::string, Wish> wishes;
  for (const char* key : kEveryDocument) {
    wishes[key] = WishFor(std::string("entries/") + key, options);
  }
  auto handle = AwaitAny<Locked<Entry>>("lock the next document", [&](auto token) {
    program_->entries->LockNextAsync(Filter(), options, token);
  });
  const Wish& wish = wishes.at(handle->id);
  Use(std::move(handle), wish);
}

void Client::HoldAll() {
  const Wish first = WishFor("entries/a", Options());
  const Wish second = WishFor("entries/b", first.options);
  auto handles = AwaitAny<std::vector<Locked<Entry>>>("lock a and b", [&](auto token) {
    program_->entries->LockAllAsync({"b", "a"}, first.options, token);
  });
  Holding<Locked<Entry>> holding(*this, handles[0], first);
  Use(std::move(handles[1]), second);
  holding.End();
  Use(std::move(handles[0]), first);
}

}  // namespace doclock::simulation
