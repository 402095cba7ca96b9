package lookup

// Error reports a missing object in the cloud, or a wrong setting.
type Error struct {
	// Message is the text for the user.
	Message string
	// Err is the cause, nil if there is none.
	Err error
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
