"""Games of old consoles as environments, through the emulators of stable-retro."""
