// A service that is paid by messages, in as many processes as you like.
//
//   sample_payments setup STORE FILE    opens accounts and orders, and writes messages to FILE
//   sample_payments work STORE FILE     consumes the messages of FILE, from any place on, and sends
//   sample_payments consume STORE FILE  the same, and leaves the sending to others
//   sample_payments audit STORE FILE    looks whether each message took effect exactly once
//
// A number behind FILE is that of the threads that consume (1).

#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <iostream>
#include <random>
#include <thread>

#include "audit.h"

namespace {

void Consume(const Service& service, const std::vector<std::string>& lines, int threads) {
  // Each process begins elsewhere, and sees all messages: so those of a dead process are delivered.
  const std::size_t begin = std::random_device()() % lines.size();
  std::atomic<std::size_t> next = 0;
  std::vector<std::future<void>> workers;
  for (int i = 0; i < threads; ++i) {
    workers.push_back(std::async(std::launch::async, [&] {
      for (std::size_t at = next++; at < lines.size(); at = next++)
        service.Consume(lines[(begin + at) % lines.size()]);
    }));
  }
  for (std::future<void>& worker : workers) worker.get();
}

void Work(const Service& service, const std::vector<std::string>& lines, int threads) {
  const doclock::Dispatcher dispatcher = service.Dispatch();
  Consume(service, lines, threads);
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
  if (argc != 4 && argc != 5) {
    std::cerr << "usage: sample_payments setup|work|consume|audit STORE FILE [THREADS]\n";
    return 64;
  }
  const std::string verb = argv[1];
  const int threads = argc == 5 ? std::stoi(argv[4]) : 1;
  const Service service(doclock::LockManager(doclock::OpenStore(argv[2])));
  if (verb == "setup") SetUp(service, argv[3]);
  if (verb == "consume") Consume(service, LinesOf(argv[3]), threads);
  if (verb == "work") Work(service, LinesOf(argv[3]), threads);
  return verb == "audit" && !Audit(service, LinesOf(argv[3])) ? 1 : 0;
} catch (const std::exception& error) {
  std::cerr << "sample_payments: " << error.what() << '\n';
  return 1;
}
