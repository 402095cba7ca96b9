package main

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// readOnlyClient returns a client that sends the API server nothing that could write, whatever
// the role of its user permits.
func readOnlyClient(config *rest.Config, userAgent string) (kubernetes.Interface, error) {
	config = rest.CopyConfig(config)
	config.UserAgent, config.QPS, config.Burst = userAgent, defaultQPS, defaultBurst
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return readsOnly{next} })
	return kubernetes.NewForConfig(config)
}

// readsOnly passes on what reads.
type readsOnly struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t readsOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet {
		return t.next.RoundTrip(req)
	}
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return nil, fmt.Errorf("%s %s was not sent: nothing is written to Kubernetes here", req.Method, req.URL.Path)
}
