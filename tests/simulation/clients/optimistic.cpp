/// Reads, and writes without a lock.

#include "simulation/clients/client.h"

namespace doclock::simulation {

void Client::Find() {
  const std::string key = luck_.Pick(kEveryDocument);
  const std::string document = "entries/" + key;
  const auto floor = invariants_.ReadFloor(document);
  const auto found = Await<std::optional<Snapshot<Entry>>>(
      "read " + document, [&](auto token) { program_->entries->FindAsync(key, token); });
  if (program_->killed()) return;
  invariants_.CheckRead(document, found ? std::optional((*found)->write) : std::nullopt, floor);
}

void Client::Search() {
  auto found = Await<std::vector<Snapshot<Entry>>>(
      "search", [&](auto token) { program_->entries->FindAsync(Filter(), token); });
  if (program_->killed()) return;
  std::int64_t sum = 0;
  for (const auto& one : found) {
    invariants_.CheckFound("entries/" + one->id, one->write);
    sum += one->amount;
  }
  invariants_.CheckSum(sum);
  if (found.empty()) return;
  Sleep(1500ms);
  SaveSnapshot(found[luck_.Below(found.size())]);
}

void Client::Save() {
  const std::string key = luck_.Pick(kEveryDocument);
  const std::string document = "entries/" + key;
  const auto floor = invariants_.ReadFloor(document);
  auto found = Await<std::optional<Snapshot<Entry>>>(
      "read " + document, [&](auto token) { program_->entries->FindAsync(key, token); });
  if (program_->killed()) return;
  invariants_.CheckRead(document, found ? std::optional((*found)->write) : std::nullopt, floor);
  for (std::uint64_t saves = found ? 1 + luck_.Below(2) : 0; saves > 0; --saves) {
    Sleep(500ms);
    SaveSnapshot(*found);
  }
}

void Client::SaveSnapshot(Snapshot<Entry>& snapshot) {
  const std::string document = "entries/" + snapshot->id;
  Write(
      document, 0, *snapshot,
      [&] {
        Await<Nothing>("save " + document + " by version with " + snapshot->write,
                       [&](auto token) { program_->entries->SaveAsync(snapshot, token); });
      },
      AnotherSeat());
}

void Client::Update() {
  const std::string key = luck_.Pick(kEveryDocument);
  const std::string document = "entries/" + key;
  const std::string write = invariants_.NewWrite(document, 0);
  const bool tired = luck_.Chance(100);
  const auto seat = AnotherSeat();
  Settle({write}, [&] {
    AwaitAny<Nothing>("update " + document + " with " + write, [&](auto token) {
      program_->entries->UpdateAsync(
          key,
          [write, tired, seat](Entry& entry) {
            if (tired) throw Tired();
            entry.Continue(write);
            entry.seat = seat.value_or(entry.seat);
          },
          token);
    });
  });
}

void Client::Insert() {
  const std::string key = luck_.Chance(500) ? "e1" : kMissing;
  const std::string document = "entries/" + key;
  Entry entry{key};
  entry.Continue(invariants_.NewWrite(document, 0));
  entry.seat = AnotherSeat().value_or(0);
  Settle({entry.write}, [&] {
    Await<std::int64_t>("insert " + document + " with " + entry.write, [&](auto token) {
      program_->entries->InsertAsync(std::as_const(entry), token);
    });
  });
}

void Client::Erase() {
  const std::string key = luck_.Chance(500) ? "e1" : kMissing;
  Await<bool>("erase entries/" + key,
              [&](auto token) { program_->entries->EraseAsync(key, token); });
}

}  // namespace doclock::simulation
