package neutron

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/internal/wire"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
)

// call is one request with its caller.
type call struct {
	*http.Request
	caller keystone.Caller
	body   []byte
}

// sees reports whether the caller may read and change the objects of a project.
func (c *call) sees(projectID string) bool {
	return c.caller.IsAdmin() || (projectID != "" && projectID == c.caller.ProjectID)
}

// project is who owns what this request creates.
func (c *call) project(wanted ...string) (string, error) {
	for _, id := range wanted {
		if id == "" || id == c.caller.ProjectID {
			continue
		}
		if !c.caller.IsAdmin() {
			return "", httpError(http.StatusBadRequest, "HTTPBadRequest", "Specifying 'project_id' or 'tenant_id' other than the authenticated project in request requires admin or advsvc privileges")
		}
		return id, nil
	}
	return c.caller.ProjectID, nil
}

// handler answers a call under Neutron's lock with a status and a body.
type handler func(*call) (int, any, error)

// handle turns a handler into one for HTTP. The answer is encoded before the
// lock is released, as it may share memory with the records.
func (n *Neutron) handle(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client went away
		}
		status, encoded := n.answer(h, &call{Request: r, caller: keystone.CallerFrom(r.Context()), body: body})
		if len(encoded) > 0 && !json.Valid(encoded) {
			wire.WriteText(w, status, string(encoded))
			return
		}
		wire.WriteBody(w, status, encoded)
	}
}

func (n *Neutron) answer(h handler, c *call) (int, []byte) {
	n.lock()
	defer n.unlock()
	status, body, err := h(c)
	if err != nil {
		return encodeError(err)
	}
	if body == nil {
		return status, nil
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return encodeError(err)
	}
	return status, encoded
}

// null is a body that Neutron calls null.
type null struct{}

// MarshalJSON implements json.Marshaler.
func (null) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// encodeError returns the answer for an error in Neutron's format. An error of another type than
// *Error is an internal error, for which Neutron gives no detail.
func encodeError(err error) (int, []byte) {
	refusal := &Error{
		Status: http.StatusInternalServerError, Type: "HTTPInternalServerError",
		Message: "Request Failed: internal server error while processing your request.",
	}
	errors.As(err, &refusal)
	if refusal.Type == "" {
		return refusal.Status, []byte(refusal.Message)
	}
	encoded, _ := json.Marshal(map[string]any{"NeutronError": map[string]string{ // strings always encode
		"type": refusal.Type, "message": refusal.Message, "detail": refusal.Detail,
	}})
	return refusal.Status, encoded
}

func httpError(status int, kind, format string, args ...any) *Error {
	return &Error{Status: status, Type: kind, Message: fmt.Sprintf(format, args...)}
}

// envelope is the body of a request: objects by the names of their resources.
func (c *call) envelope() (map[string]json.RawMessage, error) {
	var envelope map[string]json.RawMessage
	if err := json.Unmarshal(c.body, &envelope); err != nil {
		return nil, httpError(http.StatusBadRequest, "HTTPBadRequest", "Body contains invalid data")
	}
	return envelope, nil
}

// decode reads the object under the resource's name into a request type. An
// attribute that the request type does not have is refused: as read-only when
// record (any value of the record type) has it, as unknown otherwise.
func decode[T any](c *call, resource string, record any) (T, error) {
	var request T
	envelope, err := c.envelope()
	if err != nil {
		return request, err
	}
	encoded, ok := envelope[resource]
	if !ok || string(encoded) == "null" {
		return request, httpError(http.StatusBadRequest, "HTTPBadRequest", "Unable to find '%s' in request body", resource)
	}
	return request, decodeAttributes(c.Method, resource, encoded, &request, record)
}

// decodeBulk reads a list of objects; bulk is false if the body has none.
func decodeBulk[T any](c *call, collection, resource string, record any) (requests []T, bulk bool, err error) {
	envelope, err := c.envelope()
	if err != nil {
		return nil, false, err
	}
	encoded, bulk := envelope[collection]
	if !bulk {
		return nil, false, nil
	}
	var objects []json.RawMessage
	if json.Unmarshal(encoded, &objects) != nil || len(objects) == 0 {
		return nil, true, httpError(http.StatusBadRequest, "HTTPBadRequest", "Resources required")
	}
	requests = make([]T, len(objects))
	for i, object := range objects {
		if err := decodeAttributes(c.Method, resource, object, &requests[i], record); err != nil {
			return nil, true, err
		}
	}
	return requests, true, nil
}

func decodeAttributes(method, resource string, encoded []byte, request, record any) error {
	var attributes map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &attributes); err != nil {
		return httpError(http.StatusBadRequest, "HTTPBadRequest", "Object '%s' contains invalid data", resource)
	}
	accepted := attributesOf(reflect.TypeOf(request))
	known := attributesOf(reflect.TypeOf(record))
	var unknown []string
	for name := range attributes {
		if _, ok := accepted[name]; ok {
			continue
		}
		if _, ok := known[name]; ok {
			return readOnly(method, name)
		}
		unknown = append(unknown, name)
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return httpError(http.StatusBadRequest, "HTTPBadRequest", "Unrecognized attribute(s) '%s'", strings.Join(unknown, ", "))
	}
	if err := checkAttributes(attributes, reflect.TypeOf(request).Elem()); err != nil {
		return err
	}
	checked, err := json.Marshal(attributes)
	if err != nil {
		return fmt.Errorf("encode checked attributes: %w", err)
	}
	if err := json.Unmarshal(checked, request); err != nil {
		return httpError(http.StatusBadRequest, "HTTPBadRequest", "Invalid input for operation: %v.", err)
	}
	return nil
}

func readOnly(method, name string) *Error {
	if method == http.MethodPost {
		return httpError(http.StatusBadRequest, "HTTPBadRequest", "Attribute '%s' not allowed in POST", name)
	}
	return httpError(http.StatusBadRequest, "HTTPBadRequest", "Cannot update read-only attribute %s", name)
}

func missing(attribute string) *Error {
	return httpError(http.StatusBadRequest, "HTTPBadRequest", "Failed to parse request. Required attribute '%s' not specified", attribute)
}

// matchRevision enforces If-Match: revision_number=N against a record.
func matchRevision(c *call, current standard) error {
	header := c.Header.Get("If-Match")
	if header == "" {
		return nil
	}
	number, ok := strings.CutPrefix(header, "revision_number=")
	if !ok {
		return nil // any other condition has no revision
	}
	wanted, err := strconv.Atoi(number)
	if err != nil {
		return badRequest("BadRequest", "Bad if-match request: Revision number etag must be in the format of revision_number=<int>.")
	}
	if wanted != current.RevisionNumber {
		return httpError(http.StatusPreconditionFailed, "RevisionNumberConstraintFailed", "Constrained to %d, but current revision is %d", wanted, current.RevisionNumber)
	}
	return nil
}
