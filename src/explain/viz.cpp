#include "explain/viz.h"

#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>

#include "baretile/error.h"
#include "compiler/build/cache.h"
#include "compiler/compiler.h"
#include "explain/disasm.h"
#include "explain/print.h"

extern "C" {  // made by cmake/device_code.cmake
extern const char baretile_viz_css[], baretile_viz_js[];
}

namespace baretile::viz {

using compiler::Plans;

namespace {

// With quotes. "<" is written so that nothing in it ends a script element of HTML.
std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (u8(c) < 0x20 || c == '<') {
      out += fmt::format("\\u{:04x}", u8(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

// [text, text]
std::string list(const auto& items, auto&& text) {
  std::string out = "[";
  for (const auto& item : items) out += (out.size() == 1 ? "" : ",") + text(item);
  return out + "]";
}

i64 microseconds(double seconds) { return i64(seconds * 1e6); }
std::string integers(const auto& numbers) { return fmt::format("[{}]", fmt::join(numbers, ",")); }

std::string base64(std::span<const u8> bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    u32 word = 0;
    for (size_t n = 0; n < 3; ++n) word = word << 8 | (n < count ? bytes[i + n] : 0u);
    for (size_t n = 0; n < 4; ++n) out += n <= count ? kDigits[extract(word, 18 - 6 * u32(n), 6)] : '=';
  }
  return out;
}

// A script element that the page opens when it needs it.
std::string packed(const std::string& id, const std::string& json) {
  std::vector<u8> bytes(compressBound(json.size()));
  uLongf size = bytes.size();
  if (compress2(bytes.data(), &size, reinterpret_cast<const u8*>(json.data()), json.size(), 6) != Z_OK)
    throw InternalError(fmt::format("viz: zlib does not compress {} bytes; report this.", json.size()));
  return fmt::format("<script type=\"text/plain\" id=\"{}\">{}</script>\n", id, base64({bytes.data(), size}));
}

std::string code_text(const KernelImage& image) {
  std::vector<u32> entries;
  for (const u32 entry : image.entry)
    if (entry != abi::kNoEntry) entries.push_back(entry);
  std::string text;
  for (const CodeLine& line : disassemble(image.code, entries))
    text += fmt::format("{:x}\t{:08x}\t{}\t{}\t{}\t{}\n", line.offset, line.word, line.tensix ? "T" : "", line.text,
                        line.note, line.target ? fmt::format("{:x}", *line.target) : "");
  return text;
}

// What a person wants to know of a kernel besides its code.
struct Origin {
  std::string spec, source;
};

class Page {
 public:
  explicit Page(const Recording& recording) : recording_(recording) {}

  std::string html() {
    std::string programs, kernels;
    for (size_t i = 0; i < recording_.programs.size(); ++i) programs += (i ? "," : "") + program(i);
    for (size_t i = 0; i < images_.size(); ++i) kernels += (i ? "," : "") + kernel(i);
    const std::string data = fmt::format(
        R"({{"command":{},"device":{},"about":{},"tiles":{},"programs":[{}],"kernels":[{}],"runs":{},"moves":{},"dropped":{}}})",
        json_string(recording_.command), json_string(recording_.device.name),
        json_string(recording_.device.description), tiles(), programs, kernels, runs(), moves(), recording_.dropped);
    return fmt::format(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>baretile viz</title>\n"
        "<meta name=\"viewport\" content=\"width=device-width\">\n<style>\n{}</style></head><body>\n{}"
        "<script type=\"application/json\" id=\"data\">{}</script>\n<script>\n{}</script></body></html>\n",
        baretile_viz_css, parts_, data, baretile_viz_js);
  }

 private:
  u32 number_of(const KernelImage& image) {
    const auto [found, fresh] = numbers_.try_emplace(image.key, u32(images_.size()));
    if (fresh) images_.push_back(&image);
    return found->second;
  }

  std::string program(size_t index) {
    const Recording::RanProgram& p = recording_.programs[index];
    std::vector<u32> launches;
    for (const Launch& launch : p.program.launches) launches.push_back(number_of(p.program.kernels[launch.kernel]));
    parts_ += packed(fmt::format("p{}", index), p.graph ? expressions(p) : fmt::format("{{{}}}", memory(p.program)));
    return fmt::format(R"({{"launches":{},"compile":[{},{}],"graph":{}}})", integers(launches),
                       microseconds(p.compile.begin), microseconds(p.compile.end), p.graph ? "true" : "false");
  }

  // The program as the compiler made it from its graph, which it does again.
  std::string expressions(const Recording::RanProgram& p) {
    const compiler::Graph graph = compiler::simplify(*p.graph);
    const Plans plans = compiler::plan(*p.graph);
    for (size_t k = 0; k < plans.sources.size(); ++k)
      origins_.try_emplace(p.program.kernels[k].key,
                           Origin{to_string(plans.schedule.kernels[k]), plans.sources[k].text});
    std::vector<i32> launch_of(graph.nodes.size(), -1);
    const std::vector<u32> order = compiler::launch_order(plans.plan);
    for (size_t launch = 0; launch < order.size(); ++launch)
      for (const u32 node : plans.plan.kernels[order[launch]].nodes)
        if (node < launch_of.size()) launch_of[node] = i32(launch);
    std::string nodes;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const compiler::Node& n = graph.nodes[i];
      const std::string detail =
          n.op == compiler::Op::constant ? fmt::format("{}", n.value) : fmt::format("{}", fmt::join(n.attrs, " "));
      nodes +=
          fmt::format("{}[{},{},{},{},{}]", i ? "," : "", json_string(info(n.op).name),
                      json_string(fmt::format("{} {}", compiler::to_string(n.dtype), compiler::to_string(n.shape))),
                      integers(n.inputs), launch_of[i], json_string(detail));
    }
    return fmt::format(R"({{"nodes":[{}],"outputs":{},"plan":{},"schedule":{},{}}})", nodes, integers(graph.outputs),
                       json_string(to_string(plans.plan)), json_string(to_string(plans.schedule)), memory(p.program));
  }

  static std::string memory(const Program& program) {
    const auto buffer = [](const BufferDesc& b) {
      static constexpr const char* kTilings[] = {"tile", "row", "split"};
      return fmt::format("[{},{},{},{},{},{},{}]", json_string(b.name), json_string(compiler::to_string(b.shape)),
                         json_string(compiler::to_string(b.dtype)), json_string(kTilings[size_t(b.tiling)]), b.pages,
                         b.external, b.arena_offset);
    };
    const auto arguments = [](const Launch& launch) {
      return list(launch.args, [](const LaunchArg& a) {
        return fmt::format("{}", a.kind == LaunchArg::Kind::buffer ? i64(a.value) : -1);
      });
    };
    return fmt::format(R"("buffers":{},"args":{},"labels":{},"arena":{})", list(program.buffers, buffer),
                       list(program.launches, arguments),
                       list(program.launches, [](const Launch& l) { return json_string(l.label); }),
                       program.arena_bytes);
  }

  std::string kernel(size_t index) {
    const KernelImage& image = *images_[index];
    const auto sample = recording_.samples.find(image.key);
    const bool ran = sample != recording_.samples.end() && sample->second.complete;
    const Recording::Sample run = ran ? sample->second : Recording::Sample{};
    const Origin& origin = origins_[image.key];
    parts_ += packed(
        fmt::format("k{}", index),
        fmt::format(
            R"({{"spec":{},"source":{},"entry":{},"code":{},"noc":{},"program":{},"launch":{},"workers":{},"team":[{},{}],"at":{},"args":{}}})",
            json_string(origin.spec), json_string(origin.source.empty() ? cached_source(image.key) : origin.source),
            list(image.entry, [](u32 e) { return fmt::format("{}", i32(e)); }), json_string(code_text(image)),
            list(run.noc, [](const Recording::NocCounts& n) { return integers(n); }), run.program, run.launch,
            run.record.workers, run.record.team_rows, run.record.team_columns,
            list(run.record.entry, [](u32 e) { return fmt::format("{}", i32(e)); }), integers(run.record.args)));
    return fmt::format(R"({{"name":{},"bytes":{},"key":{}}})", json_string(image.name), image.code.size(),
                       json_string(image.key.substr(0, 12)));
  }

  // Of a program that is not made of tensor expressions.
  static std::string cached_source(const std::string& key) {
    std::ifstream in(compiler::KernelCache(compiler::cache_root() / "kernels").path(key, ".cc"), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string tiles() const {
    return list(recording_.tiles, [](NocXY t) { return fmt::format("[{},{}]", t.x, t.y); });
  }
  std::string runs() const {
    return list(recording_.launches, [](const Recording::RanLaunch& r) {
      return fmt::format("{},{},{},{},{},{}", r.program, r.launch, microseconds(r.begin), microseconds(r.ready),
                         microseconds(r.end), r.cycles);
    });
  }
  std::string moves() const {
    return list(recording_.moves, [](const Recording::Move& m) {
      return fmt::format("{},{},{},{}", microseconds(m.time.begin), microseconds(m.time.end), m.bytes,
                         m.to_device ? 1 : 0);
    });
  }

  const Recording& recording_;
  std::vector<const KernelImage*> images_;
  std::map<std::string, u32> numbers_;
  std::map<std::string, Origin> origins_;
  std::string parts_;
};

}  // namespace

std::string to_html(const Recording& recording) { return Page(recording).html(); }

std::string to_chrome_trace(const Recording& recording) {
  std::vector<std::string> events;
  static constexpr const char* kRows[] = {"compile", "transfer", "queue", "run"};
  for (int row = 0; row < 4; ++row)
    events.push_back(
        fmt::format(R"({{"name":"thread_name","ph":"M","pid":1,"tid":{},"args":{{"name":"{}"}}}})", row, kRows[row]));
  const auto event = [&](int row, std::string_view name, double begin, double end, const std::string& args) {
    events.push_back(
        fmt::format(R"({{"name":{},"cat":"{}","ph":"X","pid":1,"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{{}}}}})",
                    json_string(name), kRows[row], row, begin * 1e6, (end - begin) * 1e6, args));
  };
  for (const auto& p : recording.programs)
    if (p.graph)
      event(0, "compile", p.compile.begin, p.compile.end, fmt::format(R"("launches":{})", p.program.launches.size()));
  for (const auto& m : recording.moves)
    event(1, m.to_device ? "write" : "read", m.time.begin, m.time.end, fmt::format(R"("bytes":{})", m.bytes));
  for (const auto& l : recording.launches) {
    const std::string& label = recording.programs[l.program].program.launches[l.launch].label;
    const std::string args = fmt::format(R"("program":{},"launch":{},"cycles":{})", l.program, l.launch, l.cycles);
    event(2, label, l.begin, l.ready, args);
    event(3, label, l.ready, l.end, args);
  }
  return fmt::format(
      "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"command\":{},\"device\":{}}},\"traceEvents\":[\n{}\n]}}\n",
      json_string(recording.command), json_string(recording.device.description), fmt::join(events, ",\n"));
}

}  // namespace baretile::viz
