package openstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"golang.org/x/sync/singleflight"
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

// LoadBalancerVersion gives the newest version of the load balancer API that the
// service speaks. The answer is kept for SessionOptions.VersionAge, and callers at
// the same time share one request. When the service cannot be asked, it is an
// error: no guess, and no answer that is too old.
func (s *Session) LoadBalancerVersion(ctx context.Context) (Version, error) {
	return s.version.get(ctx)
}

// readLoadBalancerVersion asks for the root document. It needs no token
// (octavia/common/keystone.py, _NOAUTH_PATHS).
func (s *Session) readLoadBalancerVersion(ctx context.Context) (Version, error) {
	const doing = "read the versions of the load balancer API"
	client, err := s.LoadBalancer(ctx)
	if err != nil {
		return Version{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, client.Endpoint, nil)
	if err != nil {
		return Version{}, Wrap(err, doing)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", s.provider.UserAgent.Join())
	resp, err := s.unsigned.Do(req)
	if err != nil {
		return Version{}, Wrap(err, doing)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return Version{}, Wrap(err, doing)
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusMultipleChoices {
		return Version{}, Wrap(gophercloud.ErrUnexpectedResponseCode{
			URL: client.Endpoint, Method: req.Method, Expected: []int{http.StatusOK},
			Actual: resp.StatusCode, Body: body, ResponseHeader: resp.Header,
		}, doing)
	}
	v, err := newestVersion(body)
	return v, Wrap(err, doing)
}

// newestVersion reads a version document: {"versions": [{"id": "v2.0", "status":
// "SUPPORTED"}, …]}.
func newestVersion(document []byte) (Version, error) {
	var answer struct {
		Versions []struct{ ID, Status string }
	}
	if err := json.Unmarshal(document, &answer); err != nil {
		return Version{}, fmt.Errorf("the version document cannot be read: %w", err)
	}
	var newest Version
	for _, entry := range answer.Versions {
		if entry.Status != "CURRENT" && entry.Status != "SUPPORTED" {
			continue
		}
		v, err := ParseVersion(entry.ID)
		if err != nil {
			return Version{}, err
		}
		if v.AtLeast(newest) {
			newest = v
		}
	}
	if newest == (Version{}) {
		return Version{}, errors.New("the version document has no supported version")
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
