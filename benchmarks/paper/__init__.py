"""The paper's experiments: run, compared with what it printed, and told on a page.

A. Fazekas, Gy. Kovács, "Approximately Optimal Binning for the Piecewise Constant
Approximation of the Normalized Unexplained Variance (nUV) Dissimilarity Measure".
"""
