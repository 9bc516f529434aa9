"""For who writes a program: `kit` checks what Inspector promises of every store. Not used by the program itself."""
