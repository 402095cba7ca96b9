// Package barbican is a typed client of the key manager API.
package barbican

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path"

	"github.com/google/uuid"
	"github.com/gophercloud/gophercloud/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// Session provides the connection of a Client.
type Session interface {
	// KeyManager returns a client of the key manager API, version 1.
	KeyManager(ctx context.Context) (*gophercloud.ServiceClient, error)
}

// Client checks certificates. It reads no secrets, only whether they exist.
type Client struct {
	session Session
}

// New returns a client for a session.
func New(session Session) *Client { return &Client{session: session} }

// Exists returns nil if the container or secret of a reference, such as
// https://barbican.example.com/v1/secrets/ID, exists and is readable. It asks the key manager of
// the catalog, regardless of the host in the reference, because the request carries our token.
func (c *Client) Exists(ctx context.Context, ref string) error {
	kind, id, err := ParseSecretRef(ref)
	if err != nil {
		return err
	}
	client, err := c.session.KeyManager(ctx)
	if err != nil {
		return err
	}
	var answer struct {
		Container string `json:"container_ref"`
		Secret    string `json:"secret_ref"`
	}
	err = rest.Get(ctx, client, client.ServiceURL(kind, id), &answer)
	if err == nil {
		err = rest.CheckAbout(id, path.Base(cmp.Or(answer.Container, answer.Secret)))
	}
	return apierror.Wrap(err, "look for the certificate "+kind+"/"+id)
}

// ParseSecretRef parses the reference of a container or secret of Barbican: a URL that ends in
// containers/ID or secrets/ID. Requests contain no other part of it. The error does not repeat the
// reference.
func ParseSecretRef(ref string) (kind, id string, err error) {
	at, err := url.Parse(ref)
	if err != nil || at.Host == "" {
		return "", "", fmt.Errorf("the reference of a certificate is not a URL with a host")
	}
	if at.User != nil {
		return "", "", fmt.Errorf("the reference of a certificate has a user or password in it")
	}
	kind, id = path.Base(path.Dir(at.Path)), path.Base(at.Path)
	if kind != "containers" && kind != "secrets" || len(id) != 36 || uuid.Validate(id) != nil {
		return "", "", fmt.Errorf("the reference of a certificate does not end in containers/ID or secrets/ID")
	}
	return kind, id, nil
}
