// SPDX-License-Identifier: MIT
#include "run/pull.hpp"

#include "base/text.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sparkrun::run {
namespace {

struct DriverRow {
  long long driver;
  int cuda;
};
constexpr std::array driver_rows = std::to_array<DriverRow>({{580, 13}, {525, 12}, {450, 11}});

// NGC's layers unpack to about two and a half times of what is downloaded, and both are there for
// a while.
constexpr long long unpacked_factor = 3;

}  // namespace

std::optional<int> cuda_major_of_driver(std::string_view driver) {
  const auto branch = parse_number(split_once(driver, '.').first);
  const auto row = std::ranges::find_if(
      driver_rows, [&](const DriverRow& one) { return branch.value_or(0) >= one.driver; });
  return row == driver_rows.end() ? std::nullopt : std::optional{row->cuda};
}

std::vector<std::string> foresee_pull(const PullOutlook& outlook) {
  std::vector<std::string> warnings;
  const long long download = outlook.image.download_bytes;
  if (download >= 0 && outlook.free_bytes && *outlook.free_bytes / unpacked_factor < download) {
    const bool is_certain = *outlook.free_bytes < download;
    warnings.push_back(fmt::format(
        "{} to download{}, and {} has {} left: it {}", human_bytes(download),
        is_certain ? "" : " and more when unpacked", outlook.engine.root_directory,
        human_bytes(*outlook.free_bytes), is_certain ? "will hardly fit" : "may not fit"));
  }
  const auto of_driver = cuda_major_of_driver(outlook.driver);
  const auto of_image = parse_number(split_once(outlook.image.cuda_version, '.').first);
  if (of_driver && of_image && *of_image > *of_driver) {
    warnings.push_back(
        fmt::format("the image is built for CUDA {}, and driver {} gives CUDA {} at most: the job "
                    "may find no GPU",
                    outlook.image.cuda_version, outlook.driver, *of_driver));
  }
  return warnings;
}

std::optional<long long> free_image_bytes(const engine::EngineFacts& engine) {
  if (engine.is_remote || engine.root_directory.empty()) return std::nullopt;
  // The containerd store lies beside docker's own folder, wherever that is not a user's choice.
  const bool is_default = engine.root_directory == "/var/lib/docker";
  return sys::free_bytes(engine.image_store == "containerd" && is_default ? "/var/lib/containerd"
                                                                          : engine.root_directory);
}

}  // namespace sparkrun::run
