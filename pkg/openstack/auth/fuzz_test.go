package auth

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/hostile"
)

// FuzzSignIn has Keystone answer anything, its catalog included, to a sign-in and to a question
// for an application credential. Its secret is in no error, whatever of the request the answer
// repeats.
func FuzzSignIn(f *testing.F) {
	const secret = `hunter2<"\é`
	for _, body := range []string{
		`{"token": {"issued_at": "2026-11-20T18:34:24.000000Z", "expires_at": "2026-11-20T19:34:24.000000Z", "project": {"id": "p"}, "user": {"id": "u", "password_expires_at": null}, "catalog": [` +
			`{"type": "load-balancer", "endpoints": [{"interface": "public", "region": "R", "region_id": "R", "url": "http://lb.example"}]}, {"type": "compute", "endpoints": [{"interface": "public", "region": "\n", "url": "%"}]}]}}`,
		`{"token": {"project": {"id": "p"}, "catalog": null, "expires_at": "0001-01-01T00:00:00Z", "user": {"password_expires_at": 7}, "application_credential": {"id": "c"}}}`,
		`{"token": {"project": {}}}`, `{"token": {"issued_at": "never"}}`, `{"error": {"code": 401, "message": "not hunter2<\"\\é\u001b[2J"}}`,
		`{"error": {"message": "hunter2&lt;&quot;\\\\\u00e9 hunter2%3C%22%5C%C3%A9"}}`, "\xff", `{"token": []}`, `{"application_credential": {"expires_at": "2026-11-20T18:34:24"}}`,
	} {
		f.Add(201, "token", []byte(body))
		f.Add(401, "", []byte(body))
	}
	f.Fuzz(func(t *testing.T, status int, id string, answer []byte) {
		cloud := hostile.NewCloud(t, 200+max(0, status)%400, answer)
		cloud.Header = http.Header{"X-Subject-Token": {id}, "Location": {id}, "Retry-After": {id}}
		cloud.Try(func(context.Context) error {
			silent := klog.NewContext(t.Context(), klog.Logger{})
			cfg := config.Global{AuthURL: "http://keystone.example/v3", UserID: "u", Password: secret, TenantID: "p", EndpointType: "public"}
			session, err := SignIn(silent, cfg, Options{Transport: cloud, Clock: clock.RealClock{}})
			if err != nil {
				for _, told := range []string{secret, url.QueryEscape(secret)} {
					if strings.Contains(err.Error(), told) {
						t.Errorf("%q has the secret", err)
					}
				}
				apierror.RetryAfter(err)
				return err
			}
			defer session.Close()
			if session.ProjectID() == "" {
				t.Error("signed in to no project")
			}
			session.Expiry(silent)
			_, err = session.LoadBalancer(silent)
			return err
		})
	})
}
