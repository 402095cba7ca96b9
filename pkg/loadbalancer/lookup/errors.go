package lookup

// Error is what the cloud or the configuration lacks.
type Error struct {
	// Message says so to the user.
	Message string
	// Err is the error behind it, nil for none.
	Err error
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the error behind it.
func (e *Error) Unwrap() error { return e.Err }
