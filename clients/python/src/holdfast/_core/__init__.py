"""The engine without input and output: all times come from a clock, all messages go to a wire."""
