"""TD-MPC2 and TD-MPC: planning in a learnt latent space, with values at the horizon."""
