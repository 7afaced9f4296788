"""Small neural networks in compiled code: forward and backward passes, distributions, Adam."""
