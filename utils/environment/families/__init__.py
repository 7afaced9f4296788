"""One module per family of environments: how ids are found and what is special about them."""
