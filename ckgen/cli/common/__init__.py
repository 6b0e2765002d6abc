"""Code that several commands share: options, the console, the selection of instances, builds, signals."""
