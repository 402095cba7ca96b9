package auth

import (
	"context"
	"net/http"
	"sync"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
)

// identity is a Keystone with the credentials for it.
type identity struct {
	client *gophercloud.ServiceClient
	creds  credentials
}

// keystone issues tokens.
type keystone struct {
	clock clock.Clock

	mu sync.Mutex
	// now is replaced as a whole, and never modified.
	now identity
}

// newIdentity returns the Keystone of a configuration, with requests over the given transport.
func newIdentity(cfg config.Global, carrier http.RoundTripper, userAgent string) (identity, error) {
	creds, err := newCredentials(cfg)
	if err != nil {
		return identity{}, apierror.Wrap(err, doing)
	}
	endpoint, err := identityEndpoint(cfg.AuthURL)
	if err != nil {
		return identity{}, apierror.Wrap(err, doing)
	}
	provider := transport.NewClient(carrier, userAgent)
	return identity{client: &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: endpoint, Type: "identity"}, creds: creds}, nil
}

func (k *keystone) current() identity {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

func (k *keystone) use(other identity) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now = other
}

// issue returns a token as identity.issue does.
func (k *keystone) issue(ctx context.Context) (*token, error) {
	return k.current().issue(ctx, k.clock)
}

// issue returns a new token, or the configured one if there are no other credentials. Errors are
// AuthenticationErrors.
func (k identity) issue(ctx context.Context, clk clock.Clock) (*token, error) {
	asked := clk.Now()
	var result interface {
		ExtractInto(any) error
		ExtractTokenID() (string, error)
	}
	options := k.creds.options
	if bare := k.creds.bareToken(); bare != "" && options.Scope == (tokens.Scope{}) {
		client := *k.client
		client.MoreHeaders = map[string]string{"X-Auth-Token": bare}
		result = tokens.Get(ctx, &client, bare)
	} else {
		result = tokens.Create(ctx, k.client, &options)
	}
	issued, err := readToken(result, asked)
	if err != nil {
		return nil, &apierror.AuthenticationError{Err: apierror.WithoutSecrets(err, k.creds.secrets)}
	}
	issued.renewable = k.creds.bareToken() == ""
	return issued, nil
}

// reread uses the credentials that load returns, and reports whether they have changed. It ignores
// a configuration that cannot be read, and credentials for another Keystone, which Session.Try
// handles.
func (k *keystone) reread(ctx context.Context, load func() (config.Global, error)) bool {
	if load == nil {
		return false
	}
	cfg, err := load()
	var creds credentials
	var endpoint string
	if err == nil {
		creds, err = newCredentials(cfg)
	}
	if err == nil {
		endpoint, err = identityEndpoint(cfg.AuthURL)
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "The configuration cannot be read again: keeping the credentials")
		return false
	}
	now := k.current()
	if creds.options == now.creds.options || endpoint != now.client.Endpoint {
		return false
	}
	klog.FromContext(ctx).Info("The configuration has new credentials")
	now.creds = creds
	k.use(now)
	return true
}
