// The page of "<database>-doclock" with bytes that no store wrote: stores that use it neither crash
// nor hang, and it is as new once all of them are closed.
//
// Two bytes choose the case. The rest is the old content of the file, or patches of a page in use:
// two bytes of offset, one of length, then the bytes.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <memory>

#include "doclock/errors.h"
#include "fuzz/support/fuzz.h"
#include "process/temp_folder.h"
#include "sqlite/db/database_error.h"
#include "sqlite/processes/linux/coordinator_page.h"
#include "sqlite/processes/process_coordinator.h"

namespace doclock::fuzz {
namespace {

using namespace sqlite;
using namespace std::chrono_literals;

/// One folder for all inputs.
const std::filesystem::path& Database() {
  static const test::TempFolder folder;
  static const std::filesystem::path file = [] {
    std::ofstream(folder / "d.db") << "";
    return folder / "d.db";
  }();
  return file;
}
std::filesystem::path PageFile() { return Database().string() + "-doclock"; }

std::unique_ptr<ProcessCoordinator> Open() {
  return ProcessCoordinator::Open(Database(), DeadlineIn(1s));
}

/// As somebody does who has emptied a file that is none of ours.
std::unique_ptr<ProcessCoordinator> OpenAnew() {
  try {
    return Open();
  } catch (const StoreException& error) {
    Require(error.errc() == Errc::kRefused, "a foreign file is refused");
  }
  std::filesystem::resize_file(PageFile(), 0);
  return Open();
}

/// The page as a program sees it that writes what it likes.
class Mapping {
 public:
  Mapping() {
    const int file = ::open(PageFile().c_str(), O_RDWR | O_CLOEXEC);
    memory_ = ::mmap(nullptr, sizeof(CoordinatorPage), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    Require(memory_ != MAP_FAILED, "the page can be mapped");
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { ::munmap(memory_, sizeof(CoordinatorPage)); }

  void Write(std::size_t offset, std::string_view bytes) {
    for (std::size_t i = 0; i < bytes.size() && offset + i < sizeof(CoordinatorPage); ++i) {
      // A program that spoils the C library's own mutexes can stop any that uses them.
      if (!IsMutex(offset + i)) static_cast<char*>(memory_)[offset + i] = bytes[i];
    }
  }

 private:
  static bool IsMutex(std::size_t at) noexcept {
    return at >= offsetof(CoordinatorPage, queue) && at < offsetof(CoordinatorPage, turn);
  }

  void* memory_ = MAP_FAILED;
};

void Use(ProcessCoordinator& coordinator, ProcessCoordinator& other) {
  if (coordinator.Enter(DeadlineIn(100ms))) {
    std::uint32_t whom = coordinator.Announce({{1, 2, other.slot()}});
    whom |= coordinator.Announce({{1, 2}, {kAnyCollection, 0}});
    coordinator.Leave();
    coordinator.Wake(whom);
  }
  coordinator.AddWatchers(1);
  static_cast<void>(coordinator.OthersWatch());
  static_cast<void>(coordinator.Occupant());
  static_cast<void>(coordinator.Look(other.slot()));
  std::vector<Notification> notifications;
  std::uint32_t position = coordinator.Position() - 5;
  const bool all = coordinator.Read(position, notifications);
  Require(!all || notifications.size() <= CoordinatorPage::kNotifications,
          "no more is read than the page holds");
  coordinator.Await(coordinator.Position(), 0ms);
  coordinator.ReapDeadStores();
  coordinator.AddWatchers(-1);
}

void TryPatches(Bytes input, bool join_first) {
  const auto keeper = Open();
  std::unique_ptr<ProcessCoordinator> other;
  if (join_first) other = Open();
  {
    Mapping page;
    while (!input.empty()) {
      const auto offset = input.Take<std::uint16_t>();
      const auto length = input.Take<std::uint8_t>();
      page.Write(offset, input.Take(length));
    }
  }
  try {
    if (!other) other = ProcessCoordinator::Open(Database(), DeadlineIn(20ms));
  } catch (const StoreException& error) {
    Require(error.errc() == Errc::kRefused || error.errc() == Errc::kUnavailable,
            "a foreign page is refused");
    Use(*keeper, *keeper);
    return;
  }
  Use(*keeper, *other);
  Use(*other, *keeper);
}

void TryOldContent(std::string_view bytes) {
  std::ofstream(PageFile(), std::ios::binary | std::ios::trunc) << bytes;
  const auto coordinator = OpenAnew();
  Require(!coordinator->OthersWatch(), "no other store watches a page that was made anew");
  Use(*coordinator, *coordinator);
}

void CheckUsable() {
  const auto coordinator = OpenAnew();
  Require(coordinator->Enter(DeadlineIn(10s)), "a new page lets a writer in");
  coordinator->Leave();
}

void Try(Bytes input) {
  const auto kind = input.Take<std::uint8_t>();
  input.Take<std::uint8_t>();
  if (kind % 4 == 0) {
    TryOldContent(input.Take(input.size()));
  } else {
    TryPatches(input, kind % 2 == 1);
  }
  CheckUsable();
}

}  // namespace
}  // namespace doclock::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace doclock::fuzz;
  if (size <= kLongestInput) Try(Bytes(data, size));
  return 0;
}
