"""Running a per-device module on a simulated mesh: inputs, steps, comparison with one device, report."""
