from gym_envs.atari.noop_draws import build_generator, draw_below


def test_words_are_those_of_the_standard_twister():
    # The C++ standard (rand.predef) gives the 10000th word of a mt19937 with the default seed 5489.
    words = build_generator(5489).bit_generator.random_raw(10_000)
    assert words[0] == 3499211612
    assert words[-1] == 4123659995


def test_a_draw_is_the_high_half_of_a_product():
    generator, words = build_generator(3), build_generator(3).bit_generator.random_raw(50)
    assert [draw_below(generator, 30) for _ in range(50)] == [int(w) * 30 >> 32 for w in words]


class OneAfterAnother:
    def __init__(self, words):
        self.bit_generator = self
        self.random_raw = iter(words).__next__


def test_words_that_would_favour_small_numbers_are_drawn_anew():
    # 2^32 mod 30 is 16: a product whose low half is below 16 is refused. The words 0 and
    # 143165577 give the products 0 and 2^32 + 14, so the third word counts:
    # (2^31 + 1) * 30 = 15 * 2^32 + 30.
    assert draw_below(OneAfterAnother([0, 143165577, (1 << 31) + 1]), 30) == 15


def test_without_a_seed_two_generators_differ():
    first, second = (build_generator(None).bit_generator.random_raw(4).tolist() for _ in range(2))
    assert first != second
