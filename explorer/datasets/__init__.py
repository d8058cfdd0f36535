"""The data sets that ship with the samples, as numpy arrays with a fixed split."""
