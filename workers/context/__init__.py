"""What agents get as `ctx`: steps, effects, questions, fan-outs, and the rules for replaying them."""
