package control

import (
	"encoding/json"
	"net/http"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// condition is the body of POST conditions: a failure of the whole cloud. Each kind needs some of
// the other keys.
type condition struct {
	Kind string `json:"kind"`
	// For is its duration; if it is empty, the condition lasts until it is removed.
	For duration `json:"for"`

	Subnet       string `json:"subnet"`
	Resource     string `json:"resource"`
	Limit        int    `json:"limit"`
	URL          string `json:"url"`
	Cell         string `json:"cell"`
	LoadBalancer string `json:"load_balancer"`
	Status       string `json:"provisioning_status"`

	Method string          `json:"method"`
	Path   string          `json:"path"`
	Body   json.RawMessage `json:"body"`
	Every  duration        `json:"every"`
}

// addCondition starts a condition and returns its ID, by which it is removed as faults are.
func (c *control) addCondition(r *http.Request) (answer, error) {
	if c.parts.Cloud == nil {
		return answer{}, refuse(http.StatusNotImplemented, "this control API was started without a whole cloud")
	}
	var wanted condition
	if err := read(r, &wanted); err != nil {
		return answer{}, err
	}
	if wanted.Kind == "foreign" {
		return c.actForeign(wanted)
	}
	id, err := c.begin(wanted)
	if err != nil {
		return answer{}, err
	}
	return answer{http.StatusCreated, map[string]string{"id": id}}, nil
}

func (c *control) begin(wanted condition) (id string, err error) {
	lasting, err := wanted.For.parse("for", false)
	if err != nil {
		return "", err
	}
	switch wanted.Kind {
	case "connections-refused":
		if lasting == 0 {
			return "", refuse(http.StatusBadRequest, "this API is behind the same port: say for how long it is shut, with for")
		}
		return c.parts.Cloud.RefuseConnections(lasting), nil
	case "subnet-exhausted":
		id, err = c.parts.Cloud.ExhaustSubnet(wanted.Subnet)
		return id, err
	case "quota":
		if wanted.Resource == "" {
			return "", refuse(http.StatusBadRequest, "resource is missing, such as port or floatingip")
		}
		return c.parts.Cloud.LimitQuota(wanted.Resource, wanted.Limit), nil
	case "catalog":
		if wanted.URL == "" {
			return "", refuse(http.StatusBadRequest, "url is missing, such as http://localhost:5000")
		}
		return c.parts.Cloud.MoveEndpoints(wanted.URL), nil
	case "cell-down":
		if wanted.Cell == "" {
			wanted.Cell = "cell1"
		}
		return c.parts.Cloud.BreakCell(wanted.Cell), nil
	case "held":
		if err := checkStatus(wanted.Status); err != nil {
			return "", err
		}
		id, err = c.parts.Cloud.Hold(wanted.LoadBalancer, wanted.Status, lasting)
		if err != nil {
			return "", refuse(http.StatusNotFound, "%v", err)
		}
		return id, nil
	}
	return "", refuse(http.StatusBadRequest, "kind %q is none of %q", wanted.Kind, []string{
		"connections-refused", "subnet-exhausted", "quota", "catalog", "cell-down", "held", "foreign",
	})
}

// actForeign sends a request of another client.
func (c *control) actForeign(wanted condition) (answer, error) {
	every, err := wanted.Every.parse("every", false)
	if err != nil {
		return answer{}, err
	}
	if wanted.Method == "" || wanted.Path == "" {
		return answer{}, refuse(http.StatusBadRequest, "method or path is missing, such as DELETE and /network/v2.0/floatingips/{id}")
	}
	id, status, text, err := c.parts.Cloud.Act(simulator.Foreign{
		Method: wanted.Method, Path: wanted.Path, Body: wanted.Body, Every: every,
	})
	if err != nil {
		return answer{}, refuse(http.StatusBadRequest, "%v", err)
	}
	told := map[string]any{"status": status}
	if id != "" {
		told["id"] = id
	}
	if json.Valid(text) {
		told["answer"] = json.RawMessage(text)
	}
	return answer{http.StatusCreated, told}, nil
}

// setChildStatus sets the status of a listener, pool, member or monitor, and leaves its load
// balancer unchanged.
func (c *control) setChildStatus(r *http.Request) (answer, error) {
	return setStatus(r, c.parts.Octavia.SetChildStatus)
}

// failOperations makes the next operations of the provider end in ERROR.
func (c *control) failOperations(r *http.Request) (answer, error) {
	var wanted struct {
		Operation octavia.Operation `json:"operation"`
		Count     int               `json:"count"`
	}
	if err := read(r, &wanted); err != nil {
		return answer{}, err
	}
	switch wanted.Operation {
	case octavia.OperationCreate, octavia.OperationUpdate, octavia.OperationDelete, octavia.OperationFailover:
	default:
		return answer{}, refuse(http.StatusBadRequest, "operation %q is none of create, update and delete", wanted.Operation)
	}
	c.parts.Octavia.FailNext(wanted.Operation, max(wanted.Count, 1))
	return answer{status: http.StatusNoContent}, nil
}

// revokeTokens makes every client sign in again.
func (c *control) revokeTokens(*http.Request) (answer, error) {
	if c.parts.Cloud == nil {
		return answer{}, refuse(http.StatusNotImplemented, "this control API was started without a whole cloud")
	}
	c.parts.Cloud.Keystone.RevokeAll()
	return answer{status: http.StatusNoContent}, nil
}
