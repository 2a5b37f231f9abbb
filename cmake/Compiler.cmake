# SPDX-License-Identifier: MIT
# Warnings, hardening and sanitizers, as one INTERFACE target that our own targets link privately.
option(SPARKRUN_WERROR "treat warnings as errors (dev and CI presets only, never for users)" OFF)
option(SPARKRUN_SANITIZE "AddressSanitizer and UndefinedBehaviorSanitizer" OFF)

add_library(sparkrun_compiler INTERFACE)
target_compile_options(sparkrun_compiler INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wold-style-cast -fstack-protector-strong
  $<$<BOOL:${SPARKRUN_WERROR}>:-Werror>)

# Designated initialisers leave members out on purpose: a default in the struct is the default.
target_compile_options(sparkrun_compiler INTERFACE -Wno-missing-field-initializers)

if(SPARKRUN_SANITIZE)
  target_compile_options(sparkrun_compiler INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(sparkrun_compiler INTERFACE -fsanitize=address,undefined)
else()
  target_compile_definitions(sparkrun_compiler INTERFACE _GLIBCXX_ASSERTIONS
    $<$<CONFIG:Release,RelWithDebInfo>:_FORTIFY_SOURCE=2>)
endif()
