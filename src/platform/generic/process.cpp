#include "platform/process.h"

namespace doclock::platform {

std::string ProgramName() { return "doclock"; }

std::string BootId() { return {}; }

}  // namespace doclock::platform
