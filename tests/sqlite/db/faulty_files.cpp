#include "sqlite/db/faulty_files.h"

#include <stdexcept>

namespace doclock::sqlite_test {

std::atomic<int> FaultyFiles::failing_syncs{0};
std::atomic<int> FaultyFiles::failing_writes{0};
std::atomic<int> FaultyFiles::failing_reads{0};
std::atomic<int> FaultyFiles::write_error{SQLITE_FULL};

namespace {

sqlite3_vfs* original = nullptr;
sqlite3_vfs faulty;
sqlite3_io_methods faulty_methods;
const sqlite3_io_methods* original_methods = nullptr;

bool TakeOne(std::atomic<int>& left) {
  int now = left;
  while (now > 0) {
    if (left.compare_exchange_weak(now, now - 1)) return true;
  }
  return false;
}

int Sync(sqlite3_file* file, int flags) {
  if (TakeOne(FaultyFiles::failing_syncs)) return SQLITE_IOERR_FSYNC;
  return original_methods->xSync(file, flags);
}

int Write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  if (TakeOne(FaultyFiles::failing_writes)) return FaultyFiles::write_error;
  return original_methods->xWrite(file, data, size, offset);
}

int Read(sqlite3_file* file, void* data, int size, sqlite3_int64 offset) {
  if (TakeOne(FaultyFiles::failing_reads)) return SQLITE_IOERR_READ;
  return original_methods->xRead(file, data, size, offset);
}

/// Only write-ahead logs get the methods that fail.
int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  const int code = original->xOpen(original, name, file, flags, out_flags);
  if (code == SQLITE_OK && (flags & SQLITE_OPEN_WAL) != 0) {
    original_methods = file->pMethods;
    faulty_methods = *original_methods;
    faulty_methods.xSync = Sync;
    faulty_methods.xWrite = Write;
    faulty_methods.xRead = Read;
    file->pMethods = &faulty_methods;
  }
  return code;
}

}  // namespace

FaultyFiles::FaultyFiles() {
  original = sqlite3_vfs_find(nullptr);
  faulty = *original;
  faulty.zName = "faulty";
  faulty.xOpen = Open;
  if (sqlite3_vfs_register(&faulty, 1) != SQLITE_OK) throw std::runtime_error("no VFS");
}

FaultyFiles::~FaultyFiles() {
  failing_syncs = failing_writes = failing_reads = 0;
  write_error = SQLITE_FULL;
  sqlite3_vfs_unregister(&faulty);
  sqlite3_vfs_register(original, 1);
}

}  // namespace doclock::sqlite_test
