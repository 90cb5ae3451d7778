#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

#include "cli/commands/commands.h"
#include "cli/json/json_text.h"
#include "cli/options/options.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"
#include "cli/store/search.h"
#include "doclock/errors.h"
#include "doclock/locking_repository.h"

namespace doclock::cli {
namespace {

using nlohmann::json;

struct ExportOptions : SearchOptions {
  std::string file = "-";  ///< "-": standard output.
};

/// Makes the file. Only its owner can read it, because documents may be private.
std::ofstream Create(const std::string& file) {
  const int made = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made < 0 && errno == EEXIST) {
    throw std::invalid_argument("FILE: " + Quoted(file) + " exists; choose another name");
  }
  if (made < 0) {
    throw IoError("FILE: " + Quoted(file) + " cannot be written: " + std::strerror(errno));
  }
  ::close(made);
  return std::ofstream(file, std::ios::app);
}

std::string LineTextOf(const DocumentLine& document, const std::string& collection) {
  try {
    return WithoutControls(detail::Print(LineOf(document)));
  } catch (const json::type_error&) {
    throw DocumentException("document '" + document.key.ToString() + "' of '" + collection +
                                "' cannot be exported: it holds text that is not valid UTF-8",
                            std::make_shared<const DocumentId>(collection, document.key));
  }
}

int Export(const Context& context, const ExportOptions& options) {
  static_cast<void>(FilterOf(options));  // throws for bad conditions
  const LockManager manager = context.manager();
  // Before the file is made: the collection may be missing.
  const LockingRepository<Body> documents(manager, options.collection);
  const bool to_file = options.file != "-";
  std::ofstream file = to_file ? Create(options.file) : std::ofstream();
  std::ostream& out = to_file ? file : std::cout;
  const auto check_written = [&] {
    if (!out) throw IoError(std::string("the output cannot be written: ") + std::strerror(errno));
  };
  std::int64_t count = 0, left_out = 0, incomplete = 0;
  std::string first_incomplete;
  // What the output lacks although it is stored.
  const auto tell_left_out = [&] {
    if (incomplete == 0) return;
    Tell("members whose names are empty, begin with '$' or hold '.' are not in the output: " +
         std::to_string(left_out) + " in " + std::to_string(incomplete) +
         " documents, the first of which is '" + first_incomplete + "'");
  };
  try {
    ForEachDocument(manager, options, [&](const DocumentLine& document) {
      left_out += document.left_out;
      if (document.left_out > 0 && incomplete++ == 0) first_incomplete = document.key.ToString();
      out << LineTextOf(document, options.collection) << '\n';
      check_written();
      return ++count > 0;
    });
  } catch (...) {
    tell_left_out();
    throw;
  }
  tell_left_out();
  out.flush();
  check_written();
  if (to_file && context.json) PrintJson({{"exported", count}});
  if (to_file && !context.json) std::cout << count << " documents exported\n";
  return kOk;
}

}  // namespace

Action AddExport(CLI::App& sub) {
  const auto options = std::make_shared<ExportOptions>();
  AddSearch(sub, *options);
  AddAnything(sub, "FILE", options->file, "File to create; - is standard output", "")
      ->capture_default_str();
  sub.footer("Example: doclock export order_sagas sagas.jsonl");
  return [options](const Context& context) { return Export(context, *options); };
}

}  // namespace doclock::cli
