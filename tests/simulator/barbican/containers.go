package barbican

import (
	"net/http"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/internal/wire"
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

func (b *Barbican) containerFor(c *call, action string, may right) (*container, error) {
	found := b.container(c.PathValue("id"))
	if found == nil {
		return nil, absent("Secrets container", "container", c.PathValue("id"))
	}
	if !may(&found.metadata, c.caller) {
		return nil, forbidden(action)
	}
	return found, nil
}

func (b *Barbican) postContainer(c *call) (int, any, error) {
	var request containerRequest
	if err := c.decode(&request); err != nil {
		return 0, nil, err
	}
	if err := b.checkContainer(request, wire.Base(c.Request)); err != nil {
		return 0, nil, err
	}
	made := &container{
		metadata: b.newMetadata(valueOf(request.Name), c.caller.ProjectID, c.caller.UserID),
		kind:     request.Type, secrets: append([]secretReference{}, request.Secrets...),
	}
	b.containers = append(b.containers, made)
	return http.StatusCreated, map[string]any{"container_ref": c.reference("containers", made.id)}, nil
}

// checkContainer refuses a container with secrets that are not at base, the URL of this Barbican.
func (b *Barbican) checkContainer(request containerRequest, base string) error {
	if !slices.Contains([]string{"generic", "rsa", "certificate"}, request.Type) {
		return refuse(http.StatusBadRequest, "Provided object does not match schema 'Container': '%s' is not one of ['generic', 'rsa', 'certificate']. Invalid property: 'type'", request.Type)
	}
	names, ids := map[string]bool{}, map[string]bool{}
	for _, reference := range request.Secrets {
		names[reference.Name], ids[lastElement(reference.SecretRef)] = true, true
	}
	invalid := func(format string, args ...any) error {
		return refuse(http.StatusBadRequest, "Provided object does not match schema 'Container': "+format+". Invalid property: 'secret_refs'", args...)
	}
	if len(names) < len(request.Secrets) {
		return invalid("Duplicate reference names are not allowed")
	}
	if len(ids) < len(request.Secrets) {
		return invalid("Duplicate secret ids are not allowed")
	}
	required, allowed := parts(request.Type)
	for _, name := range required {
		if !names[name] {
			return invalid("The minimum required reference name is '%s' for %s type", name, titled(request.Type))
		}
	}
	for name := range names {
		if allowed != nil && !slices.Contains(allowed, name) {
			return invalid("only '%s' reference names are allowed for %s type", strings.Join(allowed, "', '"), titled(request.Type))
		}
	}
	for _, reference := range request.Secrets {
		if !strings.HasPrefix(reference.SecretRef, base) {
			return refuse(http.StatusBadRequest, "Provided field value is not supported")
		}
		if b.secret(lastElement(reference.SecretRef)) == nil {
			return refuse(http.StatusNotFound, "Secret provided for '%s' doesn't exist.", reference.Name)
		}
	}
	return nil
}

// titled is the type of a container as Barbican's messages write it.
func titled(kind string) string { return strings.ToUpper(kind[:1]) + kind[1:] }

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
	found, err := b.containerFor(c, "Container retrieval", (*metadata).mayRead)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, found.body(c), nil
}

// deleteContainer deletes a container, and keeps its secrets.
func (b *Barbican) deleteContainer(c *call) (int, any, error) {
	found, err := b.containerFor(c, "Container deletion", (*metadata).mayChange)
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
