package loadbalancer_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pires/go-proxyproto"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/loopback"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/datapath"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/datapath/attach"
)

// TestListeners_CarryTrafficAsServiceAsksFor sends requests through the simulator's data path:
// members get them as the Service requests, also after each change.
//
//proves:1,6,7,11,12,13
func TestListeners_CarryTrafficAsServiceAsksFor(t *testing.T) {
	t.Parallel()
	block := loopback.Block(t)
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Topology: simulator.Topology{
		CIDR: fmt.Sprintf("127.232.%d.0/24", block), ExternalCIDR: fmt.Sprintf("127.233.%d.0/24", block),
	}}})
	plane := attach.Start(env.Cloud.Octavia, env.Cloud.Neutron, datapath.Options{TimeScale: 0.01, Certificates: attach.SecretsOf(env.Cloud.Barbican)})
	t.Cleanup(plane.Close)
	member := newMember(t, fmt.Sprintf("127.232.%d.200", block))
	node := env.nodeAt("node", member.address)
	svc := service("web", 0)
	svc.Spec.Ports = []v1.ServicePort{{Name: "web", Protocol: v1.ProtocolTCP, Port: loopback.Port, NodePort: int32(member.port)}}

	for _, step := range []struct {
		what   string
		change func(*v1.Service)
		tls    bool
		want   []string
		not    string
	}{
		{"TCP", func(*v1.Service) {}, false, []string{"plain"}, "X-Forwarded"},
		{"PROXY 1", set(annotation.ProxyProtocol, "true"), false, []string{"PROXY 1 of 127.0.0.1"}, "X-Forwarded"},
		{"PROXY 2", set(annotation.ProxyProtocol, "v2"), false, []string{"PROXY 2 of 127.0.0.1"}, "X-Forwarded"},
		{"headers", both(unset(annotation.ProxyProtocol), set(annotation.ForwardedFor, "true", annotation.ForwardedPort, "true")), false,
			[]string{"plain", "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Port: "}, "X-Forwarded-Proto"},
		{"TLS", set(annotation.Protocols, "web=TERMINATED_HTTPS", annotation.TLSContainer, env.certificate(), annotation.ForwardedProto, "true"), true,
			[]string{"plain", "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Proto: https"}, "PROXY"},
		{"TCP again", both(unset(annotation.ForwardedFor, annotation.ForwardedPort, annotation.ForwardedProto), set(annotation.Protocols, "web=TCP")), false,
			[]string{"plain"}, "X-Forwarded"},
	} {
		step.change(svc)
		address := env.ensure(svc, []*v1.Node{node}).Ingress[0].IP
		at := net.JoinHostPort(address, itoa(int(svc.Spec.Ports[0].Port)))
		shows := func() error {
			got, err := ask(at, step.tls)
			if err != nil {
				return err
			}
			for _, want := range step.want {
				if !strings.Contains(got, want) {
					return fmt.Errorf("the member saw %q, want %q", got, want)
				}
			}
			if strings.Contains(got, step.not) {
				return fmt.Errorf("the member saw %q, and should see no %s", got, step.not)
			}
			return nil
		}
		await.Eventually(t, step.what, func(context.Context) error { return shows() })
	}
}

func both(all ...func(*v1.Service)) func(*v1.Service) {
	return func(svc *v1.Service) {
		for _, change := range all {
			change(svc)
		}
	}
}

// member is a web server that answers with a description of the request.
type member struct {
	address string
	port    int
}

func newMember(t *testing.T, address string) member {
	t.Helper()
	return member{address, serveHTTP(t, net.JoinHostPort(address, "0"))}
}

// serveHTTP starts a web server like that of a member, and returns its port.
func serveHTTP(t testing.TB, at string) (port int) {
	t.Helper()
	listener, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go answer(client)
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port
}

func answer(client net.Conn) {
	defer client.Close()
	reader := bufio.NewReader(client)
	said := "plain\n"
	if header, err := proxyproto.Read(reader); err == nil {
		host, _, _ := net.SplitHostPort(header.SourceAddr.String())
		said = fmt.Sprintf("PROXY %d of %s\n", header.Version, host)
	}
	request, err := http.ReadRequest(reader)
	if err != nil {
		return
	}
	var headers strings.Builder
	_ = request.Header.Write(&headers)
	said += headers.String()
	_, _ = fmt.Fprintf(client, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(said), said)
}

// ask sends one request and returns the answer.
func ask(at string, over bool) (string, error) {
	scheme := "http"
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	if over {
		scheme = "https"
	}
	client := &http.Client{Transport: transport, Timeout: 2 * time.Second}
	resp, err := client.Get(scheme + "://" + at + "/")
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// certificate stores a certificate with its key, and returns the reference.
func (env *environment) certificate() string {
	env.T.Helper()
	reference, err := env.Cloud.AddCertificate()
	if err != nil {
		env.T.Fatal(err)
	}
	return reference
}
