package openstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"golang.org/x/sync/singleflight"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Version is a version of an API. Octavia's are additive: a server of 2.16 has all
// that 2.12 had.
type Version struct {
	Major, Minor int
}

// String gives the usual form: "v2.16".
func (v Version) String() string { return fmt.Sprintf("v%d.%d", v.Major, v.Minor) }

// AtLeast compares numbers: 2.10 is later than 2.9.
func (v Version) AtLeast(other Version) bool {
	if v.Major != other.Major {
		return v.Major > other.Major
	}
	return v.Minor >= other.Minor
}

// ParseVersion reads "v2.16", "2.16" and "v2".
func ParseVersion(text string) (Version, error) {
	major, minor, hasMinor := strings.Cut(strings.TrimPrefix(text, "v"), ".")
	var v Version
	var err error
	if v.Major, err = parseNumber(major); err == nil && hasMinor {
		v.Minor, err = parseNumber(minor)
	}
	if err != nil {
		return Version{}, fmt.Errorf("%q is not an API version", text)
	}
	return v, nil
}

func parseNumber(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	return int(n), err
}

// OldestVersion is that of every Octavia with an API of version 2: it promises
// nothing but what was always there.
var OldestVersion = Version{2, 0}

// LoadBalancerVersion gives the newest version of the load balancer API that the
// service speaks. The answer is kept for SessionOptions.VersionAge, and callers at
// the same time share one request. When the service cannot be asked, it is an
// error: no guess, and no answer that is too old. A service that never tells and
// otherwise works counts as OldestVersion.
func (s *Session) LoadBalancerVersion(ctx context.Context) (Version, error) {
	return s.version.get(ctx)
}

// readLoadBalancerVersion asks for the root document. Octavia wants no token for it
// at some paths only (octavia/common/keystone.py, _NOAUTH_PATHS), and gateways for
// nothing at all: it is asked like everything else.
func (s *Session) readLoadBalancerVersion(ctx context.Context) (Version, error) {
	client, err := s.LoadBalancer(ctx)
	if err != nil {
		return Version{}, err
	}
	v, err := readVersions(ctx, client, client.Endpoint)
	if tellsNoVersion(err) && !s.versionTold.Load() {
		return s.withoutVersions(ctx, client, err)
	}
	if err == nil {
		s.versionTold.Store(true)
	}
	return v, Wrap(err, "read the versions of the load balancer API")
}

// withoutVersions is for a service whose root has no version document for us, for
// the reason given: another place may have it, and a service that answers to lists
// all the same is one that never tells.
func (s *Session) withoutVersions(ctx context.Context, client *gophercloud.ServiceClient, reason error) (Version, error) {
	reason = Wrap(reason, "read the versions of the load balancer API")
	if v, err := readVersions(ctx, client, client.ResourceBaseURL()); err == nil {
		return v, nil
	}
	one := url.Values{"limit": {"1"}, "fields": {"id"}}
	if _, err := client.Get(ctx, lbaas(client, "loadbalancers?"+one.Encode()), nil, nil); err != nil {
		return Version{}, reason
	}
	s.versionWarning.Do(func() {
		klog.FromContext(s.version.life).Error(reason, "Octavia does not tell its version: it counts as the oldest, and what came later is refused. "+
			"Give the version in cloud.conf, [LoadBalancer] octavia-api-version", "version", OldestVersion)
	})
	return OldestVersion, nil
}

// readVersions reads a version document.
func readVersions(ctx context.Context, client *gophercloud.ServiceClient, address string) (Version, error) {
	var document json.RawMessage
	opts := &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK, http.StatusMultipleChoices}}
	if _, err := client.Get(ctx, address, &document, opts); err != nil {
		return Version{}, err
	}
	return newestVersion(document)
}

// errNoVersion says that a version document names no version that we know.
var errNoVersion = errors.New("the version document has no supported version")

// tellsNoVersion tells a service that is in order and has no version document for us
// from one that cannot be asked just now.
func tellsNoVersion(err error) bool {
	switch StatusCode(err) {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return !notSignedIn(err)
	case 0:
		return errors.Is(err, errNoVersion) || isUnreadable(err)
	}
	return false
}

// newestVersion reads a version document: {"versions": [{"id": "v2.0", "status":
// "SUPPORTED"}, …]}. An entry that cannot be read is none.
func newestVersion(document []byte) (Version, error) {
	var answer struct {
		Versions []struct{ ID, Status string }
	}
	if err := json.Unmarshal(document, &answer); err != nil {
		return Version{}, fmt.Errorf("the version document cannot be read: %w", err)
	}
	var newest Version
	for _, entry := range answer.Versions {
		v, err := ParseVersion(entry.ID)
		if err == nil && (entry.Status == "CURRENT" || entry.Status == "SUPPORTED") && v.AtLeast(newest) {
			newest = v
		}
	}
	if newest == (Version{}) {
		return Version{}, errNoVersion
	}
	return newest, nil
}

// versionCache keeps a version for a time.
type versionCache struct {
	read  func(context.Context) (Version, error)
	age   time.Duration
	clock clock.Clock
	// life ends with the session; a reading belongs to it and not to the caller that
	// happens to be first.
	life context.Context

	flight singleflight.Group
	mu     sync.Mutex
	value  Version
	// until is when value is too old; zero when there is none.
	until time.Time
}

func (c *versionCache) get(ctx context.Context) (Version, error) {
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
			return Version{}, result.Err
		}
		return result.Val.(Version), nil
	case <-ctx.Done():
		return Version{}, Wrap(ctx.Err(), "wait for the version of the load balancer API")
	}
}

func (c *versionCache) cached() (Version, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value, c.clock.Now().Before(c.until)
}

func (c *versionCache) keep(v Version) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.value, c.until = v, c.clock.Now().Add(c.age)
}
