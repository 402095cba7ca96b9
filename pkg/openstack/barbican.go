package openstack

import (
	"context"
	"fmt"
	"net/url"
	"path"
)

// Barbican asks for certificates. It reads no secret: only whether there is one.
type Barbican struct {
	session *Session
}

// Barbican gives the typed calls of the key manager.
func (s *Session) Barbican() *Barbican { return &Barbican{session: s} }

// Exists asks whether the container or secret of a reference, such as
// https://barbican.example.com/v1/secrets/ID, is there and ours to read. It asks the
// key manager of the catalog, whatever host the reference names: the request carries
// our token.
func (b *Barbican) Exists(ctx context.Context, ref string) error {
	at, err := url.Parse(ref)
	if err != nil {
		return fmt.Errorf("reference of a certificate: %w", err)
	}
	client, err := b.session.KeyManager(ctx)
	if err != nil {
		return err
	}
	kind, id := path.Base(path.Dir(at.Path)), path.Base(at.Path)
	_, err = client.Get(ctx, client.ServiceURL(kind, id), nil, nil)
	return Wrap(err, "look for the certificate "+kind+"/"+id)
}
