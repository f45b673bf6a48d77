"""mmbatch: batch three slow loops of Linux memory management, and measure them honestly."""
