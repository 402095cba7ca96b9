package datapath

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

// webMember is an HTTP server that answers with its name, in a header too, and with the
// request as it got it.
func webMember(t *testing.T, name string) Member {
	t.Helper()
	return webMemberOf(t, name, http.HandlerFunc(describe))
}

func webMemberOf(t *testing.T, name string, handler http.Handler) Member {
	t.Helper()
	server := httptest.NewServer(named(name, handler))
	t.Cleanup(server.Close)
	return member(name, addrPort(server.Listener.Addr()))
}

func named(name string, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Member", name)
		handler.ServeHTTP(w, r)
	})
}

// describe answers with the request line, host and headers, a line each.
func describe(w http.ResponseWriter, r *http.Request) {
	_, _ = fmt.Fprintf(w, "%s %s\nHost: %s\n", r.Method, r.RequestURI, r.Host)
	for name, values := range r.Header {
		for _, value := range values {
			_, _ = fmt.Fprintf(w, "%s: %s\n", name, value)
		}
	}
	body, _ := io.ReadAll(r.Body)
	_, _ = fmt.Fprintf(w, "\n%s", body)
}

// webClient speaks HTTP to a VIP, follows no redirect and keeps no cookie.
func webClient(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport: transport,
		Timeout:   await.Patience,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

// reply is an answer that was read to its end.
type reply struct {
	*http.Response
	body string
}

// member returns the member that answered, or the status if none did.
func (r reply) member() string {
	if name := r.Header.Get("Member"); name != "" {
		return name
	}
	return fmt.Sprint(r.StatusCode)
}

// line reports whether the member saw a header line.
func (r reply) line(want string) bool { return slices.Contains(strings.Split(r.body, "\n"), want) }

// get asks for a path; change may edit the request.
func get(client *http.Client, at netip.AddrPort, path string, change ...func(*http.Request)) (reply, error) {
	request, err := http.NewRequest(http.MethodGet, "http://"+at.String()+path, nil)
	if err != nil {
		return reply{}, err
	}
	for _, edit := range change {
		edit(request)
	}
	return do(client, request)
}

func do(client *http.Client, request *http.Request) (reply, error) {
	answer, err := client.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return reply{answer, string(body)}, err
}

// mustGet is get on a listener that is open.
func mustGet(t *testing.T, client *http.Client, at netip.AddrPort, path string, change ...func(*http.Request)) reply {
	t.Helper()
	got, err := get(client, at, path, change...)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func withHeader(name, value string) func(*http.Request) {
	return func(request *http.Request) { request.Header.Add(name, value) }
}

// serveWeb starts a plane with the load balancer and waits until it listens.
func serveWeb(t *testing.T, lb LoadBalancer, adjust ...func(*Options)) *memory {
	t.Helper()
	source := newMemory(lb)
	start(t, source, adjust...)
	waitOpen(t, vip(lb))
	return source
}

// wire is a plain connection on which a test writes HTTP itself.
type wire struct {
	net.Conn
	reader *bufio.Reader
}

func dialWire(t *testing.T, at netip.AddrPort) *wire {
	t.Helper()
	connection, err := net.DialTimeout("tcp", at.String(), await.Patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return &wire{connection, bufio.NewReader(connection)}
}

// ask writes a request and reads its answer.
func (w *wire) ask(text string) (reply, error) {
	if _, err := io.WriteString(w, text); err != nil {
		return reply{}, err
	}
	return w.read()
}

func (w *wire) read() (reply, error) {
	answer, err := http.ReadResponse(w.reader, nil)
	if err != nil {
		return reply{}, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return reply{answer, string(body)}, err
}
