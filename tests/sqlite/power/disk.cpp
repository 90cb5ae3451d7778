#include "sqlite/power/disk.h"

#include <sqlite3.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace doclock::sqlite_test {
namespace {

constexpr std::size_t kSector = 512;

/// A write, or with `size` a file that is cut to it.
struct Change {
  std::size_t offset = 0;
  std::string data;
  bool truncates = false;

  void ApplyTo(std::string& content) const {
    if (truncates) return content.resize(offset);
    content.resize(std::max(content.size(), offset + data.size()));
    content.replace(offset, data.size(), data);
  }
};

struct File {
  std::string flushed;          ///< What is on the disk.
  std::vector<Change> changes;  ///< Since then.
  bool is_deleted = false;

  void Flush() {
    for (const Change& change : changes) change.ApplyTo(flushed);
    changes.clear();
  }
};

struct Opened {
  File* file;
  const sqlite3_io_methods* methods;  ///< SQLite's own.
};

struct Machine {
  std::mutex mutex;
  std::map<std::string, File> files;
  std::map<sqlite3_file*, Opened> open;
  int flushes = 0, failing_flushes = 0;
  int steps_left = -1;  ///< Until the power fails; negative: it does not.
  sqlite3_vfs* original = nullptr;
  sqlite3_vfs vfs{};
  sqlite3_io_methods for_databases{}, for_logs{};
} machine;

bool IsOffNow() { return machine.steps_left == 0; }

/// Returns whether the power is on for one step more.
bool TakeStep() {
  if (IsOffNow()) return false;
  if (machine.steps_left > 0) --machine.steps_left;
  return !IsOffNow();
}

int Note(sqlite3_file* file, Change change) {
  if (IsOffNow()) return SQLITE_IOERR_WRITE;
  machine.open.at(file).file->changes.push_back(std::move(change));
  return TakeStep() ? SQLITE_OK : SQLITE_IOERR_WRITE;  // a part of it may have come to the disk
}

const sqlite3_io_methods* MethodsOf(sqlite3_file* file) {
  const std::lock_guard guard(machine.mutex);
  return machine.open.at(file).methods;
}

int Write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  {
    const std::lock_guard guard(machine.mutex);
    const int code = Note(file, {static_cast<std::size_t>(offset),
                                 {static_cast<const char*>(data), static_cast<std::size_t>(size)}});
    if (code != SQLITE_OK) return code;
  }
  return MethodsOf(file)->xWrite(file, data, size, offset);
}

int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  {
    const std::lock_guard guard(machine.mutex);
    const int code = Note(file, {static_cast<std::size_t>(size), {}, true});
    if (code != SQLITE_OK) return code;
  }
  return MethodsOf(file)->xTruncate(file, size);
}

int Sync(sqlite3_file* file, int) {
  const std::lock_guard guard(machine.mutex);
  if (!TakeStep()) return SQLITE_IOERR_FSYNC;
  ++machine.flushes;
  if (machine.failing_flushes > 0) {
    --machine.failing_flushes;
    machine.open.at(file).file->changes.clear();  // as Linux does
    return SQLITE_IOERR_FSYNC;
  }
  machine.open.at(file).file->Flush();
  return SQLITE_OK;
}

int Read(sqlite3_file* file, void* data, int size, sqlite3_int64 offset) {
  if (Disk::IsOff()) return SQLITE_IOERR_READ;
  return MethodsOf(file)->xRead(file, data, size, offset);
}

int Close(sqlite3_file* file) {
  const sqlite3_io_methods* const methods = MethodsOf(file);
  {
    const std::lock_guard guard(machine.mutex);
    machine.open.erase(file);
  }
  return methods->xClose(file);
}

int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  const int code = machine.original->xOpen(machine.original, name, file, flags, out_flags);
  if (code != SQLITE_OK || (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_DB)) == 0) return code;
  const std::lock_guard guard(machine.mutex);
  const sqlite3_io_methods* const original = file->pMethods;
  auto& methods = (flags & SQLITE_OPEN_WAL) != 0 ? machine.for_logs : machine.for_databases;
  if (methods.xSync != Sync) {  // the first file of its kind
    methods = *original;
    methods.xWrite = Write;
    methods.xTruncate = Truncate;
    methods.xSync = Sync;
    methods.xRead = Read;
    methods.xClose = Close;
  }
  file->pMethods = &methods;
  File& known = machine.files[name];
  if (known.is_deleted) known = {};
  machine.open[file] = {&known, original};
  return code;
}

int Delete(sqlite3_vfs*, const char* name, int sync_folder) {
  {
    const std::lock_guard guard(machine.mutex);
    if (const auto known = machine.files.find(name); known != machine.files.end()) {
      if (!TakeStep()) return SQLITE_IOERR_DELETE;
      known->second.is_deleted = true;
    }
  }
  return machine.original->xDelete(machine.original, name, sync_folder);
}

/// Which of the changes since the last flush come to the disk.
void Lose(File& file, std::mt19937_64& random) {
  const auto chance = [&](unsigned of) { return random() % of == 0; };
  switch (random() % 4) {
    case 0:
      return file.changes.clear();
    case 1:
      return file.Flush();
    case 2:
      file.changes.resize(random() % (file.changes.size() + 1));
      return file.Flush();
    default:
      break;
  }
  std::vector<Change> sectors;
  for (const Change& change : file.changes) {
    if (change.truncates && chance(2)) sectors.push_back(change);
    for (std::size_t at = 0; at < change.data.size(); at += kSector) {
      if (chance(2)) sectors.push_back({change.offset + at, change.data.substr(at, kSector)});
    }
  }
  file.changes = std::move(sectors);
  file.Flush();
}

}  // namespace

Disk::Disk() {
  machine.original = sqlite3_vfs_find(nullptr);
  machine.vfs = *machine.original;
  machine.vfs.zName = "disk";
  machine.vfs.xOpen = Open;
  machine.vfs.xDelete = Delete;
  sqlite3_vfs_register(&machine.vfs, 1);
  machine.flushes = machine.failing_flushes = 0;
  machine.steps_left = -1;
}

Disk::~Disk() {
  sqlite3_vfs_unregister(&machine.vfs);
  sqlite3_vfs_register(machine.original, 1);
  machine.files.clear();
}

int Disk::flushes() {
  const std::lock_guard guard(machine.mutex);
  return machine.flushes;
}

void Disk::CutAfter(int steps) {
  const std::lock_guard guard(machine.mutex);
  machine.steps_left = steps;
}

bool Disk::IsOff() {
  const std::lock_guard guard(machine.mutex);
  return IsOffNow();
}

void Disk::FailFlushes(int count) {
  const std::lock_guard guard(machine.mutex);
  machine.failing_flushes = count;
}

void Disk::Restart(std::mt19937_64* random) {
  const std::lock_guard guard(machine.mutex);
  machine.steps_left = -1;
  for (auto& [name, file] : machine.files) {
    if (random != nullptr) {
      Lose(file, *random);
    } else {
      file.changes.clear();
    }
    // A folder is not flushed either.
    if (file.is_deleted && (random == nullptr || (*random)() % 2 == 0)) continue;
    file.is_deleted = false;
    std::ofstream(name, std::ios::binary | std::ios::trunc) << file.flushed;
    std::filesystem::remove(name + "-shm");
  }
}

}  // namespace doclock::sqlite_test
