package barbican

import (
	"net/http"
	"slices"
	"strings"
)

// secretReference is a secret inside of a container.
type secretReference struct {
	Name      string `json:"name"`
	SecretRef string `json:"secret_ref"`
}

type containerRequest struct {
	Type    string            `json:"type"`
	Name    *string           `json:"name"`
	Secrets []secretReference `json:"secret_refs"`
}

// parts are the names that secrets have in a container of a type; nil: any.
func parts(kind string) (required, allowed []string) {
	switch kind {
	case "certificate":
		return []string{"certificate"}, []string{"certificate", "private_key", "private_key_passphrase", "intermediates"}
	case "rsa":
		return []string{"private_key", "public_key"}, []string{"private_key", "public_key", "private_key_passphrase"}
	}
	return nil, nil
}

func (b *Barbican) containerFor(c *call) (*container, error) {
	found := b.container(c.PathValue("id"))
	if found == nil {
		return nil, inAnotherCastle("container")
	}
	if !found.mayRead(c.caller) {
		return nil, refuse(http.StatusForbidden, "Container retrieval attempt not allowed - please review your user/project privileges")
	}
	return found, nil
}

func (b *Barbican) postContainer(c *call) (int, any, error) {
	var request containerRequest
	if err := c.decode(&request); err != nil {
		return 0, nil, err
	}
	if err := b.checkContainer(request); err != nil {
		return 0, nil, err
	}
	made := &container{
		metadata: b.newMetadata(valueOf(request.Name), c.caller.ProjectID, c.caller.UserID),
		kind:     request.Type, secrets: append([]secretReference{}, request.Secrets...),
	}
	b.containers = append(b.containers, made)
	return http.StatusCreated, map[string]any{"container_ref": c.reference("containers", made.id)}, nil
}

func (b *Barbican) checkContainer(request containerRequest) error {
	if !slices.Contains([]string{"generic", "rsa", "certificate"}, request.Type) {
		return refuse(http.StatusBadRequest, "Provided object does not match schema 'Container': '%s' is not one of ['generic', 'rsa', 'certificate']. Invalid property: 'type'", request.Type)
	}
	required, allowed := parts(request.Type)
	names := []string{}
	for _, reference := range request.Secrets {
		if slices.Contains(names, reference.Name) {
			return refuse(http.StatusBadRequest, "Provided object does not match schema 'Container': Duplicate reference names are not allowed. Invalid property: 'secret_refs'")
		}
		if allowed != nil && !slices.Contains(allowed, reference.Name) {
			return refuse(http.StatusBadRequest, "Provided object does not match schema 'Container': only %s reference names are allowed for %s type. Invalid property: 'secret_refs'", strings.Join(allowed, ", "), request.Type)
		}
		names = append(names, reference.Name)
	}
	for _, name := range required {
		if !slices.Contains(names, name) {
			return refuse(http.StatusBadRequest, "Provided object does not match schema 'Container': The '%s' reference is required for %s type. Invalid property: 'secret_refs'", name, request.Type)
		}
	}
	for _, reference := range request.Secrets {
		if b.secret(lastElement(reference.SecretRef)) == nil {
			return refuse(http.StatusNotFound, "Secret provided for '%s' doesn't exist.", reference.Name)
		}
	}
	return nil
}

func (b *Barbican) listContainers(c *call) (int, any, error) {
	query := c.URL.Query()
	shown := []any{}
	for _, stored := range b.containers {
		if stored.projectID == c.caller.ProjectID && matches(query.Get("name"), stored.name) && matches(query.Get("type"), stored.kind) {
			shown = append(shown, stored.body(c))
		}
	}
	return listed(c, "containers", shown)
}

func (b *Barbican) showContainer(c *call) (int, any, error) {
	found, err := b.containerFor(c)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, found.body(c), nil
}

// deleteContainer deletes a container, and keeps its secrets.
func (b *Barbican) deleteContainer(c *call) (int, any, error) {
	found, err := b.containerFor(c)
	if err != nil {
		return 0, nil, err
	}
	b.containers = slices.DeleteFunc(b.containers, func(other *container) bool { return other == found })
	return http.StatusNoContent, nil, nil
}

func (c *container) body(asked *call) map[string]any {
	shown := []map[string]string{}
	for _, known := range c.consumers {
		shown = append(shown, map[string]string{"name": known.Name, "URL": known.URL})
	}
	return map[string]any{
		"name": c.name, "type": c.kind, "status": "ACTIVE", "creator_id": c.creatorID,
		"created": c.created.Format(timeFormat), "updated": c.updated.Format(timeFormat),
		"container_ref": asked.reference("containers", c.id), "secret_refs": c.secrets, "consumers": shown,
	}
}
