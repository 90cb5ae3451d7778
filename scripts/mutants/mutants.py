"""Breaks the sources one change at a time and says which changes no test notices. scripts/mutants.sh starts it."""

import argparse
import collections
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

from mutate import Source

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / 'build' / 'mutants'
COPY = WORK / 'source'
BUILD = COPY / 'build' / 'test'  # as far from the sources as everywhere else, for the compiler's cache
RESULTS = WORK / 'results.jsonl'
FAULTY = WORK / 'faulty.txt'  # names of mutants that do not compile
EQUIVALENT = ROOT / 'tests' / 'mutants' / 'equivalent.txt'
AREAS = ['src/rules', 'src/locking/commit.cpp', 'src/engine=200', 'src/memory=70',
         'src/sqlite/tables=70', 'src/sqlite/unit.cpp=50']

SWITCH = '''#pragma once
// What is always or never true in a mutant is no mistake here.
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wunused"
#pragma GCC diagnostic ignored "-Wunused-value"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wempty-body"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wbool-compare"
#pragma GCC diagnostic ignored "-Wbool-operation"
#pragma GCC diagnostic ignored "-Wint-in-bool-context"
#pragma GCC diagnostic ignored "-Wlogical-not-parentheses"
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wreturn-type"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <cstdlib>
#include <fstream>
#include <string>

namespace doclock_mutants {

// -1: notes which mutants are reached, for the driver.
inline const int active = std::getenv("DOCLOCK_MUTANT") ? std::atoi(std::getenv("DOCLOCK_MUTANT")) : 0;

struct Trace {
  bool reached[COUNT + 1] = {};
  ~Trace() {
    if (active != -1) return;
    std::string line;
    for (int i = 1; i <= COUNT; ++i) {
      if (reached[i]) line += std::to_string(i) + " ";
    }
    std::ofstream(std::getenv("DOCLOCK_MUTANT_TRACE"), std::ios::app) << line << "\\n";
  }
};
inline Trace trace;

}  // namespace doclock_mutants

constexpr bool DoclockMutant(int number) noexcept {
  if (__builtin_is_constant_evaluated()) return false;
  if (doclock_mutants::active == number) return true;
  if (doclock_mutants::active == -1) doclock_mutants::trace.reached[number] = true;
  return false;
}
'''


class Suite:
    """A test program, or a part of it."""

    def __init__(self, name, target, filter='*', arguments=(), environment=None):
        self.name, self.target = name, target
        self.arguments = [f'--gtest_filter={filter}', *arguments]
        self.environment = environment or {}
        self.reached, self.seconds = set(), 0.0

    def program(self):
        area = self.target.removeprefix('doclock_').removesuffix('_tests')
        return BUILD / 'tests' / area / self.target

    def run(self, mutant, limit, trace=None):
        """Its exit status; None: it ran out of time."""
        temporary = WORK / 'tmp'
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        environment = {**os.environ, 'RC_PARAMS': 'seed=1 max_success=30', **self.environment,
                       'TMPDIR': str(temporary), 'DOCLOCK_MUTANT': str(mutant)}
        if trace:
            environment['DOCLOCK_MUTANT_TRACE'] = str(trace)
        with open(WORK / 'test.log', 'wb') as log:
            child = subprocess.Popen([str(self.program()), '--gtest_brief=1', '--gtest_fail_fast', *self.arguments],
                                     stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment, cwd=temporary,
                                     start_new_session=True, preexec_fn=limit_memory)
            try:
                return child.wait(limit)
            except subprocess.TimeoutExpired:
                return None
            finally:
                try:
                    os.killpg(child.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                child.wait()


def limit_memory():
    """A mutant may allocate without end."""
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


# What takes long, apart: most mutants end before it.
LOAD = ('LoadTest.*:ThrowingRuntimeTest.*:RealClosingTest.*:SharedTest.*:ObserverPairsTest.*:RenewalLanesTest.*:'
        'SlowObserverTest.*')
PROCESSES = ('SqliteKill.*:SqliteMovedFiles.*:SqliteIndexes.*:SqliteOutage.*:SqliteCoordinator.*:SqliteSharers.*:'
             'SqliteTimeNamespaces.*:SqliteSharedFile.*:SqliteFork.*:SqliteWatch.*:SqliteGuest.*:*SqliteRefusedOpen*')
LONG = '*StoreProperties*:*MixedTraces*:*BodiesMayBeAsLarge*'


def suites(options):
    """main() sorts them: the quick ones first."""
    found = [
        Suite('rules', 'doclock_rules_tests'),
        Suite('locking', 'doclock_locking_tests'),
        Suite('memory', 'doclock_memory_tests'),
        Suite('conformance', 'doclock_conformance_tests', f'*Memory*-{LONG}'),
        Suite('traces', 'doclock_conformance_tests', 'Stores/StoreProperties*Memory*:Stores/MixedTraces*Memory*:RecordStores.*'),
        Suite('engine', 'doclock_engine_tests', f'*-{LOAD}:*DoubtRaceTest*'),
        Suite('engine in doubt', 'doclock_engine_tests', '*DoubtRaceTest*'),
        Suite('engine under load', 'doclock_engine_tests', LOAD),
        Suite('allocation', 'doclock_allocation_tests', '*-Mongodb*'),
        Suite('repository', 'doclock_repository_tests', '*Memory*-*Content*:*Points*:*Threads*:*EverydayTypes*'),
        Suite('named', 'doclock_named_tests'),
        Suite('testing', 'doclock_testing_tests'),
        Suite('sqlite', 'doclock_sqlite_tests', f'*-{PROCESSES}'),
        Suite('sqlite with processes', 'doclock_sqlite_tests', PROCESSES),
        Suite('conformance on SQLite', 'doclock_conformance_tests', f'*Sqlite*-{LONG}'),
        Suite('traces on SQLite', 'doclock_conformance_tests', 'Stores/StoreProperties*Sqlite*:Stores/MixedTraces*Sqlite*'),
        # The other cases show that it can fail, and that it means the same each time.
        Suite('simulation', 'doclock_simulation_tests', 'Simulation.KeepsEveryRule',
              environment={'DOCLOCK_SIMULATION_SEEDS': str(options.seeds)}),
    ]
    if options.mongodb:
        found += [Suite('commits on MongoDB', 'doclock_conformance_tests', '*Commits*/Mongodb:*MixedTraces*/Mongodb'),
                  Suite('mongodb', 'doclock_mongodb_tests'),
                  Suite('conformance on MongoDB', 'doclock_conformance_tests', '*Mongodb*')]
    return [suite for suite in found if not options.suites or suite.name in options.suites.split(',')]


def say(text):
    print(text, flush=True)


def write_if_changed(path, text):
    """Leaves the times of the others as they are, so that only these are compiled again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def tracked_files():
    names = subprocess.check_output(['git', 'ls-files', '-co', '--exclude-standard'], cwd=ROOT, text=True).splitlines()
    return [name for name in names if (ROOT / name).is_file()]


class Copy:
    """The copy of the tree with the mutants in it."""

    def __init__(self, areas):
        names = tracked_files()
        self.plain = []
        self.sources = {}
        for name in names:
            # Of the headers only those that hold rules or are named: tests include the others and would be compiled
            # anew.
            mutable = name.endswith('.cpp') or name in areas or name.startswith('src/rules/') and name.endswith('.h')
            if mutable and any(name == area or name.startswith(area + '/') for area in areas):
                self.sources[name] = Source(name, (ROOT / name).read_text())
            else:
                self.plain.append(name)
        self.mutants = [mutant for source in self.sources.values() for mutant in source.mutants()]
        seen = collections.Counter()
        for number, mutant in enumerate(self.mutants, 1):
            mutant.number = number
            seen[mutant.key()] += 1
            mutant.turn = seen[mutant.key()]
        self.chosen = self.kept = set()

    def choose(self, quotas, options):
        """Of each area as many as its quota says, or all."""
        chosen = []
        for area, quota in quotas.items():
            mine = [m for m in self.mutants if f'{m.file}/'.startswith(f'{area}/') and options.match in m.name()]
            random.Random(options.seed).shuffle(mine)
            chosen += mine[:quota]
        faulty = set(FAULTY.read_text().splitlines()) if FAULTY.exists() else set()
        self.chosen = {mutant.number for mutant in chosen}
        self.kept = {mutant.number for mutant in chosen if mutant.name() not in faulty}

    def write(self):
        for name in self.plain:
            target = COPY / name
            content = (ROOT / name).read_bytes()
            if not target.exists() or target.read_bytes() != content:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, target)
        known = {*self.plain, *self.sources}
        for path in COPY.rglob('*'):
            name = str(path.relative_to(COPY))
            if path.is_file() and name not in known and not name.startswith('build/'):
                path.unlink()
        self.write_mutants()
        write_if_changed(WORK / 'switch.h', SWITCH.replace('COUNT', str(len(self.mutants))))

    def write_mutants(self):
        for name, source in self.sources.items():
            text = source.render(self.kept)
            if text != source.text:
                text = f'#include "{WORK / "switch.h"}"\n' + text
            write_if_changed(COPY / name, text)

    def leave_out(self, log):
        """Leaves out the mutants on the lines that the compiler names, and says how many."""
        bad = set()
        for name, line in set(re.findall(r'/(src/[^:\s]*):(\d+)', log)):
            if name not in self.sources:
                continue
            lines = (COPY / name).read_text().splitlines()
            for text in lines[max(0, int(line) - 2):int(line)]:
                bad.update(int(n) for n in re.findall(r'DoclockMutant\((\d+)\)', text))
        bad &= self.kept
        self.kept -= bad
        with open(FAULTY, 'a') as faulty:
            faulty.writelines(f'{mutant.name()}\n' for mutant in self.mutants if mutant.number in bad)
        self.write_mutants()
        return len(bad)


def build(copy, targets, options):
    copy.write()
    subprocess.check_call(
        ['cmake', '-S', str(COPY), '-B', str(BUILD), '-G', 'Ninja', '-DCMAKE_BUILD_TYPE=Debug',
         '-DCMAKE_CXX_FLAGS_DEBUG=-g0 -D_GLIBCXX_ASSERTIONS', '-DCMAKE_UNITY_BUILD=ON', '-DCMAKE_UNITY_BUILD_BATCH_SIZE=12',
         '-DDOCLOCK_BUILD_SAMPLES=OFF', '-DDOCLOCK_WARNINGS_AS_ERRORS=ON',
         '-DCMAKE_EXE_LINKER_FLAGS=' + ('-fuse-ld=mold' if shutil.which('mold') else ''),
         f'-DDOCLOCK_WITH_MONGODB={"ON" if options.mongodb else "OFF"}'],
        stdout=subprocess.DEVNULL)
    for _ in range(8):
        done = subprocess.run(['ninja', '-C', str(BUILD), '-k0', f'-j{options.jobs}', *targets], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode == 0:
            return
        (WORK / 'build.log').write_text(done.stdout)
        left_out = copy.leave_out(done.stdout)
        if not left_out:
            sys.exit(f'mutants: the copy does not build; see {WORK / "build.log"}')
        say(f'{left_out} mutants do not compile')
    sys.exit(f'mutants: the copy does not build; see {WORK / "build.log"}')


def measure(all_suites):
    """Runs every suite without a mutant: how long it takes, and which mutants it reaches."""
    for suite in all_suites:
        trace = WORK / 'trace'
        trace.unlink(missing_ok=True)
        start = time.monotonic()
        if suite.run(-1, 3600, trace) != 0 and suite.run(-1, 3600, trace) != 0:
            sys.exit(f'mutants: {suite.name} fails without a mutant; see {WORK / "test.log"}')
        suite.seconds = time.monotonic() - start
        suite.reached = {int(number) for number in trace.read_text().split()}
        say(f'{suite.name}: {suite.seconds:.1f} s, reaches {len(suite.reached)} mutants')


def read_equivalent():
    """Lines "file: before => after" with the reason in indented lines below."""
    reasons, key = {}, None
    for line in EQUIVALENT.read_text().splitlines() if EQUIVALENT.exists() else []:
        if line.startswith('#') or not line.strip():
            continue
        if line.startswith(' '):
            reasons[key] = (reasons[key] + ' ' + line.strip()).strip()
        else:
            key = line.strip()
            reasons[key] = ''
    return reasons


def list_stale():
    """Lists the lines of the equivalents that no mutant of the sources has. Its exit status: 1 if there are any."""
    reasons = read_equivalent()
    copy = Copy({key.partition(':')[0]: None for key in reasons})
    known = {mutant.name() for mutant in copy.mutants}
    stale = [key for key in reasons if key not in known]
    for key in stale:
        say(f'stale: {key}')
    say(f'{len(reasons)} explained, {len(stale)} of them are not in the sources')
    return 1 if stale else 0


def judge(mutant, all_suites):
    """The suite that notices it, or None."""
    for suite in all_suites:
        if mutant.number in suite.reached:
            status = suite.run(mutant.number, 3 * suite.seconds + 10)
            if status != 0:
                return suite.name + (' (out of time)' if status is None else '')
    return None


def read_quotas(areas):
    """From "path" or "path=N"; None: all."""
    found = {}
    for area in areas:
        path, _, quota = area.partition('=')
        found[path.rstrip('/')] = int(quota) if quota else None
    return found


def main():
    parser = argparse.ArgumentParser(
        prog='scripts/mutants.sh',
        description='Breaks the sources one change at a time (a guard, a bound, a comparison, a deadline, a statement), runs the '
        'tests that should notice, and lists the changes that none notices. All changes are in one build, under build/mutants; '
        'an environment variable chooses one. A survivor is explained in tests/mutants/equivalent.txt, or a test is missing.')
    parser.add_argument('areas', nargs='*', default=AREAS, metavar='PATH[=N]',
                        help=f'folders or files of the sources; of each N mutants by chance, or all (default: {" ".join(AREAS)})')
    parser.add_argument('--seed', type=int, default=1, help='for the choice (default: 1)')
    parser.add_argument('--match', default='', metavar='TEXT', help='only those with this text in "file: before => after"')
    parser.add_argument('--minutes', type=float, default=180, help='judge no more after this long (default: 180)')
    parser.add_argument('--suites', default='', metavar='NAME,...', help='only these suites')
    parser.add_argument('--seeds', type=int, default=60, help='of the simulation (default: 60)')
    parser.add_argument('--mongodb', action='store_true', help='also run the tests on MongoDB ($DOCLOCK_TEST_MONGODB; see CONTRIBUTING.md)')
    parser.add_argument('--jobs', type=int, default=2, help='for the build (default: 2); tests run one at a time')
    parser.add_argument('--again', action='store_true', help='judge only those that survived the last run')
    parser.add_argument('--list', action='store_true', help='only list the mutants')
    parser.add_argument('--stale', action='store_true',
                        help='only list the lines of tests/mutants/equivalent.txt that no mutant of the sources has')
    options = parser.parse_args()
    if options.stale:
        return list_stale()
    os.nice(10)

    quotas = read_quotas(options.areas)
    copy = Copy(quotas)
    copy.choose(quotas, options)
    chosen = [mutant for mutant in copy.mutants if mutant.number in copy.chosen]
    if options.list:
        for mutant in chosen:
            print(f'{mutant.line:5d} {mutant.name()}')
        return 0
    WORK.mkdir(parents=True, exist_ok=True)
    say(f'{len(chosen)} mutants of {len(copy.mutants)} in {len(copy.sources)} files')
    start = time.monotonic()
    all_suites = suites(options)
    build(copy, sorted({suite.target for suite in all_suites}), options)
    say(f'built in {time.monotonic() - start:.0f} s')
    measure(all_suites)
    all_suites.sort(key=lambda suite: suite.seconds)
    return run([mutant for mutant in chosen if mutant.number in copy.kept], quotas, all_suites, options)


def read_results():
    """What noticed each mutant of the last run, by name."""
    if not RESULTS.exists():
        return {}
    return {result['name']: result['noticed'] for result in map(json.loads, RESULTS.read_text().splitlines())}


def run(chosen, quotas, all_suites, options):
    before = read_results() if options.again else {}
    reasons = read_equivalent()
    start = time.monotonic()
    noticed = {}
    with open(RESULTS, 'w') as results:
        for mutant in chosen:
            if time.monotonic() - start > 60 * options.minutes:
                break
            began = time.monotonic()
            noticed[mutant] = before.get(mutant.name()) or judge(mutant, all_suites)
            results.write(json.dumps({'name': mutant.name(), 'line': mutant.line, 'noticed': noticed[mutant],
                                      'seconds': round(time.monotonic() - began, 1)}) + '\n')
            results.flush()
            if not noticed[mutant] and mutant.name() not in reasons:
                where = '' if any(mutant.number in s.reached for s in all_suites) else '  (no test reaches it)'
                say(f'survives: {mutant.line}, {mutant.name()}{where}')
            if len(noticed) % 20 == 0:
                say(f'... {len(noticed)} of {len(chosen)}, {(time.monotonic() - start) / 60:.0f} min')
    say('')
    for name, number in collections.Counter(filter(None, noticed.values())).most_common():
        say(f'{number:6d} caught by {name}')
    return summarise(noticed, quotas, reasons)


def summarise(noticed, quotas, reasons):
    """A line for each area. Its exit status: 1 if one survives that is not explained."""
    left = 0
    for area in quotas:
        mine = [mutant for mutant in noticed if f'{mutant.file}/'.startswith(f'{area}/')]
        caught = sum(1 for mutant in mine if noticed[mutant])
        explained = sum(1 for mutant in mine if not noticed[mutant] and mutant.name() in reasons)
        survivors = len(mine) - caught - explained
        say(f'{area}: {len(mine)} mutants, {caught} caught ({100 * caught / max(1, len(mine)):.1f} %), '
            f'{explained} explained, {survivors} survive')
        left += survivors
    return 1 if left else 0


if __name__ == '__main__':
    sys.exit(main())
