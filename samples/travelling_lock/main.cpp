// A lock that travels: one process takes it and sends it away as JSON; another process, which never
// saw the handle, writes the new state and unlocks. test.sh runs all of it:
//
//   sample_travelling_lock take URL 7 | sample_travelling_lock answer URL "Restart it"

#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "ticket.h"

namespace doclock::samples {
namespace {

using namespace std::chrono_literals;
using Tickets = LockingRepository<Ticket>;

constexpr int kOk = 0;
constexpr int kWrong = 1;
constexpr int kUsage = 2;
constexpr int kBusy = 3;
constexpr int kNotOurs = 4;

/// Takes the ticket and prints it with its lock. The process may end: the lease holds the lock.
int Take(const Tickets& tickets, const std::string& id) {
  Ticket fresh;
  fresh.id = id;
  // Long enough for the message to arrive: no process renews the lease on its way.
  auto held = tickets.TryLock(fresh, {.ttl = 10min});
  if (!held) return kBusy;
  (*held)->state = "with the expert";
  held->Save();
  held->Detach();
  std::cout << nlohmann::json(Message{**held}).dump() << '\n';
  return kOk;
}

/// Reads the message, stores the answer and unlocks, in one write.
int Answer(const Tickets& tickets, const std::string& answer) {
  Ticket ticket = nlohmann::json::parse(std::cin).get<Message>().ticket;
  // Long work begins with a renewal. This fails if the lock is lost.
  static_cast<void>(tickets.Admin().Renew(ticket.id, ticket.lock));
  ticket.state = "answered";
  ticket.answer = answer;
  tickets.ReleaseLock(ticket);
  return kOk;
}

/// Prints the document, and whether it is locked.
int Show(const Tickets& tickets, const std::string& id) {
  const auto found = tickets.Find(id);
  if (!found) return kWrong;
  const bool locked = !tickets.TryLock(id).has_value();
  std::cout << (*found)->state << ", " << (locked ? "locked" : "free") << ", \"" << (*found)->answer
            << "\"\n";
  return kOk;
}

int Run(const std::vector<std::string>& words) {
  if (words.size() != 3) {
    std::cerr << "Usage: sample_travelling_lock take|show URL ID\n"
                 "       sample_travelling_lock answer URL TEXT < MESSAGE\n";
    return kUsage;
  }
  const LockManager manager{OpenStore(words[1])};
  const Tickets tickets{manager, "tickets"};
  if (words[0] == "take") return Take(tickets, words[2]);
  if (words[0] == "answer") return Answer(tickets, words[2]);
  return Show(tickets, words[2]);
}

}  // namespace
}  // namespace doclock::samples

int main(int argc, char** argv) try {
  return doclock::samples::Run({argv + 1, argv + argc});
} catch (const doclock::LockException& error) {
  std::cerr << error.what() << '\n';
  return doclock::samples::kNotOurs;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return doclock::samples::kWrong;
}
