"""The world model of Ha and Schmidhuber 2018: pictures to a few numbers, and how these go on."""

from utils.mdn_rnn.dream_play import DreamPlay, play_dreams
from utils.mdn_rnn.model import MdnRnnModel, MdnRnnSettings
from utils.mdn_rnn.recurrent import MdnRnn, VaeLatent
from utils.mdn_rnn.vae import VaeDecoder, VaeEncoder

__all__ = [
    "DreamPlay",
    "MdnRnn",
    "MdnRnnModel",
    "MdnRnnSettings",
    "VaeDecoder",
    "VaeEncoder",
    "VaeLatent",
    "play_dreams",
]
