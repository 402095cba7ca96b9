package check_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli"
	"github.com/openstack-ccm/openstack-ccm/pkg/cli/check"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/golden"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// situation is a cloud and a cloud.conf. The golden file of the situation's name has the report.
type situation struct {
	name    string
	cloud   simulator.Options
	arrange func(*environment)
	options func(*check.Options)
	code    int
}

func situations() []situation {
	return []situation{
		{name: "good", cloud: simulator.Options{Release: "2026.1"}},
		{name: "user without the role", cloud: simulator.Options{Release: "2026.1"}, code: 1, arrange: func(e *environment) {
			e.cloud.Keystone.AddUser(keystone.User{Name: "auditor", Password: "pw", Roles: map[string][]string{e.cloud.Account.ProjectID: {"reader"}}})
			e.global("username=auditor", "password=pw")
		}},
		{name: "user without any right", cloud: simulator.Options{Release: "2024.1"}, code: 1, arrange: func(e *environment) {
			e.cloud.Keystone.AddUser(keystone.User{Name: "auditor", Password: "pw", Roles: map[string][]string{e.cloud.Account.ProjectID: {"reader"}}})
			e.global("username=auditor", "password=pw")
			e.cloud.Faults.Add(faults.Rule{Method: "POST", Route: "/network/v2.0/floatingips", Status: 403, Worded: true})
			e.cloud.Faults.Add(faults.Rule{Route: "/compute/v2.1/servers/detail", Status: 403, Worded: true})
			e.cloud.Faults.Add(faults.Rule{Route: "/network/v2.0/quotas/**", Status: 403, Worded: true})
		}},
		{name: "wrong networks", code: 1, arrange: func(e *environment) {
			e.set("subnet-id=11111111-0000-4000-8000-000000000000", "floating-network-id="+e.cloud.ExternalNetwork.ID)
			e.conf += "[LoadBalancerClass \"inside-out\"]\nfloating-network-id=" + e.cloud.Network.ID + "\n" +
				"[LoadBalancerClass \"lost\"]\nsubnet-id=" + e.cloud.Subnet.ID + "\nfloating-network-id=22222222-0000-4000-8000-000000000000\n" +
				"[Networking]\npublic-network-name=nowhere\ninternal-network-name=k8s-net\n[Route]\nrouter-id=33333333-0000-4000-8000-000000000000\n"
		}},
		{name: "settings without effect", code: 2, arrange: func(e *environment) {
			e.cloud.Neutron.AddNetwork(neutron.NetworkSpec{Name: "other", External: true})
			e.set("flavour-id=x", "use-octavia=true", "lb-provider=ovn", "lb-method=LEAST_CONNECTIONS", "connection-limit=5",
				"drift-policy=off", "drift-interval=1m", "floating-subnet-id=x", "floating-subnet=public*", "monitor-delay=2s", "availability-zone=az1")
			e.global("tenant-id=" + e.cloud.Account.ProjectID)
			e.conf += "[Metadata]\nsearch-order=configDrive\n[Extra]\na=b\n"
		}},
		{name: "wrong values", code: 1, arrange: func(e *environment) {
			e.set("lb-method=FASTEST", "max-shared-lb=0", "deny-annotations=subnet-ip")
			e.conf += "[LoadBalancerClass \"slow\"]\nmonitor-delay=soon\n"
		}},
		{name: "incomplete credentials", code: 1, arrange: func(e *environment) { e.global("domain-name=", "tls-insecure=perhaps") }},
		{name: "syntax error", code: 1, arrange: func(e *environment) { e.set("lb_method=ROUND_ROBIN") }},
		{name: "clock 5 minutes off", code: 2, arrange: func(e *environment) { e.now = e.now.Add(5 * time.Minute) }},
		{name: "Octavia too old", cloud: simulator.Options{Release: "zed"}, code: 1, arrange: func(e *environment) {
			e.set("vip-sg-ids=44444444-0000-4000-8000-000000000000")
		}},
		{name: "no Octavia", code: 1, arrange: func(e *environment) { e.without("load-balancer", "key-manager") }},
		{name: "no Octavia wanted", arrange: func(e *environment) {
			e.without("load-balancer", "key-manager")
			e.conf, _, _ = strings.Cut(e.conf, "[LoadBalancer]")
			e.conf += "[LoadBalancer]\nenabled=false\n"
		}},
		{name: "quotas used up", cloud: simulator.Options{Quota: map[string]int{"loadbalancer": 0, "member": 100}}, code: 2, arrange: func(e *environment) {
			e.cloud.Neutron.SetQuota(e.cloud.Account.ProjectID, "floatingip", 0)
			e.set("manage-security-groups=true")
		}},
		{name: "credentials about to end", code: 2, arrange: func(e *environment) {
			credential := e.cloud.Keystone.AddApplicationCredential(keystone.ApplicationCredential{
				Name: "ccm", UserID: e.cloud.Account.UserID, ProjectID: e.cloud.Account.ProjectID, ExpiresAt: e.now.Add(73 * time.Hour),
			})
			e.global("username=", "password=", "domain-name=", "application-credential-id="+credential.ID, "application-credential-secret="+credential.Secret)
		}},
		{name: "refused credentials", code: 1, arrange: func(e *environment) { e.global("password=wrong") }},
		{name: "Keystone away", code: 1, arrange: func(e *environment) { e.global("auth-url=http://127.0.0.1:1/v3") }},
		{name: "offline", options: func(o *check.Options) { o.Offline = true }, arrange: func(e *environment) { e.global("auth-url=http://127.0.0.1:1/v3") }},
	}
}

// without removes services from the catalog.
func (e *environment) without(types ...string) {
	var left []keystone.Service
	for _, s := range keystone.DefaultServices() {
		if !strings.Contains(strings.Join(types, " "), s.Type) {
			left = append(left, s)
		}
	}
	e.cloud.Keystone.SetServices(left)
}

// The page for users shows the golden files.
//
//proves:121
func TestCheck_MatchesGoldenFilesAndReference(t *testing.T) {
	t.Parallel()
	t.Run("situations", func(t *testing.T) {
		for _, s := range situations() {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				s.run(t)
			})
		}
	})
	golden.Outputs(t, "../../../docs/commands.md", "check")
	golden.Outputs(t, "../../../docs/internals/wrong-input.md", "check")
}

func (s situation) run(t *testing.T) {
	e := newEnvironment(t, s.cloud)
	if s.arrange != nil {
		s.arrange(e)
	}
	r := e.check(s.options)
	if code := r.ExitCode(); code != s.code {
		t.Errorf("exit code %d, want %d", code, s.code)
	}
	output := e.stable(text(t, r))
	if s.name != "good" && s.name != "settings without effect" {
		output = findings(output)
	}
	golden.File(t, "testdata/"+strings.ReplaceAll(s.name, " ", "-")+".golden", output)
}

func TestCheck_JSONMatchesGoldenFile(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{Release: "2026.1"})
	e.set("lb-provider=octavius")
	var out strings.Builder
	if err := cli.WriteJSON(&out, e.check(nil)); err != nil {
		t.Fatal(err)
	}
	golden.File(t, "testdata/json.golden", e.stable(out.String()))
}

// The cloud is unchanged after the check.
//
//proves:121
func TestCheck_ChangesNothing(t *testing.T) {
	t.Parallel()
	for _, readOnly := range []bool{true, false} {
		e := newEnvironment(t, simulator.Options{})
		ports := len(e.cloud.Neutron.Ports())
		r := e.check(func(o *check.Options) { o.ReadOnly = readOnly })
		if r.ExitCode() != 0 {
			t.Errorf("read-only %v: exit code %d:\n%s", readOnly, r.ExitCode(), text(t, r))
		}
		writes := e.cloud.RequestLog.Requests(requestlog.Writes())
		for _, w := range writes {
			if w.Status < 400 {
				t.Errorf("%s %s was answered %d", w.Method, w.Path, w.Status)
			}
		}
		if want := map[bool]int{true: 0, false: 2}[readOnly]; len(writes) != want {
			t.Errorf("read-only %v: %d writes, want %d: %v", readOnly, len(writes), want, writes)
		}
		if now := len(e.cloud.Neutron.Ports()); now != ports || len(e.cloud.Octavia.Snapshot()) > 0 || len(e.cloud.Neutron.FloatingIPs()) > 0 {
			t.Errorf("read-only %v: something was created: %d ports, were %d", readOnly, now, ports)
		}
	}
}

// Secrets of all kinds of sign-in and all sources are in no output.
func TestCheck_PrintsNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-of-everybody"
	for name, conf := range map[string]string{
		"password":               "username=u\npassword=" + secret + "\ntenant-name=p\ndomain-name=d\n",
		"application credential": "application-credential-id=i\napplication-credential-secret=" + secret + "\n",
		"token":                  "token=" + secret + "\ntenant-name=p\ndomain-name=d\n",
		"trust":                  "trust-id=i\ntrustee-id=u\ntrustee-password=" + secret + "\n",
		"URL":                    "username=u\npassword=p\ntenant-name=p\ndomain-name=d\nauth-url=https://u:" + secret + "@127.0.0.1:1/v3\n",
		"wrong URL":              "username=u\npassword=p\ntenant-name=p\ndomain-name=d\nauth-url=ftp://u:" + secret + "@127.0.0.1:1/v3\n",
		"encoded URL":            "username=u\npassword=p\ntenant-name=p\ndomain-name=d\nauth-url=http://u:" + secret + "%40127.0.0.1:1/v3\n",
		"query":                  "username=u\npassword=p\ntenant-name=p\ndomain-name=d\nauth-url=http://127.0.0.1:1/v3?token=" + secret + "\n",
		"fragment":               "username=u\npassword=p\ntenant-name=p\ndomain-name=d\nauth-url=\"http://127.0.0.1:1/v3#" + secret + "\"\n",
		"certificate":            "username=u\npassword=p\ntenant-name=p\ndomain-name=d\n[LoadBalancer]\ndefault-tls-container-ref=https://u:" + secret + "@127.0.0.1:1/v1\n",
		"wrong certificate":      "username=u\npassword=p\ntenant-name=p\ndomain-name=d\n[LoadBalancer]\ndefault-tls-container-ref=https://u:" + secret + "%40127.0.0.1:1/v1\n",
		"idle":                   "username=u\npassword=p\ntenant-name=p\ndomain-name=d\ntrustee-password=" + secret + "\n",
		"unknown key":            "username=u\npassword=p\ntenant-name=p\ndomain-name=d\npasswort=" + secret + "\n",
	} {
		e := &environment{t: t, conf: "[Global]\nauth-url=http://127.0.0.1:1/v3\n" + conf, now: time.Now()}
		r := e.check(nil)
		whole, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if output := text(t, r) + string(whole); strings.Contains(output, secret) || !strings.Contains(output, "auth-url") {
			t.Errorf("%s: the secret is in the output, or nothing is:\n%s", name, output)
		}
	}
}
