#include "trace.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <variant>

#include "content.h"

namespace doclock::conformance {
namespace {

ObjectId OidOf(std::uint8_t last) {
  ObjectId id;
  id.bytes.back() = last;
  return id;
}

Uuid UuidOf(std::uint8_t first) {
  Uuid id{};
  id.data[0] = first;
  return id;
}

/// Some differ in their kind only, or behind a NUL, or at their very end.
const std::vector<Key>& OddKeys() {
  using namespace std::string_literals;
  static const std::vector<Key> kKeys{"",
                                      "\0"s,
                                      "a",
                                      "a\0"s,
                                      "a\0b"s,
                                      "a\0c"s,
                                      "A",
                                      "1",
                                      "-1",
                                      "ä",
                                      "a\u0308",
                                      "\uFFFD",
                                      "🌍",
                                      "it's \"$x.y\" %_",
                                      std::string(kMaxKeyBytes, 'k'),
                                      std::string(kMaxKeyBytes - 1, 'k'),
                                      std::string(kMaxKeyBytes - 4, 'k') + "🌍",
                                      1,
                                      -1,
                                      0,
                                      std::int64_t{1} << 31,
                                      (std::int64_t{1} << 53) + 1,
                                      std::int64_t{1} << 53,
                                      INT64_MAX,
                                      INT64_MIN,
                                      UuidOf(0),
                                      UuidOf(1),
                                      UuidOf(0xFF),
                                      Key(UuidOf(1)).ToString(),
                                      OidOf(0),
                                      OidOf(1),
                                      Key(OidOf(1)).ToString()};
  return kKeys;
}

/// Of a UUID or an ObjectId; of other keys nothing.
std::vector<std::uint8_t> BytesOf(const Key& key) {
  const auto bytes = [](const auto& of) { return std::vector<std::uint8_t>(of.begin(), of.end()); };
  if (const auto* uuid = std::get_if<Uuid>(&key.value())) return bytes(*uuid);
  if (const auto* id = std::get_if<ObjectId>(&key.value())) return bytes(id->bytes);
  return {};
}

void Sort(std::vector<Key>& keys, const Surroundings& surroundings) {
  const std::vector<std::size_t>& kinds = surroundings.kinds_of_keys;
  const auto place = [&](const Key& key) {
    return std::find(kinds.begin(), kinds.end(), key.value().index());
  };
  std::sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
    const auto bytes_a = BytesOf(a), bytes_b = BytesOf(b);
    const bool together = surroundings.bytes_together && !bytes_a.empty() && !bytes_b.empty();
    if (together) return bytes_a < bytes_b;
    return place(a) != place(b) ? place(a) < place(b) : a < b;
  });
}

/// Different ones: the places of `picks` in what is left of the table.
std::vector<Key> Pick(const std::vector<std::size_t>& picks) {
  std::vector<Key> left = OddKeys(), keys;
  for (const std::size_t pick : picks) {
    const auto place = left.begin() + static_cast<std::ptrdiff_t>(pick % left.size());
    keys.push_back(*place);
    left.erase(place);
  }
  return keys;
}

std::vector<Step::Kind> KindsFor(const Surroundings& surroundings) {
  std::vector<Step::Kind> kinds;
  for (int i = 0; i < Step::kMixedKinds; ++i) {
    const auto kind = static_cast<Step::Kind>(i);
    if (kind == Step::Kind::kSpoil && !surroundings.spoil) continue;
    if (kind == Step::Kind::kPlant && !surroundings.plant) continue;
    if (kind == Step::Kind::kCommit && !surroundings.transactions) continue;
    kinds.push_back(kind);
  }
  return kinds;
}

/// Which neighbours in the tables of values the bodies of a trace have: few, so that they meet.
struct Palette {
  std::size_t due = 0;
  std::size_t tag = 0;
};

rc::Gen<int> Shape(Palette palette) {
  return rc::gen::apply(
      [palette](std::size_t plain, std::size_t due, std::size_t tag) {
        return plain < 2 ? static_cast<int>(plain) : ShapeOf(palette.due + due, palette.tag + tag);
      },
      rc::gen::inRange<std::size_t>(0, 10), rc::gen::inRange<std::size_t>(0, 4),
      rc::gen::inRange<std::size_t>(0, 3));
}

rc::Gen<bool> OneIn(int count) {
  return rc::gen::map(rc::gen::inRange(0, count), [count](int n) { return n == count - 1; });
}

rc::Gen<Step> MixedStep(const std::vector<Step::Kind>& kinds, Palette palette) {
  return rc::gen::apply(
      [kinds](std::size_t kind, int key, int who, int number, bool stale, int shape, bool joined) {
        return Step{kinds[kind], key, who, number, stale, shape, joined};
      },
      rc::gen::inRange<std::size_t>(0, kinds.size()), rc::gen::inRange(0, kDocuments),
      rc::gen::inRange(0, Step::kMaxWho), rc::gen::inRange(0, Step::kMaxNumber), OneIn(8),
      Shape(palette), OneIn(2));
}

/// Short, and with no character that a terminal would not show.
std::string Shown(const Key& key) {
  static constexpr std::array kKinds{"text ", "number ", "uuid ", "object id "};
  const std::string text = key.ToString();
  const std::string cut =
      text.size() <= 60 ? text : text.substr(0, 20) + "... of " + std::to_string(text.size());
  return kKinds.at(key.value().index()) + ("'" + cut + "'");
}

}  // namespace

void showValue(const Trace& trace, std::ostream& out) {
  for (std::size_t i = 0; i < trace.keys.size(); ++i) {
    out << (i == 0 ? "keys " : ", ") << i << " = " << Shown(trace.keys[i]);
  }
  for (const Step& step : trace.steps) {
    out << "\n  ";
    PrintTo(step, &out);
    if (step.shape != 0) out << " " << ContentOf(step).dump().substr(0, 100);
  }
}

rc::Gen<Trace> MixedTraces(const Surroundings& surroundings) {
  const std::vector<Step::Kind> kinds = KindsFor(surroundings);
  const auto palettes = rc::gen::apply(
      [](std::size_t due, std::size_t tag) {
        return Palette{due, tag};
      },
      rc::gen::inRange<std::size_t>(0, 100), rc::gen::inRange<std::size_t>(0, 100));
  const auto steps = rc::gen::mapcat(palettes, [kinds](Palette palette) {
    return rc::gen::container<std::vector<Step>>(MixedStep(kinds, palette));
  });
  const auto keys =
      rc::gen::map(rc::gen::container<std::vector<std::size_t>>(
                       kDocuments, rc::gen::inRange<std::size_t>(0, OddKeys().size())),
                   Pick);
  // The size of a case bounds its ranges too: small ones would have few kinds of steps.
  const auto traces = rc::gen::apply(
      [surroundings](std::vector<Key> picked, std::vector<Step> played) {
        Sort(picked, surroundings);
        return Trace{std::move(picked), std::move(played)};
      },
      keys, steps);
  return rc::gen::resize(rc::kNominalSize, traces);
}

}  // namespace doclock::conformance
