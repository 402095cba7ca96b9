package check

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// The services that the controller uses.
const (
	keystoneService = rest.Keystone
	novaService     = rest.Nova
	neutronService  = rest.Neutron
	octaviaService  = rest.Octavia
	barbicanService = rest.Barbican
)

// service is a service of the cloud, with its answer.
type service struct {
	name, endpoint, version string
	// err is the reason why it cannot be used.
	err error
	// ahead is the difference of its clock from ours, if its answers have the time.
	ahead time.Duration
	timed bool
	// chain are the certificates of its connection.
	chain []*x509.Certificate
}

func reachable(all []service, name string) bool {
	return slices.ContainsFunc(all, func(s service) bool { return s.name == name && s.err == nil })
}

// askServices reads the versions of each service.
func (c *cloud) askServices(ctx context.Context) []service {
	var all []service
	for _, one := range []struct {
		name   string
		client func(context.Context) (*gophercloud.ServiceClient, error)
	}{
		{keystoneService, func(context.Context) (*gophercloud.ServiceClient, error) { return c.session.Keystone(), nil }},
		{novaService, c.session.Compute},
		{neutronService, c.session.Network},
		{octaviaService, c.session.LoadBalancer},
		{barbicanService, c.session.KeyManager},
	} {
		s := service{name: one.name}
		client, err := one.client(ctx)
		if err != nil {
			s.err = err
		} else {
			c.askVersion(ctx, client, &s)
		}
		if one.name == octaviaService && s.err == nil { // by the controller's own code
			version, err := c.session.LoadBalancerVersion(ctx)
			s.version, s.err = version.String(), err
		}
		all = append(all, s)
	}
	return all
}

// askVersion reads the root of a service. Every answer has the time.
func (c *cloud) askVersion(ctx context.Context, client *gophercloud.ServiceClient, s *service) {
	s.endpoint = client.Endpoint
	var document json.RawMessage
	answer, err := client.Get(ctx, client.Endpoint, &document, &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK, http.StatusMultipleChoices}})
	received := c.now()
	var refused gophercloud.ErrUnexpectedResponseCode
	header := http.Header{}
	switch {
	case err == nil:
		s.version, header = newest(document), answer.Header
	case errors.As(err, &refused) && refused.Actual < http.StatusInternalServerError:
		header = refused.ResponseHeader // a gateway may hide the root, but not the API
	default:
		s.err = apierror.Wrap(err, "read the versions of "+s.name)
	}
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		s.timed, s.ahead = true, date.Sub(received)
	}
	if answer != nil && answer.TLS != nil {
		s.chain = answer.TLS.PeerCertificates
	}
}

// newest returns the last version in a document that is supported, with its microversion if there
// is one; "" for none.
func newest(document []byte) string {
	type version struct {
		ID, Status, Version string
		Max                 string `json:"max_version"`
	}
	var answer struct {
		Version  *version
		Versions json.RawMessage
	}
	if json.Unmarshal(document, &answer) != nil {
		return ""
	}
	var all []version
	if answer.Version != nil {
		all = append(all, *answer.Version)
	}
	if json.Unmarshal(answer.Versions, &all) != nil {
		var wrapped struct{ Values []version } // Keystone, and old releases of Barbican
		if json.Unmarshal(answer.Versions, &wrapped) == nil {
			all = wrapped.Values
		}
	}
	found := ""
	for _, v := range all {
		switch v.Status {
		case "CURRENT", "SUPPORTED", "stable":
			found = v.ID
			for _, micro := range []string{v.Version, v.Max} {
				if micro != "" {
					found = v.ID + ", microversion " + micro
				}
			}
		}
	}
	return found
}

// serviceFindings returns the available services. Only listeners that terminate TLS need Barbican.
func serviceFindings(all []service, conf *config.Config) []Finding {
	var found []Finding
	for _, s := range all {
		f := Finding{Topic: Services, Verdict: Good, Subject: s.name, Text: "at " + s.endpoint}
		switch {
		case s.err == nil && s.version != "":
			f.Text = s.version + " " + f.Text
		case s.err == nil:
			f.Text += ", which does not return its version"
		case s.name == octaviaService && !conf.LoadBalancer.Enabled:
			f.Text = "not needed, as [LoadBalancer] enabled=false: " + s.err.Error()
		case s.name == octaviaService && withoutOctavia(conf):
			f.Verdict, f.Text = Unchecked, fmt.Sprintf("Services with another provider than router and port-forwarding are refused: %v", s.err)
		case s.name == barbicanService && conf.LoadBalancer.ContainerStore == "external":
			f.Text = "not needed, as container-store=external: " + s.err.Error()
		case s.name == barbicanService && conf.LoadBalancer.DefaultTLSContainerRef == "":
			f.Verdict, f.Text = Unchecked, fmt.Sprintf("Services that terminate TLS are refused: %v", s.err)
		default:
			f.Verdict, f.Text = Wrong, s.err.Error()+advice(s.err)
		}
		found = append(found, f)
	}
	return found
}

// withoutOctavia reports whether all Services have a provider without Octavia, unless they request another one.
func withoutOctavia(conf *config.Config) bool {
	for _, class := range conf.LoadBalancerClass {
		if class.LBProvider != "" && !driver.WithoutOctavia(class.LBProvider) {
			return false
		}
	}
	return driver.WithoutOctavia(conf.LoadBalancer.LBProvider)
}

// advice returns the remedy for a service that is missing in the catalog.
func advice(err error) string {
	var none auth.ErrNoEndpoint
	if !errors.As(err, &none) {
		return ""
	}
	if none.Service == "load-balancer" {
		return ". Check [Global] region and os-endpoint-type; a cloud without Octavia needs [LoadBalancer] enabled=false, or lb-provider=router or port-forwarding"
	}
	return ". Check [Global] region and os-endpoint-type"
}

// apart is the accepted difference of a clock: Date is in whole seconds, and proxies take time.
const apart = time.Minute

// clockFindings compares the clocks of the services with ours. The controller only depends on them
// for expiry times, of certificates and of credentials.
func clockFindings(all []service) []Finding {
	var found []Finding
	for _, s := range all {
		if !s.timed {
			continue
		}
		f := Finding{Topic: Times, Verdict: Good, Subject: s.name, Text: "agree with ours within a minute"}
		if s.ahead.Abs() >= apart {
			way := "ahead of"
			if s.ahead < 0 {
				way = "behind"
			}
			f.Verdict, f.Text = Warning, fmt.Sprintf("%s %s ours: certificates and credentials seem to expire at other times than they do", s.ahead.Abs().Round(10*time.Second), way)
		}
		same := slices.IndexFunc(found, func(other Finding) bool { return other.Text == f.Text })
		if same < 0 {
			found = append(found, f)
			continue
		}
		found[same].Subject += ", " + f.Subject
	}
	for n := range found {
		found[n].Subject = "clocks of " + found[n].Subject
	}
	return found
}
