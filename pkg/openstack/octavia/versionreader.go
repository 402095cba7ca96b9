package octavia

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"golang.org/x/sync/singleflight"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// VersionReader reads the newest version of the service's load balancer API, and caches it.
type VersionReader struct {
	session Session
	cache   versionCache
	// named is set when Octavia has reported its version; warning warns once about a service that
	// never does.
	named   atomic.Bool
	warning sync.Once
}

// VersionOptions configure a VersionReader.
type VersionOptions struct {
	// Fixed is used as the version; if it is zero, the version is read.
	Fixed model.Version
	// Age is how long an answer is valid.
	Age   time.Duration
	Clock clock.Clock
}

// NewVersionReader returns a reader that uses a session until life ends.
func NewVersionReader(life context.Context, session Session, options VersionOptions) *VersionReader {
	r := &VersionReader{session: session}
	r.cache = versionCache{read: r.read, age: options.Age, clock: options.Clock, life: life}
	if fixed := options.Fixed; fixed != (model.Version{}) {
		r.cache.read = func(context.Context) (model.Version, error) { return fixed, nil }
	}
	return r
}

// Version returns the newest version of the service's API. The answer is cached for
// VersionOptions.Age, and concurrent callers share one request. If the service does not answer, it
// returns an error, never a guess or an outdated version. A service that works but never reports a
// version counts as model.OldestVersion.
func (r *VersionReader) Version(ctx context.Context) (model.Version, error) { return r.cache.get(ctx) }

// read reads the root document. Octavia requires no token only at some paths
// (octavia/common/keystone.py, _NOAUTH_PATHS), and gateways may require one everywhere. So the
// request has a token, as all others.
func (r *VersionReader) read(ctx context.Context) (model.Version, error) {
	client, err := r.session.LoadBalancer(ctx)
	if err != nil {
		return model.Version{}, err
	}
	v, err := readVersions(ctx, client, client.Endpoint)
	if hasNoVersion(err) {
		v, err = r.withoutRoot(ctx, client, err)
	}
	if err == nil && v != model.OldestVersion { // that version may be a guess, and the guess can be repeated without a loss
		r.named.Store(true)
	}
	return v, apierror.Wrap(err, "read the versions of the load balancer API")
}

// withoutRoot returns the version of a service without a version document at its root, for the
// given reason. Another path may have the document. A service that has never reported its version,
// but answers to lists, counts as model.OldestVersion. That requires a definite answer at each path: a
// missing answer or an error of the service does not prove it.
func (r *VersionReader) withoutRoot(ctx context.Context, client *gophercloud.ServiceClient, reason error) (model.Version, error) {
	v, err := readVersions(ctx, client, client.ResourceBaseURL())
	switch {
	case err == nil || !hasNoVersion(err):
		return v, err
	case r.named.Load():
		return model.Version{}, reason
	}
	one := url.Values{"limit": {"1"}, "fields": {"id"}}
	if _, err := client.Get(ctx, lbaas(client, "loadbalancers?"+one.Encode()), nil, nil); err != nil {
		return model.Version{}, reason
	}
	if v, err := readVersions(ctx, client, client.Endpoint); !hasNoVersion(err) {
		return v, err // the failure was temporary
	}
	r.warning.Do(func() {
		klog.FromContext(r.cache.life).Error(reason, "Octavia does not tell its version: it counts as the oldest, and what came later is refused. "+
			"Give the version in cloud.conf, [LoadBalancer] octavia-api-version", "version", model.OldestVersion)
	})
	return model.OldestVersion, nil
}

// readVersions reads a version document.
func readVersions(ctx context.Context, client *gophercloud.ServiceClient, address string) (model.Version, error) {
	var document json.RawMessage
	opts := &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK, http.StatusMultipleChoices}}
	if _, err := client.Get(ctx, address, &document, opts); err != nil {
		return model.Version{}, err
	}
	return newestVersion(document)
}

// errNoVersion is the error of a version document without a known version.
var errNoVersion = errors.New("the version document has no supported version")

// hasNoVersion reports whether the error proves that a working service has no version document for
// us. It is false if the service does not answer now.
func hasNoVersion(err error) bool {
	switch apierror.StatusCode(err) {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusNotAcceptable, http.StatusGone:
		return !apierror.IsNotSignedIn(err)
	case 0:
		return errors.Is(err, errNoVersion) || apierror.IsUnreadable(err)
	}
	return false
}

// newestVersion reads a version document: {"versions": [{"id": "v2.0", "status": "SUPPORTED"}, …]}.
// It ignores invalid entries.
func newestVersion(document []byte) (model.Version, error) {
	var answer struct {
		Versions []struct{ ID, Status string }
	}
	if err := json.Unmarshal(document, &answer); err != nil {
		return model.Version{}, fmt.Errorf("the version document cannot be read: %w", err)
	}
	var newest model.Version
	for _, entry := range answer.Versions {
		v, err := model.ParseVersion(entry.ID)
		if err == nil && (entry.Status == "CURRENT" || entry.Status == "SUPPORTED") && v.AtLeast(newest) {
			newest = v
		}
	}
	if newest == (model.Version{}) {
		return model.Version{}, errNoVersion
	}
	return newest, nil
}

// versionCache stores a version until it expires.
type versionCache struct {
	read  func(context.Context) (model.Version, error)
	age   time.Duration
	clock clock.Clock
	// life ends with the session. A read ends with it, not with the caller that started the read.
	life context.Context

	flight singleflight.Group
	mu     sync.Mutex
	value  model.Version
	// until is when value expires; zero if there is none.
	until time.Time
}

func (c *versionCache) get(ctx context.Context) (model.Version, error) {
	if v, ok := c.cached(); ok {
		return v, nil
	}
	done := c.flight.DoChan("", func() (any, error) {
		if v, ok := c.cached(); ok {
			return v, nil
		}
		v, err := c.read(c.life)
		if err == nil {
			c.keep(v)
		}
		return v, err
	})
	select {
	case result := <-done:
		if result.Err != nil {
			return model.Version{}, result.Err
		}
		return result.Val.(model.Version), nil
	case <-ctx.Done():
		return model.Version{}, apierror.Wrap(ctx.Err(), "wait for the version of the load balancer API")
	}
}

func (c *versionCache) cached() (model.Version, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value, c.clock.Now().Before(c.until)
}

func (c *versionCache) keep(v model.Version) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.value, c.until = v, c.clock.Now().Add(c.age)
}
