import torch

from utils.device_rollouts import DeviceRolloutBuffer, pick_minibatches

CPU = torch.device("cpu")


def filled_buffer(n_steps=3, n_envs=2):
    buffer = DeviceRolloutBuffer(
        n_steps=n_steps,
        n_envs=n_envs,
        observation_shape=(4,),
        action_shape=(),
        action_dtype=torch.int64,
        device=CPU,
    )
    for k, name in enumerate(("observation", "action", "logprob", "value")):
        field = getattr(buffer, name)
        numbers = torch.arange(field.numel(), dtype=torch.float32) + 100 * k
        field.copy_(numbers.view(field.shape))
    return buffer


def test_samples_are_the_rollout_in_order_of_time_without_a_copy():
    buffer = filled_buffer()
    advantage, returns = torch.rand(3, 2), torch.rand(3, 2)
    samples = buffer.samples(advantage=advantage, returns=returns)
    assert samples.observation.shape == (6, 4)
    assert samples.old_logprob.tolist() == [200.0, 201.0, 202.0, 203.0, 204.0, 205.0]
    assert samples.old_value[3] == buffer.value[1, 1]
    assert samples.action.data_ptr() == buffer.action.data_ptr()
    assert samples.advantage.equal(advantage.flatten())
    assert samples.returns.equal(returns.flatten())


def test_minibatches_are_picked_by_the_rows_of_the_table():
    buffer = filled_buffer()
    samples = buffer.samples(advantage=torch.rand(3, 2), returns=torch.rand(3, 2))
    table = torch.tensor([[4, 0, 2], [1, 5, 3]])
    first, second = pick_minibatches(samples, table)
    assert first.action.tolist() == [104, 100, 102]
    assert second.observation[1].tolist() == [20.0, 21.0, 22.0, 23.0]
    assert second.advantage[2] == samples.advantage[3]


def test_a_minibatch_of_everything_is_not_copied():
    buffer = filled_buffer()
    samples = buffer.samples(advantage=torch.rand(3, 2), returns=torch.rand(3, 2))
    (only,) = pick_minibatches(samples, torch.tensor([[5, 4, 3, 2, 1, 0]]))
    assert only is samples
