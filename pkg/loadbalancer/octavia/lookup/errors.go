package lookup

import "fmt"

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

// noSubnet is the error for a subnet from the setting askedBy that the project does not see.
func noSubnet(askedBy, id string) *Error {
	return &Error{Message: fmt.Sprintf("%s: there is no subnet %s, or this project cannot see it: correct the ID, or share the network with the project", askedBy, id)}
}
