"""How a process begins to say that it compiles; whoever reads its output knows it by that."""

COMPILING = "compiling for this machine"
