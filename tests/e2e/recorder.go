package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Recorder stands between the cloud controller manager and a cloud, and writes down
// what Octavia is asked and what it answers, as an exchange that `openstack-sim
// replay` reads. Of headers it keeps none but the answers' content type, so no token
// gets into it.
//
// Below its address is the whole cloud: http://HOST/x is /http/HOST/x there. The
// catalog of each token leads to it.
type Recorder struct {
	address  string
	identity string // URL of Keystone
	base     string // URL of Octavia
	server   *http.Server
	cloud    http.RoundTripper
	// octavia passes one request at a time, so that they are recorded in the order of the
	// work.
	octavia sync.Mutex

	mutex     sync.Mutex
	hosts     map[string]bool // scheme and host of the services in the catalog
	exchanges []exchange
}

type exchange struct {
	Request  recordedRequest  `json:"request"`
	Response recordedResponse `json:"response"`
}

type recordedRequest struct {
	Method string          `json:"method"`
	Path   string          `json:"path"`
	As     string          `json:"as"`
	JSON   json.RawMessage `json:"json,omitempty"`
}

type recordedResponse struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	JSON    json.RawMessage   `json:"json,omitempty"`
	Text    string            `json:"text,omitempty"`
}

// StartRecorder starts one for the cloud that the API is of.
func StartRecorder(ctx context.Context, api *API) (*Recorder, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the recorder: %w", err)
	}
	provider := api.Network.ProviderClient
	r := &Recorder{
		address: "http://" + listener.Addr().String(), identity: cmp.Or(provider.IdentityEndpoint, provider.IdentityBase),
		base: strings.TrimSuffix(api.LoadBalancer.ResourceBase, "v2.0/"), cloud: provider.HTTPClient.Transport, hosts: map[string]bool{},
	}
	if r.cloud == nil {
		r.cloud = http.DefaultTransport
	}
	r.server = &http.Server{Handler: r}
	go func() { _ = r.server.Serve(listener) }() // until Close
	return r, nil
}

// AuthURL is Keystone's, through the recorder.
func (r *Recorder) AuthURL() string { return r.through(r.identity) }

// through is the URL below the recorder's address.
func (r *Recorder) through(target string) string {
	return r.address + "/" + strings.Replace(target, "://", "/", 1)
}

// ServeHTTP passes a request on.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	scheme, rest, _ := strings.Cut(strings.TrimPrefix(request.URL.RequestURI(), "/"), "/")
	target := scheme + "://" + rest
	if path, is := r.isOctavia(target); is {
		r.octavia.Lock()
		defer r.octavia.Unlock()
		r.pass(w, request, target, func(e exchange) {
			e.Request.Path = path
			e.Response.JSON = bytes.ReplaceAll(e.Response.JSON, []byte(r.base), []byte(r.root()))
			r.mutex.Lock()
			defer r.mutex.Unlock()
			r.exchanges = append(r.exchanges, e)
		})
		return
	}
	r.pass(w, request, target, func(e exchange) {
		if strings.HasSuffix(target, "/auth/tokens") {
			r.learn(e.Response.JSON)
		}
	})
}

// pass sends the request to the cloud and passes the exchange to note before the caller gets the
// answer.
func (r *Recorder) pass(w http.ResponseWriter, request *http.Request, target string, note func(exchange)) {
	asked, err := io.ReadAll(request.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	onward, err := http.NewRequestWithContext(request.Context(), request.Method, target, bytes.NewReader(asked))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	onward.Header = request.Header.Clone()
	onward.Header.Del("Accept-Encoding") // bodies must be readable
	answer, err := r.cloud.RoundTrip(onward)
	if err != nil {
		panic(http.ErrAbortHandler) // the caller sees what we see
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	e := exchange{
		Request: recordedRequest{Method: request.Method, As: "k8s"},
		Response: recordedResponse{
			Status: answer.StatusCode, Headers: map[string]string{"Content-Type": answer.Header.Get("Content-Type")},
		},
	}
	if json.Valid(asked) {
		e.Request.JSON = asked
	}
	if json.Valid(body) {
		e.Response.JSON = body
	} else {
		e.Response.Text = string(body)
	}
	note(e)
	for name, values := range answer.Header {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(answer.StatusCode)
	_, _ = w.Write(r.rewritten(body)) // the caller may be gone
}

// isOctavia gives the path below Octavia's root.
func (r *Recorder) isOctavia(target string) (path string, is bool) {
	path, is = strings.CutPrefix(target, r.base)
	return "/" + path, is
}

// root is where a recording has Octavia: at the root of its host.
func (r *Recorder) root() string {
	scheme, rest, _ := strings.Cut(r.base, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host + "/"
}

// learn takes in the catalog of a token.
func (r *Recorder) learn(body json.RawMessage) {
	var answer struct {
		Token struct {
			Catalog []struct {
				Type      string
				Endpoints []struct{ URL string }
			}
		}
	}
	if json.Unmarshal(body, &answer) != nil {
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, service := range answer.Token.Catalog {
		for _, endpoint := range service.Endpoints {
			if parsed, err := url.Parse(endpoint.URL); err == nil {
				r.hosts[parsed.Scheme+"://"+parsed.Host] = true
			}
		}
	}
}

// rewritten leads all links through the recorder.
func (r *Recorder) rewritten(body []byte) []byte {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for host := range r.hosts {
		body = bytes.ReplaceAll(body, []byte(`"`+host), []byte(`"`+r.through(host)))
	}
	return body
}

// Close ends it and writes the recording into a new file.
func (r *Recorder) Close(file string) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	text, err := json.MarshalIndent(r.exchanges, "", " ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o755)
	}
	if err == nil {
		err = os.WriteFile(file, append(text, '\n'), 0o644)
	}
	return errors.Join(err, r.server.Close())
}
