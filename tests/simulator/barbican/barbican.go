// Package barbican is the key manager of the simulated cloud, as far as TLS listeners need it. It
// has secrets with their payloads, containers, their consumers and their access lists, which
// Barbican's API and Go methods read and change.
package barbican

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/internal/wire"
)

// Options describe a Barbican. The zero value works.
type Options struct {
	// Clock stamps created and updated; nil means the real clock.
	Clock clock.PassiveClock
}

// Barbican is a running key manager. All methods may be called at the same time.
type Barbican struct {
	clock   clock.PassiveClock
	handler http.Handler

	mu         sync.Mutex
	secrets    []*secret
	containers []*container
}

// Secret is a secret as the Go side sees it.
type Secret struct {
	ID, Name, ProjectID string
	// Type is certificate, private, passphrase, opaque and the like.
	Type        string
	Payload     []byte
	ContentType string
}

// Container is a container as the Go side sees it.
type Container struct {
	ID, Name, ProjectID string
	// Type is certificate, rsa or generic.
	Type string
	// SecretIDs by their role: certificate, private_key, intermediates, private_key_passphrase.
	SecretIDs map[string]string
	Consumers []Consumer
}

// Consumer is a user of a container, such as a load balancer.
type Consumer struct{ Name, URL string }

// metadata has the common fields of secrets and containers.
type metadata struct {
	id, name, projectID, creatorID string
	created, updated               time.Time
	consumers                      []*consumer
	access                         *access
}

type secret struct {
	metadata
	kind, algorithm, mode string
	bits                  int
	expiration            *string
	payload               []byte
	contentType           string
	labels                map[string]string
}

type container struct {
	metadata
	kind    string
	secrets []secretReference
}

// New returns a Barbican without secrets.
func New(options Options) *Barbican {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	b := &Barbican{clock: options.Clock}
	b.handler = b.routes()
	return b
}

// ServeHTTP answers the key manager API. The path must start below the mount
// point (/v1/secrets), and the context carries the keystone.Caller.
func (b *Barbican) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.handler.ServeHTTP(w, wire.Rooted(r))
}

// AddSecret stores a secret and returns it with its ID.
func (b *Barbican) AddSecret(wanted Secret) Secret {
	b.mu.Lock()
	defer b.mu.Unlock()
	made := &secret{
		metadata: b.newMetadata(wanted.Name, wanted.ProjectID, ""), kind: wanted.Type, payload: wanted.Payload,
		contentType: wanted.ContentType,
	}
	b.secrets = append(b.secrets, made)
	return made.view()
}

// RemoveSecret deletes a secret, by its ID or reference, also from the containers that it is in.
func (b *Barbican) RemoveSecret(reference string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.removeSecret(lastElement(reference))
}

// Secrets returns all secrets in the order of their creation.
func (b *Barbican) Secrets() []Secret {
	b.mu.Lock()
	defer b.mu.Unlock()
	views := []Secret{}
	for _, stored := range b.secrets {
		views = append(views, stored.view())
	}
	return views
}

// Secret finds a secret by its ID or reference.
func (b *Barbican) Secret(reference string) (Secret, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if found := b.secret(lastElement(reference)); found != nil {
		return found.view(), true
	}
	return Secret{}, false
}

// Containers returns all containers in the order of their creation.
func (b *Barbican) Containers() []Container {
	b.mu.Lock()
	defer b.mu.Unlock()
	views := []Container{}
	for _, stored := range b.containers {
		views = append(views, stored.view())
	}
	return views
}

// Container finds a container by its ID or reference.
func (b *Barbican) Container(reference string) (Container, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if found := b.container(lastElement(reference)); found != nil {
		return found.view(), true
	}
	return Container{}, false
}

func (b *Barbican) newMetadata(name, projectID, userID string) metadata {
	now := b.clock.Now().UTC()
	return metadata{
		id: uuid.NewString(), name: name, projectID: projectID, creatorID: userID, created: now, updated: now,
	}
}

func (b *Barbican) secret(id string) *secret {
	for _, stored := range b.secrets {
		if stored.id == id {
			return stored
		}
	}
	return nil
}

func (b *Barbican) container(id string) *container {
	for _, stored := range b.containers {
		if stored.id == id {
			return stored
		}
	}
	return nil
}

func (s *secret) view() Secret {
	return Secret{
		ID: s.id, Name: s.name, ProjectID: s.projectID, Type: s.kind, Payload: append([]byte{}, s.payload...),
		ContentType: s.contentType,
	}
}

func (c *container) view() Container {
	view := Container{ID: c.id, Name: c.name, ProjectID: c.projectID, Type: c.kind, SecretIDs: map[string]string{}}
	for _, reference := range c.secrets {
		view.SecretIDs[reference.Name] = lastElement(reference.SecretRef)
	}
	for _, known := range c.consumers {
		view.Consumers = append(view.Consumers, Consumer{Name: known.Name, URL: known.URL})
	}
	return view
}

func lastElement(reference string) string {
	reference = strings.TrimSuffix(reference, "/")
	return reference[strings.LastIndex(reference, "/")+1:]
}
