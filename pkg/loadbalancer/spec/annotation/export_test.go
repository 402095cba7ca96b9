package annotation

// Aliases is aliases.
func Aliases() map[string]string { return aliases() }
