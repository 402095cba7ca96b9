package limiter

import (
	"context"
	"net/http"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// Priority orders the requests of one class that wait for a slot.
type Priority int

const (
	// PriorityHigh is for deletes, which free quota, and for creates, which users wait for.
	PriorityHigh Priority = iota
	// PriorityNormal is for changes and reads.
	PriorityNormal
	// PriorityLow is for improvements: members for new nodes.
	PriorityLow

	priorities = iota
)

type priorityKey struct{}

// WithPriority overrides the priority by method and path, for all requests with the context.
func WithPriority(ctx context.Context, priority Priority) context.Context {
	return context.WithValue(ctx, priorityKey{}, min(max(priority, PriorityHigh), PriorityLow))
}

// priorityOf returns the priority of a request.
func priorityOf(req *http.Request, kind rest.Kind) Priority {
	if given, ok := req.Context().Value(priorityKey{}).(Priority); ok {
		return given
	}
	switch {
	case kind.Name == "loadbalancer_member_create", isAdditive(req, kind):
		return PriorityLow
	case req.Method == http.MethodDelete, req.Method == http.MethodPost:
		return PriorityHigh
	default:
		return PriorityNormal
	}
}

// isAdditive reports whether a request is a batch that only adds and changes members. Octavia's
// parameter for it is a boolean.
func isAdditive(req *http.Request, kind rest.Kind) bool {
	if kind.Name != "loadbalancer_members_update" {
		return false
	}
	switch req.URL.Query().Get("additive_only") {
	case "true", "True", "1":
		return true
	}
	return false
}
