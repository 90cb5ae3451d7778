// A service that is paid by messages, in as many processes as you like.
//
//   sample_payments setup STORE FILE   opens accounts and orders, and writes messages to FILE
//   sample_payments work STORE FILE    consumes the messages of FILE, from any place on, and sends
//   sample_payments consume STORE FILE the same, and leaves the sending to others
//   sample_payments audit STORE FILE   looks whether each message took effect exactly once

#include <chrono>
#include <fstream>
#include <iostream>
#include <random>
#include <thread>

#include "audit.h"

namespace {

void Consume(const Service& service, const std::vector<std::string>& lines) {
  // Each process begins elsewhere, and sees all messages: so those of a dead process are delivered.
  const std::size_t begin = std::random_device()() % lines.size();
  for (std::size_t i = 0; i < lines.size(); ++i) service.Consume(lines[(begin + i) % lines.size()]);
}

void Work(const Service& service, const std::vector<std::string>& lines) {
  const doclock::Dispatcher dispatcher = service.Dispatch();
  Consume(service, lines);
  while (service.outbox.Status().pending > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

std::vector<std::string> LinesOf(const std::string& file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::cerr << "usage: sample_payments setup|work|consume|audit STORE FILE\n";
    return 64;
  }
  const std::string verb = argv[1];
  const Service service(doclock::LockManager(doclock::OpenStore(argv[2])));
  if (verb == "setup") SetUp(service, argv[3]);
  if (verb == "consume") Consume(service, LinesOf(argv[3]));
  if (verb == "work") Work(service, LinesOf(argv[3]));
  return verb == "audit" && !Audit(service, LinesOf(argv[3])) ? 1 : 0;
} catch (const std::exception& error) {
  std::cerr << "sample_payments: " << error.what() << '\n';
  return 1;
}
