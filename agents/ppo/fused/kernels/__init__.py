"""Triton kernels of one PPO iteration: rollout, returns, gradient, optimiser.

Needs Triton; nothing outside `agents.ppo.fused.loop` and the tests imports it. With
``TRITON_INTERPRET=1`` set before the first import, the same code runs on the CPU.
"""
