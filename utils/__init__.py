"""The shelf of packages that agents, callbacks and entry scripts build on."""
