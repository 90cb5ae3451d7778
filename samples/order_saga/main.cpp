// Orders go through their steps (reserve, pay, ship, notify), driven by several worker processes
// that share nothing but the store. Some are killed on the way, and the others take over. In the
// end an audit proves that every step of every order was done exactly once.
//
//   sample_order_saga --input sagas.jsonl --workers 4 --kill 2
//
// worker.cpp has what an application would do; the rest is there to disturb it and to check.

#include <cstdlib>
#include <exception>
#include <iostream>

#include "input.h"
#include "options.h"
#include "run.h"
#include "worker.h"

int main(int argc, char** argv) {
  const bool worker = order_saga::IsWorker(argc, argv);
  try {
    if (worker) return order_saga::RunWorker(order_saga::ParseWorkerOptions(argc, argv));
    return order_saga::Run(order_saga::ParseOptions(argc, argv));
  } catch (const order_saga::InputError& error) {
    std::cerr << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << (worker ? "worker: " : "") << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
