// SPDX-License-Identifier: MIT
// Stand-in for the CUDA runtime: a library that loads and knows its version. CUDART_VERSION comes from the compiler's
// command line, as 1000 * major + 10 * minor.
int cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return 0;
}
