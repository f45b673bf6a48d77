"""mmbatch: batch slow loops of Linux memory management, and measure them honestly."""

VERSION = "0.1.0"
