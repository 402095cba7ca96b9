package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/replay"
)

// ground is a tenant of the local OpenStack as a place where recorded exchanges are repeated.
type ground struct {
	*tenant
	other *API
}

// Repeat sends the requests of recorded exchanges to the local OpenStack, as the tenant of a
// provider, and writes the exchanges with its answers into a directory.
func (l *Local) Repeat(ctx context.Context, provider, directory string, logf func(string, ...any), files ...string) error {
	cloud, err := l.Tenant(ctx, provider)
	if err != nil {
		return err
	}
	p := ground{tenant: cloud.(*tenant)}
	for name, other := range l.info.Tenants {
		if name != provider {
			if p.other, err = l.signIn(ctx, name, other.Region); err != nil {
				return err
			}
		}
	}
	all, err := replay.Repeat(ctx, p, files...)
	err = errors.Join(err, p.Provide(ctx, 0, false), os.MkdirAll(directory, 0o755))
	for _, one := range all {
		for _, difference := range one.Differences {
			logf("%s", difference)
		}
		err = errors.Join(err, os.WriteFile(filepath.Join(directory, one.Name), one.Text, 0o644))
	}
	return errors.Join(err, p.clear(ctx), p.Close())
}

// Known implements replay.Place.
func (p ground) Known() (project, network, subnet, subnet6 string) {
	return p.Project, p.Network, p.Subnet, p.Subnet6
}

// Provide implements replay.Place, by the file that the driver of the test cloud reads.
func (p ground) Provide(_ context.Context, delay time.Duration, fail bool) error {
	failing := map[bool]int{true: 1}[fail]
	seconds := delay.Seconds()
	text := fmt.Sprintf("update=%g\ncreate=%g\ndelete=%g\nfail=%d\n", seconds, seconds, seconds, failing)
	return os.WriteFile(filepath.Join(p.state, "amphora-delay"), []byte(text), 0o644)
}

// Port implements replay.Place.
func (p ground) Port(ctx context.Context) (id, address string, err error) {
	port, err := ports.Create(ctx, p.api.Network, ports.CreateOpts{
		NetworkID: p.Network, Name: "user-port", FixedIPs: []ports.IP{{SubnetID: p.Subnet}},
	}).Extract()
	if err != nil {
		return "", "", err
	}
	return port.ID, port.FixedIPs[0].IPAddress, nil
}

// Send implements replay.Place.
func (p ground) Send(ctx context.Context, caller, method, path, body string, header map[string]string) (*httptest.ResponseRecorder, error) {
	base := strings.TrimSuffix(p.api.LoadBalancer.ResourceBase, "/v2.0/")
	request, err := http.NewRequestWithContext(ctx, method, base+strings.ReplaceAll(path, " ", "%20"), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for key, value := range header {
		request.Header.Set(key, value)
	}
	token := "no-token"
	if api := map[string]*API{"k8s": p.api, "other": p.other, "admin": p.admin}[caller]; api != nil {
		token = api.LoadBalancer.Token()
	}
	request.Header.Set("X-Auth-Token", token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer := httptest.NewRecorder()
	for key, values := range response.Header {
		answer.Header()[key] = values
	}
	answer.WriteHeader(response.StatusCode)
	_, err = io.Copy(answer, response.Body)
	return answer, err
}
