package node

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/netns"
)

// probeTimeout bounds one look at the health of a kube-proxy.
const probeTimeout = 5 * time.Second

// readHeaderTimeout bounds how long a prober may take to ask.
const readHeaderTimeout = 10 * time.Second

// serveHTTP serves until the result is closed.
func serveHTTP(namespace netns.Namespace, address string, handler http.Handler) (io.Closer, error) {
	listener, err := namespace.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: readHeaderTimeout}
	go func() { _ = server.Serve(listener) }() // returns when closed, and only then
	return server, nil
}

// proxyHealth is kube-proxy's own health check, GET /healthz.
type proxyHealth struct{}

func (proxyHealth) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/healthz" {
		http.NotFound(w, r)
		return
	}
	now := time.Now().UTC()
	writeJSON(w, http.StatusOK, map[string]any{"lastUpdated": now, "currentTime": now, "nodeEligible": true, "healthy": true})
}

// healthServer is a Service's health check node port.
type healthServer struct {
	io.Closer
	state atomic.Pointer[health]
}

func newHealthServer(namespace netns.Namespace, address string, h health) (*healthServer, error) {
	s := &healthServer{}
	s.update(h)
	var err error
	s.Closer, err = serveHTTP(namespace, address, s)
	return s, err
}

func (s *healthServer) update(h health) { s.state.Store(&h) }

// ServeHTTP answers on any path, as kube-proxy does: 200 when this node has ready
// pods of the Service, 503 when it has none.
func (s *healthServer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	state := s.state.Load()
	status := http.StatusOK
	if state.localEndpoints == 0 {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("X-Load-Balancing-Endpoint-Weight", strconv.Itoa(state.localEndpoints))
	writeJSON(w, status, map[string]any{
		"service":             map[string]string{"namespace": state.service.Namespace, "name": state.service.Name},
		"localEndpoints":      state.localEndpoints,
		"serviceProxyHealthy": true,
	})
}

func writeJSON(w http.ResponseWriter, status int, content any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(content) // a prober that has gone away is no fault
}
