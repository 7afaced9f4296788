from gym_envs import compile_notice
from gym_envs.compile_notice import leave_saying_to_another, say_compiling


def test_one_of_several_processes_speaks(monkeypatch, capsys):
    monkeypatch.setattr(compile_notice, "_silent", [])
    say_compiling("(a moment)")
    assert capsys.readouterr().err == "compiling for this machine (a moment)\n"
    leave_saying_to_another("the leader speaks")
    say_compiling("(a moment)")
    assert capsys.readouterr().err == ""
