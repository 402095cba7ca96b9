package barbican

import (
	"net/http"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
)

// consumer is a registered user of a secret or container.
type consumer struct {
	Name    string `json:"name"`
	URL     string `json:"URL"`
	Status  string `json:"status"`
	Created string `json:"created"`
	Updated string `json:"updated"`
}

// access lists the users who may read an object beside its project.
type access struct {
	Users         []string `json:"users"`
	ProjectAccess bool     `json:"project-access"`
	Created       string   `json:"created"`
	Updated       string   `json:"updated"`
}

// mayRead follows the access list: the project unless it is shut out, and the
// users on the list. In the project, its creator and administrators always may.
func (m *metadata) mayRead(caller keystone.Caller) bool {
	if m.access != nil && slices.Contains(m.access.Users, caller.UserID) {
		return true
	}
	return m.mayChange(caller)
}

// right is what a caller needs for an action on an object.
type right func(*metadata, keystone.Caller) bool

// inProject is the right to see the access list, and to add a payload.
func (m *metadata) inProject(caller keystone.Caller) bool { return m.projectID == caller.ProjectID }

// mayChange is the right to delete an object, and to change its access list: the project's too, of one that the
// project may not read the creator's and its administrators'.
func (m *metadata) mayChange(caller keystone.Caller) bool {
	return m.projectID == caller.ProjectID && (m.access == nil || m.access.ProjectAccess || m.creatorID == caller.UserID || caller.IsAdmin())
}

// on finds the object of the path for a handler of both secrets and containers. The action is without the kind of the
// object that its name begins with.
func (b *Barbican) on(collection, action string, may right, serve func(*call, *metadata, func() any) (int, any, error)) handler {
	return func(c *call) (int, any, error) {
		if collection == "secrets" {
			found, err := b.secretFor(c, "Secret"+action, may)
			if err != nil {
				return 0, nil, err
			}
			return serve(c, &found.metadata, func() any { return found.body(c) })
		}
		found, err := b.containerFor(c, "Container"+action, may)
		if err != nil {
			return 0, nil, err
		}
		return serve(c, &found.metadata, func() any { return found.body(c) })
	}
}

func (b *Barbican) listConsumers(c *call, of *metadata, _ func() any) (int, any, error) {
	shown := []any{}
	for _, known := range of.consumers {
		shown = append(shown, known)
	}
	return listed(c, "consumers", shown)
}

// postConsumer registers a consumer, and returns the object. A repeated registration has no effect.
func (b *Barbican) postConsumer(c *call, of *metadata, body func() any) (int, any, error) {
	var request Consumer
	if err := c.decode(&request); err != nil {
		return 0, nil, err
	}
	if request.Name == "" || request.URL == "" {
		return 0, nil, refuse(http.StatusBadRequest, "Provided object does not match schema 'Consumer': 'name' and 'URL' are required properties.")
	}
	now := b.clock.Now().UTC().Format(timeFormat)
	if of.find(request) < 0 {
		of.consumers = append(of.consumers, &consumer{
			Name: request.Name, URL: request.URL, Status: "ACTIVE", Created: now, Updated: now,
		})
	}
	return http.StatusOK, body(), nil
}

func (b *Barbican) deleteConsumer(c *call, of *metadata, body func() any) (int, any, error) {
	var request Consumer
	if err := c.decode(&request); err != nil {
		return 0, nil, err
	}
	at := of.find(request)
	if at < 0 {
		return 0, nil, refuse(http.StatusNotFound, "Consumer not found.")
	}
	of.consumers = slices.Delete(of.consumers, at, at+1)
	return http.StatusOK, body(), nil
}

func (m *metadata) find(wanted Consumer) int {
	return slices.IndexFunc(m.consumers, func(known *consumer) bool {
		return known.Name == wanted.Name && known.URL == wanted.URL
	})
}

func (b *Barbican) showAccess(_ *call, of *metadata, _ func() any) (int, any, error) {
	if of.access == nil {
		return http.StatusOK, map[string]any{"read": map[string]bool{"project-access": true}}, nil
	}
	return http.StatusOK, map[string]any{"read": of.access}, nil
}

// accessRequest is the list. Missing keys are kept by PATCH and reset by PUT.
type accessRequest struct {
	Read *struct {
		Users         *[]string `json:"users"`
		ProjectAccess *bool     `json:"project-access"`
	} `json:"read"`
}

func (b *Barbican) putAccess(c *call, of *metadata, _ func() any) (int, any, error) {
	of.access = nil
	return b.patchAccess(c, of, nil)
}

func (b *Barbican) patchAccess(c *call, of *metadata, _ func() any) (int, any, error) {
	var request accessRequest
	if err := c.decode(&request); err != nil {
		return 0, nil, err
	}
	if request.Read == nil {
		return 0, nil, refuse(http.StatusBadRequest, "Provided object does not match schema 'ACL': 'read' is a required property.")
	}
	now := b.clock.Now().UTC().Format(timeFormat)
	if of.access == nil {
		of.access = &access{Users: []string{}, ProjectAccess: true, Created: now}
	}
	of.access.Updated = now
	if request.Read.Users != nil {
		of.access.Users = *request.Read.Users
	}
	if request.Read.ProjectAccess != nil {
		of.access.ProjectAccess = *request.Read.ProjectAccess
	}
	collection := "containers"
	if b.secret(of.id) != nil {
		collection = "secrets"
	}
	return http.StatusOK, map[string]any{"acl_ref": c.reference(collection, of.id) + "/acl"}, nil
}

func (b *Barbican) deleteAccess(_ *call, of *metadata, _ func() any) (int, any, error) {
	of.access = nil
	return http.StatusOK, nil, nil
}
