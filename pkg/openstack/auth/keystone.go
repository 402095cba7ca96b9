package auth

import (
	"context"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
)

// keystone asks for tokens.
type keystone struct {
	client *gophercloud.ServiceClient
	creds  credentials
	clock  clock.Clock
}

// newKeystone returns a client that asks through the transport of the options.
func newKeystone(endpoint string, creds credentials, options Options) *keystone {
	provider := transport.NewClient(options.Transport, options.UserAgent)
	client := &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: endpoint, Type: "identity"}
	return &keystone{client: client, creds: creds, clock: options.Clock}
}

// issue returns a token: a new one, or, with nothing but a token to sign in with, that
// one. Errors are AuthenticationErrors.
func (k *keystone) issue(ctx context.Context) (*token, error) {
	asked := k.clock.Now()
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

// reread takes over the credentials that load returns, and reports whether they are
// others than before. What cannot be read changes nothing.
func (k *keystone) reread(ctx context.Context, load func() (config.Global, error)) bool {
	if load == nil {
		return false
	}
	cfg, err := load()
	var creds credentials
	if err == nil {
		creds, err = newCredentials(cfg)
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "The configuration cannot be read again: the credentials stay as they are")
		return false
	}
	if creds.options == k.creds.options {
		return false
	}
	klog.FromContext(ctx).Info("The configuration has new credentials")
	k.creds = creds
	return true
}
