# SPDX-License-Identifier: MIT
# What `cmake --install` puts where Debian's tools look for it.
install(TARGETS sparkrun RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES completions/sparkrun.bash
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME sparkrun)
install(FILES completions/_sparkrun DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES completions/sparkrun.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES docs/man/sparkrun.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
