"""Training on the data sets: devices, the step loop, checkpoints that resume exactly."""
