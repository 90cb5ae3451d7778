#include "sqlite/examine.h"

#include <sqlite3.h>

#include "document/free_space.h"
#include "sqlite/tables/schema.h"
#include "sqlite/writer.h"

namespace doclock::sqlite {
namespace {

Finding CheckCoordinator(const ProcessCoordinator& coordinator) {
  if (coordinator.HasFailedFlush()) {
    return {"coordinator", FindingLevel::kProblem, kFailedFlush, kAfterFailedFlush};
  }
  const auto crowd = coordinator.Stores();
  if (crowd.room == 0) return {"coordinator", FindingLevel::kOk, "there is none on this system"};
  const std::string text = std::to_string(crowd.stores) + " stores have the file open";
  if (crowd.stores < crowd.room) return {"coordinator", FindingLevel::kOk, text};
  return {"coordinator", FindingLevel::kWarning, text + ", and its page has no room for more",
          "open one store per process, and share it"};
}

}  // namespace

std::vector<Finding> ExamineFile(Connection& connection, const ProcessCoordinator& coordinator,
                                 const std::filesystem::path& path) {
  std::vector<Finding> findings;
  findings.push_back({"server", FindingLevel::kOk, std::string("SQLite ") + sqlite3_libversion()});
  findings.push_back({"topology", FindingLevel::kOk, "one file, for processes of one machine"});
  findings.push_back({"schema", FindingLevel::kOk,
                      "version " + std::to_string(SchemaVersion(connection)) + ", in era " +
                          std::to_string(LastEra(connection).number)});
  findings.push_back(CheckCoordinator(coordinator));
  std::error_code error;
  const std::filesystem::space_info disk = std::filesystem::space(path, error);
  if (!error) findings.push_back(detail::JudgeFreeSpace(disk.available));
  return findings;
}

}  // namespace doclock::sqlite
