"""The commands of `kina`, one module each, imported when the command is named."""
