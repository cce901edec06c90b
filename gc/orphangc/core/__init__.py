"""The pure core: values in, values out; no clock, no I/O."""
