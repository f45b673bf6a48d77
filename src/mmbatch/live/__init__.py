"""Livepatch modules for distribution kernels."""
