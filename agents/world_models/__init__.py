"""World Models (Ha and Schmidhuber 2018): see, remember, and evolve a controller in the dream."""
