package keystone

import (
	"context"
	"slices"
)

// Caller is the sender of a request, as in its token.
type Caller struct {
	UserID, ProjectID string
	Roles             []string
}

// HasRole reports whether the caller's token has one of these roles.
func (c Caller) HasRole(roles ...string) bool {
	return slices.ContainsFunc(roles, func(role string) bool { return slices.Contains(c.Roles, role) })
}

// IsAdmin reports whether the token has the role admin, which sees all projects.
func (c Caller) IsAdmin() bool { return c.HasRole("admin") }

type callerKey struct{}

// WithCaller returns a context that carries the caller, as Authenticate does
// for each request.
func WithCaller(ctx context.Context, caller Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

// CallerFrom returns the caller that Authenticate found; the zero Caller for a request without a
// token.
func CallerFrom(ctx context.Context) Caller {
	caller, _ := ctx.Value(callerKey{}).(Caller)
	return caller
}
