package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/loopback"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// During an outage of Keystone no probe restarts the container, and none is delayed after it.
func TestProgram_WaitsForKeystone(t *testing.T) {
	t.Parallel()
	address := fmt.Sprintf("127.0.0.1:%d", loopback.FreePort(t))
	conf := signInAt("http://" + address + "/identity/v3")
	path := file(t, "cloud.conf", conf)
	p := startProgram(t, nil, append(standbyFlags(t), "--cloud-config="+path, "--v=8")...)
	p.awaitLog(t, "Waiting for Keystone")
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 503, "/metrics": 503} {
		p.answers(t, path, want)
	}
	if log := p.log(); !strings.Contains(log, "http://"+address) || strings.Contains(log, password) {
		t.Errorf("the log says nothing of %s, or the password:\n%s", address, log)
	}
	cloud, err := simulator.Start(simulator.Options{Addr: address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	overwrite(t, path, cloud.CloudConf()) // with the cloud.conf of that time
	p.answers(t, "/readyz", 200)
	p.answers(t, "/metrics", 403)
	p.awaitLog(t, "Attempting to acquire leader lease")
	if code := p.terminate(t); code != 0 {
		t.Errorf("exit code %d:\n%s", code, p.log())
	}
}

func TestProgram_ReadsTheEnvironmentWithoutCloudConf(t *testing.T) {
	t.Parallel()
	p := startProgram(t, []string{"OS_AUTH_URL=http://127.0.0.1:1/v3", "OS_USERNAME=u", "OS_PASSWORD=" + password,
		"OS_PROJECT_NAME=p", "OS_USER_DOMAIN_NAME=d", "OS_PROJECT_DOMAIN_NAME=d"}, append(clusterFlags(t), "--v=8")...)
	p.awaitLog(t, "Waiting for Keystone")
	if log := p.log(); !strings.Contains(log, "http://127.0.0.1:1/v3") || strings.Contains(log, password) {
		t.Errorf("the log says nothing of the URL, or the password:\n%s", log)
	}
	if code := p.terminate(t); code != 0 {
		t.Errorf("exit code %d:\n%s", code, p.log())
	}
}

// silentServer accepts connections, and never answers.
func silentServer(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

// SIGTERM ends the controller manager even while the API server is unavailable.
func TestProgram_StopsWhileTheAPIServerIsAway(t *testing.T) {
	t.Parallel()
	cloud, err := simulator.Start(simulator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	conf := "--cloud-config=" + file(t, "cloud.conf", cloud.CloudConf())
	for name, test := range map[string]struct {
		arguments []string
		after     string
	}{
		"it refuses, a standby":        {append(standbyFlags(t), conf), "Attempting to acquire leader lease"},
		"it refuses, without lease":    {append(clusterFlags(t), conf), "Version:"},
		"it is silent, from the start": {append(standbyFlags(t), conf, "--kubeconfig="+kubeconfigOf(t, silentServer(t))), `"Starting"`},
		"it is silent, without lease":  {append(clusterFlags(t), conf, "--kubeconfig="+kubeconfigOf(t, silentServer(t))), "Version:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startProgram(t, nil, test.arguments...)
			p.awaitLog(t, test.after)
			if code := p.terminate(t); code != 0 {
				t.Errorf("exit code %d:\n%s", code, p.log())
			}
		})
	}
}

func TestLease_IsLeftToExpireWhileTheAPIServerIsAway(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	l := &lease{leases: client.CoordinationV1().Leases("kube-system"), name: leaseName, holder: ownHolder(t)}
	if err := l.release(t.Context()); err == nil || !strings.Contains(err.Error(), leaseName) {
		t.Errorf("got %v", err)
	}
}
