"""Shows pictures of the environment in place of its observation."""
