// SPDX-License-Identifier: MIT
#include "sys/address.hpp"

#include <gtest/gtest.h>

namespace sparkrun::sys {
namespace {

TEST(Address, IsPublicOnTheInternetOnly) {
  for (const char* const address :
       {"8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.0.1", "169.253.1.1", "2606:4700::1",
        "[2606:4700::1]", "::ffff:8.8.8.8"}) {
    EXPECT_TRUE(is_public_address(address)) << address;
  }
  for (const char* const address : {"0.0.0.0",
                                    "10.1.2.3",
                                    "100.64.0.1",
                                    "127.0.0.1",
                                    "169.254.169.254",
                                    "172.16.0.1",
                                    "172.31.255.255",
                                    "192.168.0.1",
                                    "224.0.0.1",
                                    "255.255.255.255",
                                    "::",
                                    "::1",
                                    "[::1]",
                                    "fe80::1",
                                    "fe80::1%eth0",
                                    "fd00::1",
                                    "ff02::1",
                                    "::ffff:169.254.169.254",
                                    "64:ff9b::a9fe:a9fe",
                                    "",
                                    "name.test",
                                    "8.8.8"}) {
    EXPECT_FALSE(is_public_address(address)) << address;
  }
}

TEST(Address, IsNotAName) {
  EXPECT_TRUE(is_address("10.0.0.1"));
  EXPECT_TRUE(is_address("[fe80::1]"));
  EXPECT_FALSE(is_address("localhost"));
  EXPECT_FALSE(is_address("10.0.0.1:80"));
}

}  // namespace
}  // namespace sparkrun::sys
