"""The networks of the problem set `zoo`: those of packages are traced, those of papers are written with layers."""
